/* lanes.c: the timeline embedded in a single-file report: the rows of every track as columns of bytes, compressed with
 * gzip.
 *
 * "SLF1" · u32 size of the JSON · JSON: the answer of /api/lanes (docs/UI.md), with "thinned_ns", "arrows" and "path" ·
 * for each track: u32 size of the rest of the track · u32 number of rows · its columns: for slices gap, length, name,
 * many − 1, uncovered; for curves gap, length, least, most; for instant events gap, name, many − 1. A column starts
 * with a byte that gives the width of its values, then the lowest bytes of all values, then the next: the upper bytes
 * hardly differ and compress to nothing. A gap is relative to the end of the previous row; least and most are the bits
 * of a double. Everything is little-endian; times are in ns.
 *
 * web/src/tiles_file.ts reads this format and bins the rows as src/tiles/ does.
 */
#include "export/html/lanes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/html/base64.h"
#include "export/gzip.h"
#include "export/html/lanes_json.h"
#include "tiles/tiles.h"
#include "util/array.h"
#include "util/error.h"
#include "util/json.h"

enum {
	VERSION = 1,
	CURVE_PX = 2000, /* bins of a curve */
	COARSEST = 512,  /* pixels for the whole run: a track is not thinned further than this */
	ARROWS_MOST = 5000,
	STEPS_MOST = 20000,
	LEAST_ROW_B = 2, /* least encoded size of a row: if that is too much, full detail is not tried */
	LIKELY_ROW_B = 6,
	LIMIT_B = 60,                  /* minimum share of the space for an arrow or a step of the critical path */
	GROUP_MAX = SONDE_TILE_DEPTHS, /* tracks that are read together */
	SAMPLE = 1 << 20, /* if a thread has more zones, the effect of thinning is estimated from a sample of them */
	EVERY_MAX = 16,
	WINDOWS = 4, /* windows, each 1 / WINDOW_SHARE of the time, written to estimate the size of a row */
	WINDOW_SHARE = 64,
	ROWS_LEAST = 10000, /* minimum number of rows for an estimate */
	GUESSES_MAX = 64,   /* enough: 2 to the power of 64 exceeds any time */
	LANE_MAX_B = 1 << 30,
	WINDOW_MAX_NS = 1 << 30,
};

#define SURELY 1.1 /* if the estimated size exceeds the space by more than this factor, a thinning is not tried */

struct lanes {
	struct sonde_session *session;
	struct sonde_tiles *tiles;
	uint64_t start_ns, end_ns;
	uint64_t most_b;
	uint64_t thinned_ns;                    /* shorter slices are merged; 0 = none */
	struct sonde_tile_rows rows[GROUP_MAX]; /* of the tracks of a group */
	struct sonde_buf block;
	struct sonde_gzip *gzip;
};

/* --- rows --------------------------------------------------------------------------------------------------------- */

