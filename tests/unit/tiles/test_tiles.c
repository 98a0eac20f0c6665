/* test_tiles.c: every bin of a timeline against all of its slices, and tracks of every kind with known answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session_fixture.h"
#include "tiles/tiles_state.h"

enum { THREADS = 3, SITES = 5, LONGEST_DEPTH = 70 };

static struct recording recording;

/* --- brute force -------------------------------------------------------------------------------------------------- */

struct slice {
	uint64_t from_ns, to_ns;
	uint32_t site;
};

/* All slices of a thread and depth, in order of time. */
struct all {
	struct slice *rows;
	size_t count, cap;
};

static struct all all[THREADS + 1][LONGEST_DEPTH + 1];

static void forget(void)
{
	for (size_t thread = 0; thread <= THREADS; thread++)
		for (size_t depth = 0; depth <= LONGEST_DEPTH; depth++) {
			free(all[thread][depth].rows);
			all[thread][depth] = (struct all){0};
		}
}

static void read_all(struct sonde_session *session)
{
	struct sonde_cursor *cursor = cursor_over(session, SONDE_CHUNK_ZONES);
	const struct sonde_batch *batch;
	forget();
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++) {
			struct all *into = &all[batch->thread][batch->zones.depth[i]];
			if (into->count == into->cap) {
				into->cap = into->cap ? 2 * into->cap : 64;
				into->rows = realloc(into->rows, into->cap * sizeof *into->rows);
				assert_non_null(into->rows);
			}
			into->rows[into->count++] =
			    (struct slice){batch->zones.start_ns[i], batch->zones.start_ns[i] + batch->zones.dur_ns[i],
					   batch->zones.site[i]};
		}
	sonde_cursor_close(cursor);
}

static const char *name_of(const struct sonde_tiles *tiles, uint32_t name)
{
	assert_true(name < sonde_tiles_name_count(tiles));
	return sonde_tiles_name(tiles, name)->text;
}

/* A row stands for the slices from `at` on that it claims to, and describes them correctly. */
static size_t expect_row(const struct sonde_session *session, const struct sonde_tiles *tiles, const struct all *of,
			 size_t at, const struct sonde_tile_row *row, double pixel_ns)
{
	uint64_t busy_ns = 0, longest_ns = 0;
	int has_name = 0;
	assert_true(row->many >= 1 && row->many <= of->count - at);
	assert_int_equal(row->from_ns, of->rows[at].from_ns);
	assert_int_equal(row->to_ns, of->rows[at + row->many - 1].to_ns);
	for (size_t i = at; i < at + row->many; i++) {
		uint64_t length_ns = of->rows[i].to_ns - of->rows[i].from_ns;
		busy_ns += length_ns;
		longest_ns = length_ns > longest_ns ? length_ns : longest_ns;
		assert_true(row->many == 1 || (double)length_ns < pixel_ns);
	}
	for (size_t i = at; i < at + row->many; i++)
		has_name |= of->rows[i].to_ns - of->rows[i].from_ns == longest_ns &&
			    !strcmp(sonde_session_site(session, of->rows[i].site)->name, name_of(tiles, row->name));
	assert_int_equal(row->busy_ns, busy_ns);
	assert_true(has_name);
	assert_true(row->many == 1 || (double)(row->to_ns - row->from_ns) < 2 * pixel_ns);
	return at + row->many;
}

static void expect_lane(struct sonde_session *session, struct sonde_tiles *tiles, const struct sonde_tile_lane *lane,
			const struct sonde_tile_view *view)
{
	const struct all *of = &all[lane->thread][lane->depth];
	double pixel_ns = (double)(view->to_ns - view->from_ns) / view->width;
	struct sonde_tile_rows rows = {0};
	size_t at = 0;
	assert_int_equal(lane->count, of->count);
	assert_int_equal(sonde_tiles_bins(tiles, lane->id, view, &rows), 0);
	assert_true(rows.count <= 3 * (size_t)view->width + 3);
	while (at < of->count && (!rows.count || of->rows[at].from_ns < rows.all[0].from_ns)) {
		assert_true(of->rows[at].to_ns < view->from_ns || of->rows[at].from_ns > view->to_ns);
		at++;
	}
	for (size_t i = 0; i < rows.count; i++)
		at = expect_row(session, tiles, of, at, &rows.all[i], pixel_ns);
	for (; at < of->count; at++)
		assert_true(of->rows[at].from_ns > view->to_ns);
	sonde_tile_rows_fini(&rows);
}

static uint64_t seed;

