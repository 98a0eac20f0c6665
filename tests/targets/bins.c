/* bins.c: writes a random recording to FILE and prints its lanes and their bins as JSON, for the page, which must make
 * the same bins: bins FILE.
 *
 *	[{"form":"slices","leaves":[[from,to,name]…],"views":[{"from":…,"to":…,"width":…,"bins":[[from,to,name,many,busy]…]}…]}…]
 *
 * Curves have the minimum and the maximum instead of name, many and busy. Times are ns since the start of the
 * recording.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/event.h"
#include "format/metric.h"
#include "tiles/tiles_state.h"
#include "trace/encode.h"

enum { ROWS = 9000, WAIT_KINDS_USED = 4 };

static uint64_t seed = 11;

static uint32_t rolled(uint32_t of)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % of;
}

static void must(int error, const char *what)
{
	if (error < 0) {
		fprintf(stderr, "bins: %s: %d\n", what, error);
		exit(1);
	}
}

/* Returns a random length: many short ones, some long ones. */
static uint64_t length(void)
{
	return rolled(10) ? rolled(2000) : rolled(3000000);
}

static void put_string(struct sonde_writer *writer, uint32_t id, const char *text)
{
	struct sonde_meta_string record = {.head.type = SONDE_META_STRING, .id = id, .len_b = (uint32_t)strlen(text)};
	must(sonde_writer_meta(writer, &record, sizeof record, text, record.len_b), "a string");
}

#define PUT(writer, ...) must(sonde_writer_meta(writer, &(__VA_ARGS__), sizeof(__VA_ARGS__), NULL, 0), "a record")

static void put_tables(struct sonde_writer *writer)
{
	put_string(writer, 1, sonde_metric_row(SONDE_METRIC_MEMORY_RSS)->name);
	put_string(writer, 2, "B");
	put_string(writer, 3, "mark");
	PUT(writer, (struct sonde_meta_process){.head.type = SONDE_META_PROCESS, .id = 1, .pid = 1});
	PUT(writer, (struct sonde_meta_thread){.head.type = SONDE_META_THREAD, .id = 1, .process = 1, .tid = 1});
	PUT(writer,
	    (struct sonde_meta_site){.head.type = SONDE_META_SITE, .id = 1, .kind = SONDE_SITE_INSTANT, .name = 3});
	PUT(writer, (struct sonde_meta_series){.head.type = SONDE_META_SERIES,
					       .id = 1,
					       .kind = sonde_metric_row(SONDE_METRIC_MEMORY_RSS)->kind,
					       .name = 1,
					       .unit = 2,
					       .process = 1});
}

/* Writes rows, some of which start before the recording: states that existed when the recorder attached. */
static uint64_t put_rows(struct sonde_writer *writer, uint64_t start_ns)
{
	struct sonde_encoder waits, series;
	static struct sonde_event_text events[ROWS];
	uint64_t wait_ns = start_ns - 2000000, point_ns = start_ns, mark_ns = start_ns;
	sonde_encoder_init(&waits, SONDE_CHUNK_WAITS, UINT32_MAX);
	sonde_encoder_init(&series, SONDE_CHUNK_SERIES, UINT32_MAX);
	for (size_t i = 0; i < ROWS; i++) {
		struct sonde_waits_row wait = {.start_ns = wait_ns, .dur_ns = length(), .thread = 1};
		wait.kind = (uint8_t)(1 + rolled(WAIT_KINDS_USED));
		sonde_encoder_waits(&waits, &wait);
		wait_ns += wait.dur_ns + length();
		struct sonde_series_row point = {.time_ns = point_ns, .series = 1, .value = rolled(1000000)};
		sonde_encoder_series(&series, &point);
		point_ns += 1 + length();
		events[i].head =
		    (struct sonde_event){.type = SONDE_EVENT_INSTANT, .words = 3, .site = 1, .time = mark_ns};
		mark_ns += 1 + length();
	}
	must(sonde_encoder_flush(&waits, writer), "waits");
	must(sonde_encoder_flush(&series, writer), "series");
	sonde_encoder_fini(&waits);
	sonde_encoder_fini(&series);
	struct sonde_chunk chunk = {.type = SONDE_CHUNK_EVENTS,
				    .process = 1,
				    .thread = 1,
				    .count = ROWS,
				    .time_min_ns = events[0].head.time,
				    .time_max_ns = events[ROWS - 1].head.time,
				    .body = events,
				    .body_b = sizeof events};
	must(sonde_writer_chunk(writer, &chunk), "events");
	return mark_ns > wait_ns ? mark_ns : wait_ns;
}

