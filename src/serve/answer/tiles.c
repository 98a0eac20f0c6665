/* tiles.c: the tracks of the timeline as JSON, and their bins as bytes (docs/UI.md).
 *
 * Tracks are built for the first query and kept with the session. If the recording grows, they are extended when a page
 * requests the list of tracks again (tiles/extend.c). Several pages may have different generations of the list: each
 * page sends the generation that it has in `made`, and the answer uses the ids of that generation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/html/lanes_json.h"
#include "serve/answer/answer.h"
#include "serve/answer/timeline.h"
#include "util/error.h"
#include "util/quantity.h"

enum { VERSION = 1, LANES_MAX = 4096, WIDTH = 1024, HEAD_B = 32 };

#define QUICK_NS 1500000u /* time for decoding: one chunk is always decoded, and more as long as time is left */

/* --- parameters --------------------------------------------------------------------------------------------------- */

static void forget(void *tiles)
{
	sonde_tiles_close(tiles);
}

int sonde_timeline_get(struct sonde_session *session, int is_new, struct sonde_tiles **out)
{
	struct sonde_session_kept *kept = sonde_session_kept(session, SONDE_KEPT_TILES);
	struct sonde_tiles *tiles;
	int rc = 0;
	if (kept->free && is_new) {
		tiles = kept->data;
		*kept = (struct sonde_session_kept){0};
		rc = sonde_tiles_extend(&tiles);
	} else if (!kept->free) {
		rc = sonde_tiles_open(&tiles, session);
	} else {
		tiles = kept->data;
	}
	if (rc)
		return rc;
	*kept = (struct sonde_session_kept){tiles, forget};
	*out = tiles;
	return 0;
}

int sonde_timeline_number(const struct sonde_params *params, const char *name, uint64_t most, uint64_t *out)
{
	const char *value = sonde_params_get(params, name);
	if (value && sonde_quantity_integer(out, value, 0, most))
		return sonde_error(EINVAL, "%s is a whole number up to %llu, not '%s'", name, (unsigned long long)most,
				   value);
	return 0;
}