static uint64_t any(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static void expect_views(struct sonde_session *session, struct sonde_tiles *tiles, int count)
{
	const struct sonde_run *run = sonde_session_run(session);
	uint64_t all_ns = run->end_ns - run->start_ns + 1;
	for (int i = 0; i < count; i++) {
		uint64_t length_ns = i ? 1 + any(all_ns >> any(12)) : all_ns;
		struct sonde_tile_view view = {.width = 1 + (uint32_t)any(i % 2 ? 50 : 2000)};
		view.from_ns = run->start_ns + (i ? any(all_ns) : 0);
		view.to_ns = view.from_ns + length_ns;
		for (size_t lane = 0; lane < sonde_tiles_lane_count(tiles); lane++)
			if (sonde_tiles_lane(tiles, lane)->kind == SONDE_TILE_ZONES)
				expect_lane(session, tiles, sonde_tiles_lane(tiles, lane), &view);
	}
}

/* --- zones -------------------------------------------------------------------------------------------------------- */

static uint32_t begin_recording(void)
{
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 10, 0, "app", RECORDING_START_NS);
	for (uint32_t i = 1; i <= THREADS; i++)
		recording_thread(&recording, process, 9 + i, "app", RECORDING_START_NS);
	for (int i = 0; i < SITES; i++)
		recording_site(&recording, SONDE_SITE_ZONE, (const char *[]){"a", "b", "c", "d", "e"}[i], "");
	return process;
}

/* Bursts of short zones, long ones around them, rests; some are never ended, some ends have no begin. */
static void write_zones(int deepest)
{
	for (uint32_t thread = 1; thread <= THREADS; thread++) {
		uint64_t now_ns = RECORDING_START_NS + any(1000);
		int depth = 0;
		for (int i = 0; i < 6000; i++) {
			int begins = depth == 0 || (depth < deepest && any(100) < (i % 600 < 300 ? 52 : 48));
			now_ns += any(50) ? any(200) : any(1000000);
			if (begins)
				recording_begin(&recording, thread, 1 + (uint32_t)any(SITES), now_ns);
			else
				recording_end(&recording, thread, now_ns);
			depth += begins ? 1 : -1;
			if (!any(1000))
				recording_flush(&recording);
		}
		if (thread == 2)
			for (; depth >= -1; depth--)
				recording_end(&recording, thread, ++now_ns);
	}
}

static void random_zones(int has_nodes, int deepest)
{
	seed = (uint64_t)deepest;
	begin_recording();
	recording.has_nodes = has_nodes;
	recording.chunk_rows = 1000;
	write_zones(deepest);
	recording_close(&recording, RECORDING_START_NS + 500000000, 0);
}

static void bins_are_what_all_slices_say(int has_nodes)
{
	for (int deepest = 1; deepest <= LONGEST_DEPTH; deepest += 23) {
		struct sonde_tiles *tiles;
		random_zones(has_nodes, deepest);
		struct sonde_session *session = opened();
		read_all(session);
		assert_int_equal(sonde_tiles_open(&tiles, session), 0);
		assert_true(sonde_tiles_lane_count(tiles) >= THREADS);
		expect_views(session, tiles, 60);
		sonde_tiles_close(tiles);
		sonde_session_close(session);
	}
	forget();
}

static void zones_of_chunks_with_nodes(void **state)
{
	(void)state;
	bins_are_what_all_slices_say(1);
}

static void zones_of_older_recordings(void **state)
{
	(void)state;
	bins_are_what_all_slices_say(0);
}

static struct sonde_tile_rows bins_of(const char *file, size_t lane, uint32_t width)
{
	struct sonde_session *session;
	struct sonde_tiles *tiles;
	struct sonde_tile_rows rows = {0};
	assert_int_equal(sonde_session_open(&session, file, &plain), 0);
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	const struct sonde_tile_view view = {RECORDING_START_NS, RECORDING_START_NS + 500000000, width};
	if (lane < sonde_tiles_lane_count(tiles))
		assert_int_equal(sonde_tiles_bins(tiles, lane, &view, &rows), 0);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
	return rows;
}

/* The nodes of a chunk are those that its zones make, to the last of them: so bins are the same. */
static void nodes_are_those_of_the_zones(void **state)
{
	(void)state;
	for (size_t lane = 0; lane < 40; lane++)
		for (uint32_t width = 1; width < 3000; width = width * 7 + 1) {
			random_zones(1, 24);
			struct sonde_tile_rows with = bins_of(path, lane, width);
			random_zones(0, 24);
			struct sonde_tile_rows without = bins_of(path, lane, width);
			assert_int_equal(with.count, without.count);
			for (size_t i = 0; i < with.count; i++) {
				assert_int_equal(with.all[i].from_ns, without.all[i].from_ns);
				assert_int_equal(with.all[i].to_ns, without.all[i].to_ns);
				assert_int_equal(with.all[i].busy_ns, without.all[i].busy_ns);
				assert_int_equal(with.all[i].many, without.all[i].many);
				assert_int_equal(with.all[i].name, without.all[i].name);
			}
			sonde_tile_rows_fini(&with);
			sonde_tile_rows_fini(&without);
			width = lane > 3 ? 3000 : width;
		}
}