static uint32_t pixels(const struct lanes *lanes, uint64_t pixel_ns)
{
	uint64_t count = (lanes->end_ns - lanes->start_ns) / pixel_ns;
	return count < 1 ? 1 : count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

static int bins(struct lanes *lanes, const struct sonde_tile_lane *lane, uint32_t width)
{
	const struct sonde_tile_view view = {lanes->start_ns, lanes->end_ns, width};
	return sonde_tiles_bins(lanes->tiles, lane->id, &view, lanes->rows);
}

static int add(struct sonde_tile_rows *rows, const struct sonde_tile_row *row)
{
	if (SONDE_ARRAY_RESERVE(rows->all, rows->cap, rows->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu slices", rows->count + 1);
	rows->all[rows->count++] = *row;
	return 0;
}

/* Reads every slice, in windows so short that a pixel is half a ns. A slice that begins at or before the start of a
 * window belongs to the previous window. */
static int every(struct lanes *lanes, const struct sonde_tile_lane *lane)
{
	struct sonde_tile_rows all = {0}, part = {0};
	int rc = 0;
	for (uint64_t from_ns = lanes->start_ns; from_ns < lanes->end_ns && !rc; from_ns += WINDOW_MAX_NS) {
		uint64_t left_ns = lanes->end_ns - from_ns, long_ns = left_ns < WINDOW_MAX_NS ? left_ns : WINDOW_MAX_NS;
		const struct sonde_tile_view view = {from_ns, from_ns + long_ns, (uint32_t)(2 * long_ns)};
		rc = sonde_tiles_bins(lanes->tiles, lane->id, &view, &part);
		for (size_t i = 0; i < part.count && !rc; i++)
			if (from_ns == lanes->start_ns || part.all[i].from_ns > from_ns)
				rc = add(&all, &part.all[i]);
	}
	sonde_tile_rows_fini(&part);
	sonde_tile_rows_fini(lanes->rows);
	*lanes->rows = all;
	return rc;
}

static int read_rows(struct lanes *lanes, const struct sonde_tile_lane *lane)
{
	uint64_t duration_ns = lanes->end_ns - lanes->start_ns;
	int is_curve = lane->form == SONDE_TILE_CURVE;
	uint64_t pixel_ns = lanes->thinned_ns;
	if (is_curve && (lane->kind == SONDE_TILE_CPU || lane->count > CURVE_PX) && pixel_ns < duration_ns / CURVE_PX)
		pixel_ns = duration_ns / CURVE_PX;
	return pixel_ns ? bins(lanes, lane, pixels(lanes, pixel_ns)) : every(lanes, lane);
}

/* Number of tracks from this one on that are zones of one thread, which share their chunks; 1 for others. */
static size_t group_at(const struct lanes *lanes, size_t first)
{
	const struct sonde_tile_lane *lane = sonde_tiles_lane(lanes->tiles, first), *next;
	size_t count = 1;
	while (lane->kind == SONDE_TILE_ZONES && count < GROUP_MAX &&
	       (next = sonde_tiles_lane(lanes->tiles, first + count)) && next->kind == lane->kind &&
	       next->process == lane->process && next->thread == lane->thread)
		count++;
	return count;
}

static int read_group(struct lanes *lanes, size_t first, size_t count)
{
	struct sonde_tile_ask asks[GROUP_MAX];
	for (size_t i = 0; i < count; i++) {
		const struct sonde_tile_view view = {lanes->start_ns, lanes->end_ns, pixels(lanes, lanes->thinned_ns)};
		asks[i] = (struct sonde_tile_ask){.lane = first + i, .view = view, .rows = &lanes->rows[i]};
	}
	return sonde_tiles_bins_each(lanes->tiles, asks, count);
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* `start_ns`: start of the recording. */
typedef uint64_t value_of(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i);

static uint64_t gap(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i)
{
	uint64_t before_ns = i ? rows->all[i - 1].to_ns : start_ns, from_ns = rows->all[i].from_ns;
	return from_ns > before_ns ? from_ns - before_ns : 0;
}

static uint64_t length(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i)
{
	(void)start_ns;
	return rows->all[i].to_ns - rows->all[i].from_ns;
}

static uint64_t name(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i)
{
	(void)start_ns;
	return rows->all[i].name;
}

static uint64_t more(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i)
{
	(void)start_ns;
	return rows->all[i].many - 1;
}

static uint64_t uncovered(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i)
{
	(void)start_ns;
	uint64_t all_ns = length(rows, start_ns, i), busy_ns = rows->all[i].busy_ns;
	return all_ns > busy_ns ? all_ns - busy_ns : 0;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static uint64_t least(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i)
{
	(void)start_ns;
	return bits_of(rows->all[i].least);
}

static uint64_t most(const struct sonde_tile_rows *rows, uint64_t start_ns, size_t i)
{
	(void)start_ns;
	return bits_of(rows->all[i].most);
}

static int put_column(struct lanes *lanes, const struct sonde_tile_rows *rows, value_of *value)
{
	uint64_t all = 0;
	size_t count = rows->count;
	for (size_t i = 0; i < count; i++)
		all |= value(rows, lanes->start_ns, i);
	uint8_t bytes = 0;
	while (bytes < 8 && all >> (8 * bytes))
		bytes++;
	sonde_buf_append(&lanes->block, &bytes, 1);
	for (unsigned byte = 0; byte < bytes; byte++) {
		uint8_t *at = sonde_buf_extend(&lanes->block, count);
		for (size_t i = 0; at && i < count; i++)
			at[i] = (uint8_t)(value(rows, lanes->start_ns, i) >> (8 * byte));
	}
	return sonde_buf_error(&lanes->block);
}

static int put_lane(struct lanes *lanes, const struct sonde_tile_lane *lane, const struct sonde_tile_rows *rows)
{
	static value_of *const columns[][6] = {
	    [SONDE_TILE_SLICES] = {gap, length, name, more, uncovered},
	    [SONDE_TILE_CURVE] = {gap, length, least, most},
	    [SONDE_TILE_MOMENTS] = {gap, name, more},
	};
	int rc = 0;
	sonde_buf_clear(&lanes->block);
	if (rows->count > UINT32_MAX)
		return sonde_error(EFBIG, "a track of %zu slices is too long for one file", rows->count);
	for (size_t i = 0; !rc && columns[lane->form][i]; i++)
		rc = put_column(lanes, rows, columns[lane->form][i]);
	const uint32_t head[2] = {(uint32_t)lanes->block.len_b, (uint32_t)rows->count};
	rc = rc ? rc : sonde_gzip_write(lanes->gzip, head, sizeof head);
	return rc ? rc : sonde_gzip_write(lanes->gzip, lanes->block.data, lanes->block.len_b);
}

/* --- descriptions of tracks --------------------------------------------------------------------------------------- */

static uint64_t since(const struct lanes *lanes, uint64_t time_ns)
{
	return time_ns > lanes->start_ns ? time_ns - lanes->start_ns : 0;
}

/* The maximum number of arrows or steps: fewer than `most` if the timeline is thinned and there is little space. */
static size_t limit(const struct lanes *lanes, size_t most)
{
	uint64_t capacity = lanes->most_b / LIMIT_B;
	return lanes->thinned_ns && capacity < most ? (size_t)capacity : most;
}

static void put_arrows(struct sonde_json *json, const struct lanes *lanes, struct sonde_tile_arrow *arrows)
{
	const struct sonde_tile_view view = {lanes->start_ns, lanes->end_ns, 1};
	size_t of = 0, most = limit(lanes, ARROWS_MOST);
	size_t count = sonde_tiles_arrows(lanes->tiles, &view, most, arrows, &of);
	sonde_json_put_object(json, "arrows");
	sonde_json_put_array(json, "arrows");
	for (size_t i = 0; i < count; i++) {
		sonde_json_object(json);
		sonde_json_put_text(json, "kind", arrows[i].kind);
		sonde_json_put_uint(json, "from_lane", arrows[i].from_lane);
		sonde_json_put_uint(json, "from", since(lanes, arrows[i].from_ns));
		sonde_json_put_uint(json, "to_lane", arrows[i].to_lane);
		sonde_json_put_uint(json, "to", since(lanes, arrows[i].to_ns));
		sonde_json_end(json);
	}
	sonde_json_end(json);
	sonde_json_put_uint(json, "omitted", of - count);
	sonde_json_end(json);
}

static void put_path(struct sonde_json *json, const struct lanes *lanes, struct sonde_tile_step *steps)
{
	const struct sonde_tile_view view = {lanes->start_ns, lanes->end_ns, 1};
	size_t of = 0, most = limit(lanes, STEPS_MOST);
	size_t count = sonde_tiles_steps(lanes->tiles, &view, most, steps, &of);
	sonde_json_put_object(json, "path");
	sonde_json_put_array(json, "steps");
	for (size_t i = 0; i < count; i++) {
		sonde_json_object(json);
		sonde_json_put_uint(json, "start", since(lanes, steps[i].from_ns));
		sonde_json_put_uint(json, "length", steps[i].to_ns - steps[i].from_ns);
		sonde_json_put_uint(json, "name", steps[i].name);
		sonde_json_put_uint(json, "thread", steps[i].thread);
		sonde_json_put_known(json, "lane", steps[i].lane != UINT32_MAX, steps[i].lane);
		sonde_json_end(json);
	}
	sonde_json_end(json);
	sonde_json_put_uint(json, "omitted", of - count);
	sonde_json_end(json);
}

static int put_head(struct lanes *lanes)
{
	char *text = NULL;
	size_t text_b = 0;
	struct sonde_json json;
	struct sonde_tile_arrow *arrows = malloc(ARROWS_MOST * sizeof *arrows);
	struct sonde_tile_step *steps = malloc(STEPS_MOST * sizeof *steps);
	FILE *stream = arrows && steps ? open_memstream(&text, &text_b) : NULL;
	int rc = stream ? 0 : sonde_error(ENOMEM, "out of memory for the timeline's names");
	if (stream) {
		sonde_json_init(&json, stream, 0);
		sonde_json_object(&json);
		sonde_json_put_uint(&json, "version", VERSION);
		sonde_json_put_uint(&json, "duration_ns", lanes->end_ns - lanes->start_ns);
		sonde_json_put_uint(&json, "thinned_ns", lanes->thinned_ns);
		sonde_lanes_json(&json, lanes->tiles);
		put_arrows(&json, lanes, arrows);
		put_path(&json, lanes, steps);
		sonde_json_end(&json);
		rc = fclose(stream) ? sonde_error(ENOMEM, "out of memory for the timeline's names") : 0;
	}
	const uint32_t size_b = (uint32_t)text_b;
	rc = rc || text_b <= UINT32_MAX ? rc : sonde_error(EFBIG, "the timeline has too many names");
	rc = rc ? rc : sonde_gzip_write(lanes->gzip, "SLF1", 4);
	rc = rc ? rc : sonde_gzip_write(lanes->gzip, &size_b, sizeof size_b);
	rc = rc ? rc : sonde_gzip_write(lanes->gzip, text, text_b);
	free(text);
	free(arrows);
	free(steps);
	return rc;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int put_group(struct lanes *lanes, size_t first, size_t count)
{
	int rc = count > 1 ? read_group(lanes, first, count) : 0;
	for (size_t i = 0; i < count && !rc; i++) {
		const struct sonde_tile_lane *lane = sonde_tiles_lane(lanes->tiles, first + i);
		rc = count > 1 ? 0 : read_rows(lanes, lane);
		rc = rc ? rc : put_lane(lanes, lane, &lanes->rows[i]);
	}
	return rc;
}

/* Writes all tracks; stops once the output certainly exceeds most_b as base64. */
static int write_lanes(struct lanes *lanes, FILE *stream, uint64_t most_b)
{
	size_t step, all = sonde_tiles_lane_count(lanes->tiles);
	int rc = put_head(lanes);
	for (size_t i = 0; i < all && !rc && sonde_base64_size((size_t)ftello(stream)) <= most_b; i += step) {
		step = lanes->thinned_ns ? group_at(lanes, i) : 1;
		rc = put_group(lanes, i, step);
	}
	return rc;
}

static int write_if_fits(struct lanes *lanes, uint64_t most_b, struct sonde_buf *out, int *fits)
{
	char *data = NULL;
	size_t data_b = 0;
	FILE *stream = open_memstream(&data, &data_b);
	if (!stream)
		return sonde_error(ENOMEM, "out of memory for the timeline");
	int rc = sonde_gzip_open(&lanes->gzip, stream);
	if (!rc) {
		rc = write_lanes(lanes, stream, most_b);
		int closing = sonde_gzip_close(lanes->gzip);
		rc = rc ? rc : closing;
	}
	if (fclose(stream) && !rc)
		rc = sonde_error(ENOMEM, "out of memory for the timeline");
	sonde_buf_clear(out);
	*fits = !rc && sonde_base64_size(data_b) <= most_b;
	rc = rc || !*fits ? rc : sonde_buf_append(out, data, data_b);
	free(data);
	return rc;
}

/* The number of rows that remain at a thinning. */
struct guess {
	uint64_t thinned_ns, rows;
};

static uint64_t rows_of_curve(const struct sonde_tile_lane *lane)
{
	return lane->count > CURVE_PX ? CURVE_PX : lane->count;
}

/* Adds up the rows of a group of tracks at each thinning; counting stops above `most`. */
static int count_group(struct lanes *lanes, struct guess *guesses, size_t guess_count, size_t first, size_t count)
{
	const struct sonde_tile_lane *lane = sonde_tiles_lane(lanes->tiles, first);
	struct sonde_tile_ask *asks = calloc(count * guess_count, sizeof *asks), *ask = asks;
	uint64_t zones = 0;
	if (!asks)
		return sonde_error(ENOMEM, "out of memory for %zu lanes", count);
	for (size_t i = 0; i < guess_count && lane->form == SONDE_TILE_CURVE; i++)
		guesses[i].rows += rows_of_curve(lane);
	for (size_t at = 0; at < count; at++)
		zones += sonde_tiles_lane(lanes->tiles, first + at)->count;
	for (size_t at = 0; at < count && lane->form != SONDE_TILE_CURVE; at++)
		for (size_t i = 0; i < guess_count; i++)
			*ask++ = (struct sonde_tile_ask){
			    .lane = first + at,
			    .view = {lanes->start_ns, lanes->end_ns, pixels(lanes, guesses[i].thinned_ns)},
			    .count = &guesses[i].rows,
			    .most = lanes->most_b / LIKELY_ROW_B,
			    .every = zones / SAMPLE < EVERY_MAX ? (uint32_t)(zones / SAMPLE) : EVERY_MAX};
	int rc = ask > asks ? sonde_tiles_bins_each(lanes->tiles, asks, (size_t)(ask - asks)) : 0;
	free(asks);
	return rc;
}

/* Writes the rows of a window of the time and discards them. */
static int put_window(struct lanes *lanes, const struct sonde_tile_view *view, uint64_t *rows)
{
	int rc = 0;
	for (size_t i = 0; i < sonde_tiles_lane_count(lanes->tiles) && !rc; i++) {
		const struct sonde_tile_lane *lane = sonde_tiles_lane(lanes->tiles, i);
		if (lane->form == SONDE_TILE_CURVE)
			continue;
		rc = sonde_tiles_bins(lanes->tiles, lane->id, view, lanes->rows);
		rc = rc ? rc : put_lane(lanes, lane, lanes->rows);
		*rows += lanes->rows->count;
	}
	return rc;
}

/* Estimates the bytes per row at a thinning, as base64; 0: too few rows for an estimate. */
static int measure_row(struct lanes *lanes, uint64_t thinned_ns, double *row_b)
{
	uint64_t length_ns = (lanes->end_ns - lanes->start_ns) / WINDOW_SHARE, rows = 0;
	char *data = NULL;
	size_t data_b = 0;
	FILE *stream = open_memstream(&data, &data_b);
	int rc = stream ? sonde_gzip_open(&lanes->gzip, stream) : sonde_error(ENOMEM, "out of memory for lanes");
	int is_open = !rc;
	for (size_t i = 0; i < WINDOWS && !rc && length_ns / thinned_ns; i++) {
		uint64_t from_ns = lanes->start_ns + (2 * i + 1) * (WINDOW_SHARE / WINDOWS / 2) * length_ns;
		uint64_t width = length_ns / thinned_ns;
		const struct sonde_tile_view view = {from_ns, from_ns + length_ns,
						     width > UINT32_MAX ? UINT32_MAX : (uint32_t)width};
		rc = put_window(lanes, &view, &rows);
	}
	int closing = is_open ? sonde_gzip_close(lanes->gzip) : 0;
	if (stream)
		fclose(stream);
	*row_b = rows < ROWS_LEAST ? 0 : (double)sonde_base64_size(data_b) / (double)rows;
	free(data);
	return rc ? rc : closing;
}

/* Chooses the finest thinning that is likely to fit. Each candidate is half of the previous one, and the rows of all
 * candidates are counted in one pass. */
static int choose(struct lanes *lanes, uint64_t coarsest_ns)
{
	struct guess guesses[GUESSES_MAX];
	uint64_t most = lanes->most_b / LIKELY_ROW_B;
	size_t count = 0, step;
	int rc = 0;
	for (uint64_t ns = coarsest_ns; ns && count < GUESSES_MAX; ns /= 2)
		guesses[count++] = (struct guess){ns, 0};
	for (size_t i = 0; i < sonde_tiles_lane_count(lanes->tiles) && count > 1 && !rc; i += step) {
		step = group_at(lanes, i);
		rc = count_group(lanes, guesses, count, i, step);
		for (size_t fine = 1; fine < count; fine++)
			if (guesses[fine].rows > most)
				count = fine;
	}
	while (count > 1 && !rc) {
		double row_b = 0;
		rc = measure_row(lanes, guesses[count - 1].thinned_ns, &row_b);
		if (row_b * (double)guesses[count - 1].rows <= SURELY * (double)lanes->most_b)
			break;
		count--;
	}
	lanes->thinned_ns = guesses[count - 1].thinned_ns;
	return rc;
}

/* True if everything might fit without thinning. */
static int may_fit(const struct lanes *lanes)
{
	uint64_t sum = 0, most = lanes->most_b / LEAST_ROW_B;
	for (size_t i = 0; i < sonde_tiles_lane_count(lanes->tiles) && sum <= most; i++) {
		const struct sonde_tile_lane *lane = sonde_tiles_lane(lanes->tiles, i);
		sum += lane->form == SONDE_TILE_CURVE ? rows_of_curve(lane) : lane->count;
	}
	return sum <= most;
}

/* Writes all details if they fit, otherwise as many as are likely to fit; as long as the result does not fit, thins
 * further. */
static int fit(struct lanes *lanes, uint64_t most_b, struct sonde_buf *out)
{
	uint64_t duration_ns = lanes->end_ns - lanes->start_ns, coarsest_ns = duration_ns / COARSEST + 1;
	int fits = 0, rc = may_fit(lanes) ? write_if_fits(lanes, most_b, out, &fits) : 0;
	if (rc || fits)
		return rc;
	rc = choose(lanes, coarsest_ns);
	for (; lanes->thinned_ns <= coarsest_ns && !rc && !fits; lanes->thinned_ns *= 2)
		rc = write_if_fits(lanes, most_b, out, &fits);
	return rc;
}

int sonde_html_lanes(struct sonde_session *session, uint64_t most_b, struct sonde_buf *out)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct lanes lanes = {.session = session, .start_ns = run->start_ns, .end_ns = run->end_ns, .most_b = most_b};
	if (lanes.end_ns <= lanes.start_ns)
		return 0;
	sonde_buf_init(&lanes.block, LANE_MAX_B);
	int rc = sonde_tiles_open(&lanes.tiles, session);
	if (!rc && sonde_tiles_lane_count(lanes.tiles))
		rc = fit(&lanes, most_b, out);
	for (size_t i = 0; i < GROUP_MAX; i++)
		sonde_tile_rows_fini(&lanes.rows[i]);
	sonde_buf_fini(&lanes.block);
	sonde_tiles_close(lanes.tiles);
	return rc;
}