int sonde_timeline_view(const struct sonde_session *session, const struct sonde_params *params,
			struct sonde_tile_view *out)
{
	const struct sonde_run *run = sonde_session_run(session);
	uint64_t from_ns = 0, to_ns = run->end_ns - run->start_ns, width = WIDTH;
	int rc = sonde_timeline_number(params, "from", INT64_MAX, &from_ns);
	rc = rc ? rc : sonde_timeline_number(params, "to", INT64_MAX, &to_ns);
	rc = rc ? rc : sonde_timeline_number(params, "width", SONDE_TILE_WIDTH_MAX, &width);
	if (rc)
		return rc;
	if (!width)
		return sonde_error(EINVAL, "width is 1 to %d pixels", SONDE_TILE_WIDTH_MAX);
	if (from_ns > to_ns)
		return sonde_error(EINVAL, "from is after to");
	if (run->start_ns > UINT64_MAX - to_ns - 1)
		return sonde_error(EINVAL, "to is out of range");
	to_ns = to_ns > from_ns ? to_ns : from_ns + 1;
	*out = (struct sonde_tile_view){run->start_ns + from_ns, run->start_ns + to_ns, (uint32_t)width};
	return 0;
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */

static void put_made(struct sonde_json *json, uint64_t made)
{
	char text[24]; /* as text, because the number exceeds JavaScript's exact integers */
	snprintf(text, sizeof text, "%llu", (unsigned long long)made);
	sonde_json_put_text(json, "made", text);
}

/* Maps the current tracks to their ids in generation `since`, and writes the time from which bins differ; null = none
 * differ. */
static void put_since(struct sonde_json *json, const struct sonde_tiles *tiles, uint64_t since, uint64_t start_ns)
{
	struct sonde_tile_since row;
	if (!sonde_tiles_lane_count(tiles) || sonde_tiles_since(tiles, since, 0, &row))
		return;
	sonde_json_put_array(json, "since");
	for (size_t i = 0; i < sonde_tiles_lane_count(tiles) && !sonde_tiles_since(tiles, since, i, &row); i++) {
		sonde_json_object(json);
		sonde_json_put_known(json, "id", row.id != UINT32_MAX, row.id);
		sonde_json_put_known(json, "changed_ns", row.changed_ns != UINT64_MAX,
				     row.changed_ns > start_ns ? row.changed_ns - start_ns : 0);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

int sonde_answer_lanes(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	static const char *const known[] = {"since", NULL};
	uint64_t since = 0;
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_tiles *tiles;
	struct sonde_json json;
	int rc = sonde_params_check(params, known);
	rc = rc ? rc : sonde_timeline_number(params, "since", INT64_MAX, &since);
	rc = rc ? rc : sonde_timeline_get(session, 1, &tiles);
	if (rc || !sonde_answer_begin(&json, out, VERSION))
		return rc ? rc : -ENOMEM;
	sonde_json_put_uint(&json, "duration_ns", run->end_ns - run->start_ns);
	if (run->growing) {
		put_made(&json, sonde_tiles_made(tiles));
		put_since(&json, tiles, since, run->start_ns);
	}
	sonde_lanes_json(&json, tiles);
	return sonde_answer_end(&json, out);
}

/* --- bins --------------------------------------------------------------------------------------------------------- */

/* Times are relative to the start of the recording. */
struct writing {
	struct sonde_buf *out;
	uint64_t start_ns;
};

static double since(const struct writing *writing, uint64_t time_ns)
{
	return time_ns >= writing->start_ns ? (double)(time_ns - writing->start_ns)
					    : -(double)(writing->start_ns - time_ns);
}

/* Appends a column of `count` values of `value_b` bytes, padded with zeros to 8. */
static void *column(const struct writing *writing, size_t count, size_t value_b)
{
	size_t used_b = count * value_b, all_b = (used_b + 7) & ~(size_t)7;
	uint8_t *at = sonde_buf_extend(writing->out, all_b);
	if (at && all_b > used_b)
		memset(at + used_b, 0, all_b - used_b);
	return at;
}

static void put_real(const struct writing *writing, const struct sonde_tile_rows *rows,
		     double (*value)(const struct writing *writing, const struct sonde_tile_row *row))
{
	uint8_t *at = column(writing, rows->count, sizeof(double));
	for (size_t i = 0; at && i < rows->count; i++) {
		double real = value(writing, &rows->all[i]);
		memcpy(at + i * sizeof real, &real, sizeof real);
	}
}

static double start_of(const struct writing *writing, const struct sonde_tile_row *row)
{
	return since(writing, row->from_ns);
}

static double length_of(const struct writing *writing, const struct sonde_tile_row *row)
{
	(void)writing;
	return (double)(row->to_ns - row->from_ns);
}

static double least_of(const struct writing *writing, const struct sonde_tile_row *row)
{
	(void)writing;
	return row->least;
}

static double most_of(const struct writing *writing, const struct sonde_tile_row *row)
{
	(void)writing;
	return row->most;
}

static void put_busy(const struct writing *writing, const struct sonde_tile_rows *rows)
{
	uint8_t *at = column(writing, rows->count, sizeof(float));
	for (size_t i = 0; at && i < rows->count; i++) {
		const struct sonde_tile_row *row = &rows->all[i];
		double length = (double)(row->to_ns - row->from_ns);
		float busy = row->to_ns > row->from_ns ? (float)((double)row->busy_ns / length) : 1;
		busy = busy < 1 ? busy : 1; /* in our own recordings, slices never overlap */
		memcpy(at + i * sizeof busy, &busy, sizeof busy);
	}
}

static void put_ids(const struct writing *writing, const struct sonde_tile_rows *rows, size_t field)
{
	uint8_t *at = column(writing, rows->count, sizeof(uint32_t));
	for (size_t i = 0; at && i < rows->count; i++)
		memcpy(at + i * sizeof(uint32_t), (const uint8_t *)&rows->all[i] + field, sizeof(uint32_t));
}

/* `id`: the track's id for the client. */
static int put_rows(const struct writing *writing, const struct sonde_tile_lane *lane, uint32_t id,
		    const struct sonde_tile_rows *rows)
{
	const uint32_t head[4] = {id, lane->form, (uint32_t)rows->count, 0};
	sonde_buf_append(writing->out, head, sizeof head);
	put_real(writing, rows, start_of);
	if (lane->form != SONDE_TILE_MOMENTS)
		put_real(writing, rows, length_of);
	if (lane->form == SONDE_TILE_CURVE) {
		put_real(writing, rows, least_of);
		put_real(writing, rows, most_of);
		return sonde_buf_error(writing->out);
	}
	if (lane->form == SONDE_TILE_SLICES)
		put_busy(writing, rows);
	put_ids(writing, rows, offsetof(struct sonde_tile_row, name));
	put_ids(writing, rows, offsetof(struct sonde_tile_row, many));
	return sonde_buf_error(writing->out);
}

static int put_head(const struct writing *writing, const struct sonde_tile_view *view, uint32_t lanes)
{
	const double times[2] = {since(writing, view->from_ns), since(writing, view->to_ns)};
	const uint32_t ends[2] = {view->width, 0};
	sonde_buf_append(writing->out, "STL1", 4);
	sonde_buf_append(writing->out, &lanes, sizeof lanes);
	sonde_buf_append(writing->out, times, sizeof times);
	return sonde_buf_append(writing->out, ends, sizeof ends);
}

/* Marks in the head that some rows represent more than a pixel. */
static void put_coarse(const struct writing *writing, size_t head_at)
{
	const uint32_t is_coarse = 1;
	memcpy(writing->out->data + head_at + HEAD_B - sizeof is_coarse, &is_coarse, sizeof is_coarse);
}

/* Parses "1,2,3" into `ids`; returns their number, or -EINVAL. to_now() validates the ids. */
static int take_lanes(const char *value, uint32_t *ids)
{
	int count = 0;
	for (const char *at = value; *at; count++) {
		char *end = NULL;
		unsigned long id = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
		if (!end || (*end && (*end != ',' || !end[1])) || id >= UINT32_MAX)
			return sonde_error(EINVAL, "lanes are ids from /api/lanes, not '%.100s'", at);
		if (count == LANES_MAX)
			return sonde_error(EINVAL, "more than %d tracks at once", LANES_MAX);
		ids[count] = (uint32_t)id;
		at = *end ? end + 1 : end;
	}
	return count ? count : sonde_error(EINVAL, "which tracks? lanes=ID,ID from /api/lanes");
}

/* The requested tracks and the other parameters. */
struct requested {
	struct sonde_tiles *tiles;
	struct sonde_tile_view view;
	uint32_t ids[LANES_MAX]; /* as in the request */
	size_t lanes[LANES_MAX]; /* the corresponding current tracks */
	int count;
	uint64_t until_ns;
};

static int to_now(struct requested *requested, uint64_t made)
{
	size_t count = sonde_tiles_lane_count(requested->tiles);
	struct sonde_tile_since known;
	if (made && count && sonde_tiles_since(requested->tiles, made, 0, &known))
		return -ESTALE;
	for (int i = 0; i < requested->count; i++) {
		uint32_t id = requested->ids[i];
		requested->lanes[i] = made ? sonde_tiles_lane_now(requested->tiles, made, id) : id;
		if (requested->lanes[i] >= count)
			return sonde_error(EINVAL, "lanes are ids from /api/lanes, below %zu, not '%u'", count, id);
	}
	return 0;
}

static int take(struct requested *requested, struct sonde_session *session, const struct sonde_params *params)
{
	static const char *const known[] = {"lanes", "from", "to", "width", "quick", "made", NULL};
	const char *lanes = sonde_params_get(params, "lanes");
	uint64_t is_quick = 0, made = 0;
	int rc = sonde_params_check(params, known);
	rc = rc ? rc : sonde_timeline_view(session, params, &requested->view);
	rc = rc ? rc : sonde_timeline_number(params, "quick", 1, &is_quick);
	rc = rc ? rc : sonde_timeline_get(session, 0, &requested->tiles);
	rc = rc ? rc : sonde_timeline_number(params, "made", INT64_MAX, &made);
	requested->count = rc ? rc : take_lanes(lanes ? lanes : "", requested->ids);
	requested->until_ns = is_quick ? sonde_clock_now_ns() + QUICK_NS : 0;
	return requested->count < 0 ? requested->count : to_now(requested, made);
}

int sonde_answer_tiles(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	struct writing writing = {out, sonde_session_run(session)->start_ns};
	struct sonde_tile_rows rows = {0};
	struct requested requested; /* 48 KB */
	size_t head_at = out->len_b;
	int rc = take(&requested, session, params), is_coarse = 0;
	rc = rc ? rc : put_head(&writing, &requested.view, (uint32_t)requested.count);
	for (int i = 0; !rc && i < requested.count; i++) {
		rc = sonde_tiles_bins_until(requested.tiles, requested.lanes[i], &requested.view, requested.until_ns,
					    &rows);
		rc = rc ? rc
			: put_rows(&writing, sonde_tiles_lane(requested.tiles, requested.lanes[i]), requested.ids[i],
				   &rows);
		is_coarse |= rows.is_coarse;
	}
	if (!rc && is_coarse)
		put_coarse(&writing, head_at);
	sonde_tile_rows_fini(&rows);
	if (rc == -E2BIG)
		return sonde_error(EFBIG, "the bins are larger than %zu MB: ask for fewer tracks", out->max_b >> 20);
	return rc;
}