/* Whatever the bytes of nodes are: rows are in order, within the file's times, and belong to some slice. */
static void nodes_may_be_anything(void **state)
{
	(void)state;
	for (size_t spoiled = 1; spoiled < 160; spoiled++) {
		struct sonde_tiles *tiles;
		struct sonde_tile_rows rows = {0};
		seed = 5;
		begin_recording();
		recording.has_nodes = 1;
		recording.spoils = spoiled;
		recording.chunk_rows = 400;
		write_zones(6);
		recording_close(&recording, RECORDING_START_NS + 500000000, 0);
		struct sonde_session *session = opened();
		assert_int_equal(sonde_tiles_open(&tiles, session), 0);
		for (size_t lane = 0; lane < sonde_tiles_lane_count(tiles); lane++)
			for (uint32_t width = 1; width < 5000; width *= 9) {
				const struct sonde_tile_view view = {RECORDING_START_NS, RECORDING_START_NS + 500000000,
								     width};
				assert_int_equal(sonde_tiles_bins(tiles, lane, &view, &rows), 0);
				assert_true(rows.count > 0 || !sonde_tiles_lane(tiles, lane)->count);
				for (size_t i = 0; i < rows.count; i++) {
					assert_true(rows.all[i].many > 0 && rows.all[i].from_ns <= rows.all[i].to_ns);
					assert_true(rows.all[i].name < sonde_tiles_name_count(tiles));
					assert_true(!i || rows.all[i].from_ns >= rows.all[i - 1].from_ns);
				}
			}
		sonde_tile_rows_fini(&rows);
		sonde_tiles_close(tiles);
		sonde_session_close(session);
	}
}

/* Without time to decode anything rows are longer; nothing is missing, and what was decoded before is as it should be.
 */
static void bins_in_no_time(void **state)
{
	(void)state;
	struct sonde_tiles *tiles;
	struct sonde_tile_rows rows = {0}, whole = {0};
	random_zones(1, 6);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	const struct sonde_run *run = sonde_session_run(session);
	const struct sonde_tile_view view = {run->start_ns, run->end_ns, SONDE_TILE_WIDTH_MAX};
	for (uint64_t until_ns = 2; until_ns < 4; until_ns++) { /* each repeated request gets further, by one chunk */
		uint64_t decoded = tiles->cache.decoded;
		assert_int_equal(sonde_tiles_bins_until(tiles, 0, &view, until_ns, &rows), 0);
		assert_int_equal(tiles->cache.decoded - decoded, 1);
	}
	for (int again = 0; again < 2; again++)
		for (size_t id = 0; id < sonde_tiles_lane_count(tiles); id++) {
			uint64_t many = 0, busy_ns = 0, whole_ns = 0;
			assert_int_equal(sonde_tiles_bins_until(tiles, id, &view, 1, &rows), 0);
			int is_coarse = rows.is_coarse;
			assert_int_equal(sonde_tiles_bins(tiles, id, &view, &whole), 0);
			assert_false(whole.is_coarse);
			for (size_t i = 0; i < rows.count; i++) {
				many += rows.all[i].many;
				busy_ns += rows.all[i].busy_ns;
			}
			for (size_t i = 0; i < whole.count; i++)
				whole_ns += whole.all[i].busy_ns;
			assert_int_equal(many, sonde_tiles_lane(tiles, id)->count);
			assert_int_equal(busy_ns, whole_ns);
			assert_true(id || again || is_coarse);
			assert_true(!again || (!is_coarse && rows.count == whole.count));
		}
	sonde_tile_rows_fini(&rows);
	sonde_tile_rows_fini(&whole);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
}