static void write_file(const char *path)
{
	struct sonde_writer *writer;
	struct sonde_writer_options options = {.overwrite = 1};
	must(sonde_writer_open(&writer, path, &options), path);
	put_tables(writer);
	uint64_t end_ns = put_rows(writer, sonde_writer_start_ns(writer));
	PUT(writer, (struct sonde_meta_close){.head.type = SONDE_META_CLOSE, .time_ns = end_ns});
	must(sonde_writer_close(writer), "the end");
}

static int64_t since(uint64_t time_ns, uint64_t start_ns)
{
	return (int64_t)(time_ns - start_ns);
}

static void print_leaves(const struct sonde_tile_lane_data *lane, uint64_t start_ns)
{
	for (size_t i = 0; i < lane->lane.count; i++) {
		struct sonde_tile_node leaf = sonde_tile_lane_leaf(lane, i);
		printf("%s[%" PRId64 ",%" PRId64, i ? "," : "", since(leaf.from_ns, start_ns),
		       since(leaf.to_ns, start_ns));
		if (lane->lane.form == SONDE_TILE_CURVE)
			printf(",%.17g,%.17g]", leaf.least, leaf.most);
		else
			printf(",%u]", leaf.name);
	}
}

static void print_view(struct sonde_tiles *tiles, const struct sonde_tile_lane *lane, struct sonde_tile_view view,
		       uint64_t start_ns)
{
	struct sonde_tile_rows rows = {0};
	must(sonde_tiles_bins(tiles, lane->id, &view, &rows), "bins");
	printf("{\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"width\":%u,\"bins\":[", since(view.from_ns, start_ns),
	       since(view.to_ns, start_ns), view.width);
	for (size_t i = 0; i < rows.count; i++) {
		const struct sonde_tile_row *row = &rows.all[i];
		printf("%s[%" PRId64 ",%" PRId64, i ? "," : "", since(row->from_ns, start_ns),
		       since(row->to_ns, start_ns));
		if (lane->form == SONDE_TILE_CURVE)
			printf(",%.17g,%.17g]", row->least, row->most);
		else
			printf(",%u,%u,%" PRIu64 "]", row->name, row->many, row->busy_ns);
	}
	printf("]}");
	sonde_tile_rows_fini(&rows);
}

static void print_lane(struct sonde_tiles *tiles, size_t id, const struct sonde_run *run)
{
	static const char *const forms[] = {
	    [SONDE_TILE_SLICES] = "slices", [SONDE_TILE_CURVE] = "curve", [SONDE_TILE_MOMENTS] = "moments"};
	const struct sonde_tile_lane *lane = sonde_tiles_lane(tiles, id);
	printf("%s{\"form\":\"%s\",\"leaves\":[", id ? ",\n" : "", forms[lane->form]);
	print_leaves(tiles->lanes[id], run->start_ns);
	printf("],\"views\":[");
	for (size_t i = 0; i < 40; i++) {
		uint64_t from_ns =
		    run->start_ns - 3000000 + (i ? rolled((uint32_t)(run->wall_ns / 1000)) * 1000ull : 0);
		uint64_t to_ns = i ? from_ns + 1 + rolled(1u << (i % 31)) : run->end_ns;
		struct sonde_tile_view view = {from_ns, to_ns, 1 + rolled(i % 2 ? 50 : 2000)};
		printf("%s", i ? "," : "");
		print_view(tiles, lane, view, run->start_ns);
	}
	printf("]}");
}

int main(int argc, char **argv)
{
	struct sonde_session *session;
	struct sonde_tiles *tiles;
	struct sonde_session_options options = {.no_symbols = 1};
	if (argc != 2)
		return 2;
	write_file(argv[1]);
	must(sonde_session_open(&session, argv[1], &options), "session");
	must(sonde_tiles_open(&tiles, session), "tiles");
	printf("[");
	for (size_t i = 0; i < sonde_tiles_lane_count(tiles); i++)
		print_lane(tiles, i, sonde_session_run(session));
	printf("]\n");
	sonde_tiles_close(tiles);
	sonde_session_close(session);
	return 0;
}