/* Every lane at two widths, in one pass: rows and their number equal those of separate requests. */
static void lanes_at_once(void **state)
{
	(void)state;
	static const uint32_t widths[] = {90, SONDE_TILE_WIDTH_MAX};
	struct sonde_tiles *tiles;
	struct sonde_tile_rows rows = {0}, *each;
	struct sonde_tile_ask *asks;
	random_zones(1, 6);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	const struct sonde_run *run = sonde_session_run(session);
	size_t lanes = sonde_tiles_lane_count(tiles), count = 2 * lanes;
	uint64_t counted[2] = {0}, expected[2] = {0}, some = 0;
	assert_non_null(each = calloc(count, sizeof *each));
	assert_non_null(asks = calloc(count, sizeof *asks));
	for (size_t i = 0; i < count; i++)
		asks[i] = (struct sonde_tile_ask){
		    .lane = i / 2, .view = {run->start_ns, run->end_ns, widths[i % 2]}, .rows = &each[i]};
	assert_int_equal(sonde_tiles_bins_each(tiles, asks, count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(sonde_tiles_bins(tiles, i / 2, &asks[i].view, &rows), 0);
		assert_int_equal(each[i].count, rows.count);
		assert_memory_equal(each[i].all, rows.all, rows.count * sizeof *rows.all);
		expected[i % 2] += rows.count;
		asks[i].rows = NULL;
		asks[i].count = &counted[i % 2];
		asks[i].most = UINT64_MAX;
	}
	assert_true(expected[0] && expected[0] < expected[1]);
	assert_int_equal(sonde_tiles_bins_each(tiles, asks, count), 0);
	assert_int_equal(counted[0], expected[0]);
	assert_int_equal(counted[1], expected[1]);
	for (size_t i = 0; i < count; i++) {
		asks[i].every = 3;
		*asks[i].count = 0;
	}
	assert_int_equal(sonde_tiles_bins_each(tiles, asks, count), 0);
	assert_in_range(counted[1], expected[1] / 2, 2 * expected[1]);
	asks[1].every = 0;
	asks[1].count = &some;
	asks[1].most = 5;
	assert_int_equal(sonde_tiles_bins_each(tiles, &asks[1], 1), 0);
	assert_in_range(some, 6, expected[1] - 1);
	for (size_t i = 0; i < count; i++)
		sonde_tile_rows_fini(&each[i]);
	free(each);
	free(asks);
	sonde_tile_rows_fini(&rows);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
}

static void nothing_and_one(void **state)
{
	(void)state;
	struct sonde_tiles *tiles;
	recording_open(&recording, path);
	recording_close(&recording, RECORDING_START_NS + 5, 0);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	assert_int_equal(sonde_tiles_lane_count(tiles), 0);
	assert_null(sonde_tiles_lane(tiles, 0));
	sonde_tiles_close(tiles);
	sonde_session_close(session);

	begin_recording();
	recording.has_nodes = 1;
	recording_begin(&recording, 2, 3, RECORDING_START_NS + 1);
	recording_close(&recording, RECORDING_START_NS + 1001, 0);
	session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	assert_int_equal(sonde_tiles_lane_count(tiles), 1);
	const struct sonde_tile_lane *lane = sonde_tiles_lane(tiles, 0);
	assert_int_equal(lane->thread, 2);
	assert_int_equal(lane->count, 1);
	const struct sonde_tile_view view = {RECORDING_START_NS, RECORDING_START_NS + 1001, 100};
	struct sonde_tile_rows rows = {0};
	assert_int_equal(sonde_tiles_bins(tiles, 0, &view, &rows), 0);
	assert_int_equal(rows.count, 1); /* never ended: to the end of the recording */
	assert_int_equal(rows.all[0].from_ns, RECORDING_START_NS + 1);
	assert_int_equal(rows.all[0].to_ns, RECORDING_START_NS + 1001);
	assert_string_equal(name_of(tiles, rows.all[0].name), "c");
	sonde_tile_rows_fini(&rows);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
}

static const struct sonde_tile_lane *lane_of(const struct sonde_tiles *tiles, enum sonde_tile_kind kind,
					     uint32_t thread)
{
	const struct sonde_tile_lane *lane = NULL;
	for (size_t i = 0; i < sonde_tiles_lane_count(tiles) && !lane; i++)
		if (sonde_tiles_lane(tiles, i)->kind == kind && sonde_tiles_lane(tiles, i)->thread == thread)
			lane = sonde_tiles_lane(tiles, i);
	assert_non_null(lane);
	return lane;
}

/* A recording that goes on: tiles show its earlier state until they are made again. */
static void recordings_grow(void **state)
{
	(void)state;
	struct sonde_tiles *tiles, *again;
	struct sonde_tile_rows rows = {0};
	uint32_t process = begin_recording();
	recording.has_nodes = 1;
	for (uint64_t i = 0; i < 1000; i++) {
		recording_begin(&recording, 1, 1, RECORDING_START_NS + 10 * i);
		recording_end(&recording, 1, RECORDING_START_NS + 10 * i + 5);
	}
	recording_flush(&recording);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t site = recording_site(&recording, SONDE_SITE_ZONE, "new", "");
		uint32_t thread = recording_thread(&recording, process, 100 + i, "new", RECORDING_START_NS);
		recording_begin(&recording, thread, site, RECORDING_START_NS + 20000);
		recording_end(&recording, thread, RECORDING_START_NS + 20001);
		recording_switch_woken(&recording, RECORDING_START_NS + 400 + i, thread, 1, 100, 1);
	}
	recording_begin(&recording, 1, 50, RECORDING_START_NS + 30000);
	recording_end(&recording, 1, RECORDING_START_NS + 30001);
	recording_flush(&recording);
	assert_true(sonde_tiles_is_current(tiles));
	assert_true(sonde_session_refresh(session) > 0);
	assert_false(sonde_tiles_is_current(tiles));
	const struct sonde_tile_view view = {RECORDING_START_NS, RECORDING_START_NS + 40000, 10000};
	assert_int_equal(sonde_tiles_lane_count(tiles), 1);
	assert_int_equal(sonde_tiles_bins(tiles, 0, &view, &rows), 0);
	assert_int_equal(rows.count, 1000);
	const uint8_t names[64] = {1, 1, 1, 1, 1, 1, 1, 1};
	const struct sonde_tile_search search = {
	    .names = names, .to_ns = UINT64_MAX, .longest_ns = UINT64_MAX, .limit = 5};
	struct sonde_tile_finds finds = {0};
	struct sonde_tile_arrow arrow;
	size_t of;
	assert_int_equal(sonde_tiles_find(tiles, &search, &finds), 0);
	assert_int_equal(finds.of, 1000);
	assert_int_equal(sonde_tiles_arrows(tiles, &view, 1, &arrow, &of), 0);
	assert_int_equal(sonde_tiles_open(&again, session), 0);
	assert_true(sonde_tiles_is_current(again));
	assert_int_equal(lane_of(again, SONDE_TILE_ZONES, 1)->count, 1001);
	assert_int_equal(lane_of(again, SONDE_TILE_ZONES, 103)->count, 1);
	assert_int_equal(sonde_tiles_arrows(again, &view, 1, &arrow, &of), 1);
	assert_int_equal(of, 100);
	sonde_tile_finds_fini(&finds);
	sonde_tile_rows_fini(&rows);
	sonde_tiles_close(again);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
	recording_close(&recording, RECORDING_START_NS + 40000, 0);
}

/* --- slices by name ----------------------------------------------------------------------------------------------- */

static void expect_finds(struct sonde_tiles *tiles, const struct sonde_session *session,
			 const struct sonde_tile_search *search)
{
	struct sonde_tile_finds finds = {0};
	uint64_t count = 0, before_ns = 0;
	assert_int_equal(sonde_tiles_find(tiles, search, &finds), 0);
	uint64_t last_ns = finds.count ? finds.all[finds.count - 1].from_ns : 0;
	size_t earlier = 0;
	for (size_t thread = 1; thread <= THREADS; thread++)
		for (size_t depth = 0; depth < SONDE_TILE_DEPTHS; depth++)
			for (size_t i = 0; i < all[thread][depth].count; i++) {
				const struct slice *slice = &all[thread][depth].rows[i];
				if (search->thread && thread != search->thread)
					continue;
				uint64_t length_ns = slice->to_ns - slice->from_ns;
				int is_b = !strcmp(sonde_session_site(session, slice->site)->name, "b");
				if (!is_b || length_ns < search->shortest_ns || length_ns > search->longest_ns ||
				    slice->to_ns < search->from_ns || slice->from_ns > search->to_ns)
					continue;
				count++;
				earlier += slice->from_ns < last_ns;
			}
	assert_true(finds.is_whole);
	assert_int_equal(finds.of, count);
	assert_int_equal(finds.count, count < search->limit ? count : search->limit);
	assert_true(earlier <= finds.count); /* none that is earlier was left out */
	for (size_t i = 0; i < finds.count; i++) {
		uint64_t length_ns = finds.all[i].to_ns - finds.all[i].from_ns;
		assert_true(finds.all[i].from_ns >= before_ns);
		assert_true(length_ns >= search->shortest_ns && length_ns <= search->longest_ns);
		assert_string_equal(name_of(tiles, finds.all[i].name), "b");
		before_ns = finds.all[i].from_ns;
	}
	sonde_tile_finds_fini(&finds);
}

static void slices_are_found_by_name_and_length(void **state)
{
	(void)state;
	struct sonde_tiles *tiles;
	uint8_t names[64] = {0};
	for (int has_nodes = 0; has_nodes < 2; has_nodes++) {
		random_zones(has_nodes, 24);
		struct sonde_session *session = opened();
		read_all(session);
		assert_int_equal(sonde_tiles_open(&tiles, session), 0);
		for (size_t i = 0; i < sonde_tiles_name_count(tiles); i++)
			names[i] = !strcmp(sonde_tiles_name(tiles, i)->text, "b");
		struct sonde_tile_search search = {
		    .names = names, .to_ns = UINT64_MAX, .longest_ns = UINT64_MAX, .limit = 100000};
		expect_finds(tiles, session, &search);
		search.thread = 2;
		expect_finds(tiles, session, &search);
		search.thread = 0;
		search.limit = 7;
		expect_finds(tiles, session, &search);
		search.shortest_ns = 300;
		search.longest_ns = 5000;
		expect_finds(tiles, session, &search);
		search.from_ns = RECORDING_START_NS + 10000000;
		search.to_ns = RECORDING_START_NS + 20000000;
		expect_finds(tiles, session, &search);
		search.shortest_ns = 6000; /* above the longest */
		expect_finds(tiles, session, &search);
		search.limit = 0;
		search.shortest_ns = 0;
		expect_finds(tiles, session, &search);
		sonde_tiles_close(tiles);
		sonde_session_close(session);
	}
	forget();
}

/* --- lanes of other kinds ----------------------------------------------------------------------------------------- */

/* A whole lane, at a nanosecond per pixel if possible: nothing is merged. */
static struct sonde_tile_rows rows_of(struct sonde_tiles *tiles, const struct sonde_tile_lane *lane, uint64_t to)
{
	const struct sonde_tile_view view = {RECORDING_START_NS, RECORDING_START_NS + to, 10000};
	struct sonde_tile_rows rows = {0};
	assert_int_equal(sonde_tiles_bins(tiles, lane->id, &view, &rows), 0);
	return rows;
}

static void expect_slice(const struct sonde_tiles *tiles, const struct sonde_tile_row *row, uint64_t from, uint64_t to,
			 const char *name)
{
	assert_int_equal(row->from_ns - RECORDING_START_NS, from);
	assert_int_equal(row->to_ns - RECORDING_START_NS, to);
	assert_string_equal(name_of(tiles, row->name), name);
	assert_int_equal(row->many, 1);
}

static void write_every_kind(void)
{
	const uint64_t start = RECORDING_START_NS;
	uint32_t process = begin_recording();
	uint32_t counter = recording_site(&recording, SONDE_SITE_COUNTER, "bytes", "B"),
		 mark = recording_site(&recording, SONDE_SITE_ZONE, "step", ""),
		 span = recording_site(&recording, SONDE_SITE_ZONE, "request", ""),
		 rss = recording_series(&recording, SONDE_METRIC_MEMORY_RSS, process, 0, ""),
		 user = recording_series(&recording, SONDE_METRIC_CPU_USER, process, 0, "");
	recording_switch(&recording, start + 100, 2, SONDE_SWITCH_OUT_BLOCKED);
	recording_switch_woken(&recording, start + 400, 2, 1, 100, 1);
	recording_switch(&recording, start + 900, 2, SONDE_SWITCH_OUT_PREEMPTED);
	recording_wait(&recording,
		       (struct recording_wait){
			   .start_ns = start + 90, .dur_ns = 300, .thread = 2, .other = 1, .kind = SONDE_WAIT_MUTEX});
	recording_wait(&recording, (struct recording_wait){.start_ns = start + 500,
							   .dur_ns = 200,
							   .thread = 2,
							   .kind = SONDE_WAIT_SLEEP,
							   .status = SONDE_WAIT_SAMPLED,
							   .amount = 1});
	recording_value(&recording, 1, SONDE_EVENT_COUNTER, counter, start + 10, 5);
	recording_value(&recording, 1, SONDE_EVENT_COUNTER, counter, start + 30, 9);
	recording_value(&recording, 3, SONDE_EVENT_COUNTER, counter, start + 20, 2);
	recording_value(&recording, 1, SONDE_EVENT_ITERATION, mark, start + 40, 1);
	recording_value(&recording, 1, SONDE_EVENT_ITERATION, mark, start + 60, 1);
	recording_text(&recording, 1, SONDE_EVENT_MESSAGE, 0, start + 70, "hello");
	recording_span(&recording, 1, SONDE_EVENT_SPAN_BEGIN, span, start + 80, 7);
	recording_span(&recording, 3, SONDE_EVENT_SPAN_END, 0, start + 95, 7);
	recording_span(&recording, 3, SONDE_EVENT_SPAN_BEGIN, span, start + 95, 8);
	recording_point(&recording, start + 0, rss, 1000);
	recording_point(&recording, start + 0, user, 0);
	recording_point(&recording, start + 500, rss, 3000);
	recording_point(&recording, start + 500, user, 250);
	recording_close(&recording, start + 1000, 0);
}

static void threads_and_calls(struct sonde_tiles *tiles)
{
	struct sonde_tile_rows rows = rows_of(tiles, lane_of(tiles, SONDE_TILE_STATES, 2), 1000);
	assert_int_equal(rows.count, 5);
	expect_slice(tiles, &rows.all[0], 0, 100, "running");
	expect_slice(tiles, &rows.all[1], 100, 300, "blocked");
	expect_slice(tiles, &rows.all[2], 300, 400, "runnable");
	expect_slice(tiles, &rows.all[3], 400, 900, "running");
	expect_slice(tiles, &rows.all[4], 900, 1000, "runnable");
	sonde_tile_rows_fini(&rows);
	rows = rows_of(tiles, lane_of(tiles, SONDE_TILE_WAITS, 2), 1000);
	assert_int_equal(rows.count, 2);
	expect_slice(tiles, &rows.all[0], 90, 390, "mutex");
	expect_slice(tiles, &rows.all[1], 500, 700, "sleep (sampled)");
	sonde_tile_rows_fini(&rows);
}

static void what_the_program_says(struct sonde_tiles *tiles)
{
	struct sonde_tile_rows rows = rows_of(tiles, lane_of(tiles, SONDE_TILE_COUNTERS, 0), 1000);
	const double totals[] = {5, 7, 11}; /* 5 of one thread, 2 of the other, 4 more of the first */
	assert_int_equal(rows.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(rows.all[i].from_ns - RECORDING_START_NS, 10 + 10 * i);
		assert_true(rows.all[i].least == totals[i] && rows.all[i].most == totals[i]);
	}
	sonde_tile_rows_fini(&rows);
	rows = rows_of(tiles, lane_of(tiles, SONDE_TILE_ITERATIONS, 1), 1000);
	assert_int_equal(rows.count, 1);
	expect_slice(tiles, &rows.all[0], 40, 60, "step");
	sonde_tile_rows_fini(&rows);
	rows = rows_of(tiles, lane_of(tiles, SONDE_TILE_INSTANTS, 1), 1000);
	assert_int_equal(rows.count, 1);
	expect_slice(tiles, &rows.all[0], 70, 70, "hello");
	sonde_tile_rows_fini(&rows);
	rows = rows_of(tiles, lane_of(tiles, SONDE_TILE_SPANS, 0), 1000);
	assert_int_equal(rows.count, 2);
	expect_slice(tiles, &rows.all[0], 80, 95, "request");
	expect_slice(tiles, &rows.all[1], 95, 1000, "request");
	sonde_tile_rows_fini(&rows);
}

static void numbers_that_were_read(struct sonde_tiles *tiles)
{
	int seen = 0;
	for (size_t i = 0; i < sonde_tiles_lane_count(tiles); i++) {
		const struct sonde_tile_lane *lane = sonde_tiles_lane(tiles, i);
		if (lane->kind != SONDE_TILE_SERIES)
			continue;
		struct sonde_tile_rows rows = rows_of(tiles, lane, 1000);
		int is_rate = !strcmp(lane->unit, "s/s");
		assert_int_equal(rows.count, is_rate ? 1 : 2);
		assert_int_equal(rows.all[0].to_ns - rows.all[0].from_ns, 500);
		assert_true(rows.all[0].most == (is_rate ? 0.5 : 1000));
		assert_true(is_rate || rows.all[1].most == 3000);
		seen++;
		sonde_tile_rows_fini(&rows);
	}
	assert_int_equal(seen, 2);
}

static void arrows_and_path(struct sonde_tiles *tiles)
{
	const struct sonde_tile_view view = {RECORDING_START_NS, RECORDING_START_NS + 1000, 10};
	struct sonde_tile_arrow arrows[4];
	struct sonde_tile_step steps[16];
	size_t of;
	assert_int_equal(sonde_tiles_arrows(tiles, &view, 4, arrows, &of), 2);
	assert_int_equal(of, 2);
	assert_string_equal(arrows[0].kind, "wake-up");
	assert_int_equal(arrows[0].from_ns - RECORDING_START_NS, 300);
	assert_int_equal(arrows[0].to_ns - RECORDING_START_NS, 400);
	assert_int_equal(sonde_tiles_lane(tiles, arrows[0].from_lane)->thread, 1);
	assert_int_equal(sonde_tiles_lane(tiles, arrows[0].to_lane)->thread, 2);
	assert_string_equal(arrows[1].kind, "lock");
	assert_int_equal(sonde_tiles_arrows(tiles, &view, 1, arrows, &of), 1);
	assert_int_equal(of, 2);
	size_t count = sonde_tiles_steps(tiles, &view, 16, steps, &of);
	assert_true(count > 0 && count == of);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(steps[i].from_ns, steps[i - 1].to_ns);
}

static void every_kind(void **state)
{
	(void)state;
	struct sonde_tiles *tiles;
	write_every_kind();
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	threads_and_calls(tiles);
	what_the_program_says(tiles);
	numbers_that_were_read(tiles);
	arrows_and_path(tiles);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
}

/* A thread that is on a CPU for the first 100 ms of 200: a sample each ms. */
static void cpu_time(void **state)
{
	(void)state;
	struct sonde_tiles *tiles;
	struct sonde_tile_rows rows = {0};
	begin_recording();
	for (uint64_t ms = 1; ms <= 100; ms++)
		recording_sample(&recording, (struct recording_sample){RECORDING_START_NS + ms * 1000000, 1, 0, 1000000,
								       SONDE_STACK_NO_USER});
	recording_close(&recording, RECORDING_START_NS + 200000000, 0);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	const struct sonde_tile_lane *lane = lane_of(tiles, SONDE_TILE_CPU, 1);
	for (uint32_t width = 1; width < 5000; width = width * 3 + 1) {
		const struct sonde_tile_view view = {RECORDING_START_NS, RECORDING_START_NS + 200000000, width};
		double sum_ns = 0;
		assert_int_equal(sonde_tiles_bins(tiles, lane->id, &view, &rows), 0);
		assert_int_equal(rows.all[0].from_ns, RECORDING_START_NS);
		assert_int_equal(rows.all[rows.count - 1].to_ns, RECORDING_START_NS + 200000000);
		for (size_t i = 0; i < rows.count; i++) {
			const struct sonde_tile_row *row = &rows.all[i];
			double length_ns = (double)(row->to_ns - row->from_ns);
			sum_ns += row->most * length_ns;
			assert_true(row->most > -1e-9 && row->most < 1 + 1e-9);
			assert_true(i + 1 == rows.count || length_ns >= 0.999 * 10e6);
		}
		assert_true(sum_ns > 99.999e6 && sum_ns < 100.001e6);
	}
	const struct sonde_tile_view part = {RECORDING_START_NS + 50000000, RECORDING_START_NS + 60000000, 100};
	assert_int_equal(sonde_tiles_bins(tiles, lane->id, &part, &rows), 0);
	assert_int_equal(rows.count, 1);
	assert_true(rows.all[0].most > 0.999999 && rows.all[0].most < 1.000001);
	sonde_tile_rows_fini(&rows);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
}

/* A total that was read twice within a tick: the rise between these readings belongs to the time before them. */
static void readings_that_are_near_are_taken_together(void **state)
{
	const uint64_t start = RECORDING_START_NS, ms = 1000000;
	(void)state;
	uint32_t process = begin_recording();
	uint32_t user = recording_series(&recording, SONDE_METRIC_CPU_USER, process, 0, "");
	recording_point(&recording, start, user, 0);
	recording_point(&recording, start + 100 * ms, user, (int64_t)(20 * ms));
	recording_point(&recording, start + 100 * ms + 1000, user, (int64_t)(50 * ms)); /* 30,000 s a second? */
	recording_point(&recording, start + 200 * ms + 1000, user, (int64_t)(60 * ms));
	recording_close(&recording, start + 300 * ms, 0);
	struct sonde_session *session = opened();
	struct sonde_tiles *tiles;
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	struct sonde_tile_rows rows = rows_of(tiles, lane_of(tiles, SONDE_TILE_SERIES, 0), 300 * ms);
	double rise = 0;
	assert_true(rows.count >= 2);
	for (size_t i = 0; i < rows.count; i++) {
		assert_true(rows.all[i].most < 0.51);
		rise += rows.all[i].most * (double)(rows.all[i].to_ns - rows.all[i].from_ns) / 1e9;
	}
	assert_true(rise > 0.0599 && rise < 0.0601);
	sonde_tile_rows_fini(&rows);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(zones_of_chunks_with_nodes),
	    cmocka_unit_test(zones_of_older_recordings),
	    cmocka_unit_test(nodes_are_those_of_the_zones),
	    cmocka_unit_test(nodes_may_be_anything),
	    cmocka_unit_test(bins_in_no_time),
	    cmocka_unit_test(lanes_at_once),
	    cmocka_unit_test(nothing_and_one),
	    cmocka_unit_test(recordings_grow),
	    cmocka_unit_test(slices_are_found_by_name_and_length),
	    cmocka_unit_test(every_kind),
	    cmocka_unit_test(cpu_time),
	    cmocka_unit_test(readings_that_are_near_are_taken_together),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
