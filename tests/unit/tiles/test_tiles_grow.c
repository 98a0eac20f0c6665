/* test_tiles_grow.c: tiles that are extended while a recording grows equal tiles made of the whole; and the bins
 * that a page keeps (web/src/timeline_store.ts), joined with the new ones, have the same counts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session_fixture.h"
#include "tiles/tiles.h"

enum { THREADS = 3, STEPS = 24, LANES = 400, LEVELS = 28 };

#define START start_ns
#define MS 1000000ull

static uint64_t start_ns; /* a file that is not closed has the true start */

static struct recording recording;
static uint64_t seed = 5;

static uint64_t any(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* --- a recording of all kinds, step by step ----------------------------------------------------------------------- */

struct growing {
	uint32_t process, stack, heap, heap_site, site[8], series[2];
	uint32_t threads, sites;
	int depth[THREADS + 2];
	uint64_t now_ns, spans, total;
	size_t open_block;
};

static void begin(struct growing *growing, int has_nodes)
{
	recording_open(&recording, path);
	struct sonde_session *session = opened();
	start_ns = sonde_session_run(session)->start_ns;
	sonde_session_close(session);
	*growing = (struct growing){.now_ns = START};
	recording.has_nodes = has_nodes;
	recording.chunk_rows = 300;
	growing->process = recording_process(&recording, 10, 0, "app", START);
	for (uint32_t i = 1; i <= THREADS; i++)
		growing->threads = recording_thread(&recording, growing->process, 9 + i, "app", START);
	for (uint32_t i = 0; i < 5; i++)
		growing->sites = recording_site(&recording, i == 4 ? SONDE_SITE_COUNTER : SONDE_SITE_ZONE,
						(const char *[]){"a", "b", "c", "d", "e"}[i], "");
	growing->stack = recording_node(&recording, 0, 0, 0x1000);
	growing->heap = recording_heap(&recording, growing->process, SONDE_HEAP_MALLOC, "");
	growing->heap_site = recording_heap_site(&recording, growing->heap, 1, growing->stack);
	growing->series[0] = recording_series(&recording, SONDE_METRIC_CPU_USER, growing->process, 0, "");
	growing->series[1] = recording_series(&recording, SONDE_METRIC_MEMORY_RSS, growing->process, 0, "");
	recording_flush(&recording);
}

static void grow_zones(struct growing *growing, uint32_t thread, uint64_t until_ns)
{
	uint64_t now_ns = growing->now_ns + any(1000);
	for (int *depth = &growing->depth[thread]; now_ns < until_ns; now_ns += any(50) ? 500 + any(2000) : any(MS)) {
		int begins = !*depth || (*depth < 70 && any(100) < 51);
		if (begins)
			recording_begin(&recording, thread, 1 + (uint32_t)any(growing->sites), now_ns);
		else
			recording_end(&recording, thread, now_ns);
		*depth += begins ? 1 : -1;
	}
}

static void grow_thread(struct growing *growing, uint32_t thread, uint64_t until_ns)
{
	uint64_t now_ns = growing->now_ns + thread;
	for (int i = 0; (now_ns += 50000 + any(200000)) < until_ns; i++) {
		const struct recording_wait wait = {.start_ns = now_ns - any(i % 9 ? 40000 : 3 * MS),
						    .dur_ns = any(40000),
						    .thread = thread,
						    .kind = (enum sonde_wait_kind)(1 + any(2)),
						    .stack = growing->stack};
		recording_switch(&recording, now_ns, thread, i % 2 ? SONDE_SWITCH_IN : SONDE_SWITCH_OUT_BLOCKED);
		if (now_ns > START + 4 * MS)
			recording_wait(&recording, wait);
		if (!any(4))
			recording_value(&recording, thread, SONDE_EVENT_COUNTER, 5, now_ns, (double)(i * 2));
		if (!any(4))
			recording_text(&recording, thread, SONDE_EVENT_MESSAGE, 0, now_ns, i % 3 ? "said" : "told");
		if (!any(3))
			recording_value(&recording, thread, SONDE_EVENT_ITERATION, 1, now_ns, 0);
		if (!any(5))
			recording_span(&recording, thread, SONDE_EVENT_SPAN_BEGIN, 2, now_ns, ++growing->spans);
		if (!any(5) && growing->spans)
			recording_span(&recording, thread, SONDE_EVENT_SPAN_END, 2, now_ns, 1 + any(growing->spans));
	}
}

static void grow_process(struct growing *growing, uint64_t until_ns)
{
	for (uint64_t now_ns = growing->now_ns + MS; now_ns < until_ns; now_ns += MS) {
		if (any(4))
			recording_sample(&recording, (struct recording_sample){now_ns, 1 + (uint32_t)any(THREADS),
									       growing->stack, MS, 0});
		recording_point(&recording, now_ns, growing->series[0], (int64_t)(growing->total += any(MS)));
		recording_point(&recording, now_ns, growing->series[1], (int64_t)any(1000000));
		size_t block = recording_begins(&recording, growing->heap_site, now_ns, 1 + any(1000));
		if (any(2))
			recording_ends(&recording, growing->heap, block, 1, now_ns + 1);
	}
}

/* Threads and sites appear late; some steps bring only zones, or nothing for a thread. */
static void grow(struct growing *growing, int step)
{
	uint64_t until_ns = growing->now_ns + 5 * MS;
	if (step == 6)
		growing->sites = recording_site(&recording, SONDE_SITE_ZONE, "late", "");
	if (step == 9)
		growing->threads = recording_thread(&recording, growing->process, 99, "late", growing->now_ns);
	for (uint32_t thread = 1; thread <= growing->threads; thread++) {
		if (!(thread == 2 && step % 5 == 2))
			grow_zones(growing, thread, until_ns);
		if (step % 4 != 3 && thread <= THREADS)
			grow_thread(growing, thread, until_ns);
	}
	if (step % 4 != 3)
		grow_process(growing, until_ns);
	growing->now_ns = until_ns + 1;
	recording_flush(&recording);
}

/* --- extended and made at once ------------------------------------------------------------------------------------ */

static void expect_rows(struct sonde_tiles *tiles, struct sonde_tiles *once, size_t lane,
			const struct sonde_tile_view *view)
{
	struct sonde_tile_rows rows = {0}, wanted = {0};
	int has_names = sonde_tiles_lane(once, lane)->form != SONDE_TILE_CURVE;
	assert_int_equal(sonde_tiles_bins(tiles, lane, view, &rows), 0);
	assert_int_equal(sonde_tiles_bins(once, lane, view, &wanted), 0);
	assert_int_equal(rows.count, wanted.count);
	for (size_t i = 0; i < rows.count; i++) {
		const struct sonde_tile_row *row = &rows.all[i], *other = &wanted.all[i];
		assert_int_equal(row->from_ns, other->from_ns);
		assert_int_equal(row->to_ns, other->to_ns);
		assert_int_equal(row->busy_ns, other->busy_ns);
		assert_true(row->most == other->most);
		assert_int_equal(row->many, other->many);
		if (has_names)
			assert_string_equal(sonde_tiles_name(tiles, row->name)->text,
					    sonde_tiles_name(once, other->name)->text);
	}
	sonde_tile_rows_fini(&rows);
	sonde_tile_rows_fini(&wanted);
}

static void expect_same(struct sonde_tiles *tiles, struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_tiles *once;
	assert_int_equal(sonde_tiles_open(&once, session), 0);
	assert_int_equal(sonde_tiles_lane_count(tiles), sonde_tiles_lane_count(once));
	for (size_t i = 0; i < sonde_tiles_lane_count(once); i++) {
		const struct sonde_tile_lane *lane = sonde_tiles_lane(tiles, i), *other = sonde_tiles_lane(once, i);
		assert_int_equal(lane->kind, other->kind);
		assert_int_equal(lane->form, other->form);
		assert_int_equal(lane->process, other->process);
		assert_int_equal(lane->thread, other->thread);
		assert_int_equal(lane->depth, other->depth);
		assert_int_equal(lane->count, other->count);
		assert_int_equal(lane->left_out, other->left_out);
		assert_true(lane->most == other->most);
		assert_string_equal(lane->title, other->title);
		for (uint32_t width = 1; width < 3000; width = 7 * width + 3) {
			uint64_t from_ns = run->start_ns + (width % 2 ? 0 : any(run->end_ns - run->start_ns));
			const struct sonde_tile_view view = {from_ns, run->end_ns + 1 + any(1000), width};
			expect_rows(tiles, once, i, &view);
		}
	}
	sonde_tiles_close(once);
}

/* --- what a page keeps -------------------------------------------------------------------------------------------- */

struct held {
	struct sonde_tile_rows rows;
	uint32_t id;
};

/* Earlier rows are kept up to here: the page's cutOf(). UINT64_MAX: all of them, and nothing is requested. */
static uint64_t cut_of(const struct sonde_tile_rows *rows, uint64_t changed_ns, uint64_t pixel_ns)
{
	size_t at = rows->count;
	if (changed_ns == UINT64_MAX || !rows->count || rows->all[at - 1].to_ns + 2 * pixel_ns < changed_ns)
		return changed_ns;
	while (at && rows->all[at - 1].from_ns > changed_ns)
		at--;
	while (at > 1 && rows->all[at - 2].from_ns == rows->all[at - 1].from_ns)
		at--;
	return at > 1 ? rows->all[at - 1].from_ns : 0;
}

struct sums {
	uint64_t many, busy_ns, from_ns, to_ns, rows;
	double least, most, area;
};

static void add(struct sums *sums, const struct sonde_tile_row *row, const struct sonde_tile_lane *lane)
{
	assert_true(row->from_ns >= sums->from_ns);
	sums->from_ns = row->from_ns;
	sums->to_ns = row->to_ns > sums->to_ns ? row->to_ns : sums->to_ns;
	sums->many += lane->kind == SONDE_TILE_CPU ? 0 : row->many;
	sums->rows++;
	if (lane->form != SONDE_TILE_CURVE) {
		sums->busy_ns += row->busy_ns;
		return;
	}
	sums->least = sums->rows == 1 || row->least < sums->least ? row->least : sums->least;
	sums->most = sums->rows == 1 || row->most > sums->most ? row->most : sums->most;
	sums->area += lane->kind == SONDE_TILE_CPU ? row->most * (double)(row->to_ns - row->from_ns) : 0;
}

/* Earlier rows before the cut, and later ones of a request that starts at the pixel before it. */
static size_t join(struct sonde_tiles *tiles, size_t lane, const struct held *held, uint64_t cut_ns, unsigned level,
		   struct sums *out)
{
	const struct sonde_tile_lane *of = sonde_tiles_lane(tiles, lane);
	struct sonde_tile_rows fresh = {0};
	uint64_t pixel_ns = 1ull << level, since_ns = cut_ns > START ? cut_ns - START : 0, first = since_ns / pixel_ns;
	size_t requested = 0;
	for (size_t i = 0; i < held->rows.count && held->rows.all[i].from_ns < cut_ns; i++)
		add(out, &held->rows.all[i], of);
	if (cut_ns == UINT64_MAX || first >= 512)
		return 0;
	const struct sonde_tile_view view = {START + first * pixel_ns, START + 512 * pixel_ns, (uint32_t)(512 - first)};
	assert_int_equal(sonde_tiles_bins(tiles, lane, &view, &fresh), 0);
	for (size_t i = 0; i < fresh.count; i++)
		if (fresh.all[i].from_ns >= cut_ns)
			add(out, &fresh.all[i], of);
	requested = fresh.count;
	sonde_tile_rows_fini(&fresh);
	return requested;
}

static struct sums whole_of(struct sonde_tiles *tiles, size_t lane, unsigned level)
{
	const struct sonde_tile_view view = {START, START + (512ull << level), 512};
	struct sonde_tile_rows rows = {0};
	struct sums sums = {0};
	assert_int_equal(sonde_tiles_bins(tiles, lane, &view, &rows), 0);
	for (size_t i = 0; i < rows.count; i++)
		add(&sums, &rows.all[i], sonde_tiles_lane(tiles, lane));
	sonde_tile_rows_fini(&rows);
	return sums;
}

static struct held held[LANES];
static size_t held_count;

static void hold(struct sonde_tiles *tiles, unsigned level)
{
	const struct sonde_tile_view view = {START, START + (512ull << level), 512};
	held_count = sonde_tiles_lane_count(tiles);
	assert_true(held_count <= LANES);
	for (size_t i = 0; i < held_count; i++)
		assert_int_equal(sonde_tiles_bins(tiles, i, &view, &held[i].rows), 0);
}

static void let_go(void)
{
	for (size_t i = 0; i < held_count; i++)
		sonde_tile_rows_fini(&held[i].rows);
	held_count = 0;
}

/* The number of rows requested instead of `*all`. */
static size_t expect_joined(struct sonde_tiles *tiles, uint64_t made, unsigned level, size_t *all)
{
	size_t requested = 0, found = 0;
	for (size_t i = 0; i < sonde_tiles_lane_count(tiles); i++) {
		struct sonde_tile_since since;
		assert_int_equal(sonde_tiles_since(tiles, made, i, &since), 0);
		if (since.id == UINT32_MAX)
			continue;
		assert_true(since.id < held_count);
		assert_int_equal(sonde_tiles_lane_now(tiles, made, since.id), i);
		const struct held *of = &held[since.id];
		struct sums sums = {0}, wanted = whole_of(tiles, i, level);
		requested += join(tiles, i, of, cut_of(&of->rows, since.changed_ns, 1ull << level), level, &sums);
		*all += wanted.rows;
		found++;
		assert_int_equal(sums.many, wanted.many);
		assert_int_equal(sums.busy_ns, wanted.busy_ns);
		assert_int_equal(sums.from_ns - wanted.from_ns < (1ull << level) ||
				     wanted.from_ns - sums.from_ns < (1ull << level),
				 1);
		assert_int_equal(sums.to_ns, wanted.to_ns);
		assert_true(sums.least == wanted.least && sums.most == wanted.most);
		double differ = sums.area - wanted.area;
		assert_true(differ < 1 && differ > -1);
	}
	assert_int_equal(found, held_count);
	return requested;
}

static void tiles_grow(int has_nodes)
{
	static const unsigned levels[] = {18, 20, 16, 22};
	struct growing growing;
	struct sonde_tiles *tiles;
	size_t requested = 0, all = 0;
	begin(&growing, has_nodes);
	grow(&growing, 0);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	for (int step = 1; step < STEPS; step++) {
		unsigned level = levels[step % 4];
		uint64_t made = sonde_tiles_made(tiles);
		hold(tiles, level);
		grow(&growing, step);
		assert_true(sonde_session_refresh(session) > 0);
		assert_false(sonde_tiles_is_current(tiles));
		assert_int_equal(sonde_tiles_extend(&tiles), 0);
		assert_true(sonde_tiles_is_current(tiles));
		assert_true(sonde_tiles_made(tiles) != made);
		expect_same(tiles, session);
		requested += expect_joined(tiles, made, level, &all);
		let_go();
	}
	print_message("asked for %zu rows instead of %zu\n", requested, all);
	assert_true(requested < all / 2);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
	recording_close(&recording, growing.now_ns, 0);
}

static void chunks_with_nodes(void **state)
{
	(void)state;
	tiles_grow(1);
}

static void older_recordings(void **state)
{
	(void)state;
	tiles_grow(0);
}

/* A page that asks rarely is told of all changes since; one that waits too long requests everything. */
static void makings_are_remembered(void **state)
{
	struct growing growing;
	struct sonde_tiles *tiles;
	struct sonde_tile_since since, all;
	uint64_t made[20];
	(void)state;
	begin(&growing, 1);
	grow(&growing, 0);
	struct sonde_session *session = opened();
	assert_int_equal(sonde_tiles_open(&tiles, session), 0);
	for (int step = 0; step < 20; step++) {
		made[step] = sonde_tiles_made(tiles);
		grow(&growing, step + 1);
		assert_true(sonde_session_refresh(session) > 0);
		assert_int_equal(sonde_tiles_extend(&tiles), 0);
	}
	assert_int_equal(sonde_tiles_since(tiles, made[3], 0, &since), -ESTALE);
	assert_int_equal(sonde_tiles_since(tiles, 0, 0, &since), -ESTALE);
	assert_int_equal(sonde_tiles_since(tiles, sonde_tiles_made(tiles), 3, &since), 0);
	assert_int_equal(since.id, 3);
	assert_true(since.changed_ns == UINT64_MAX);
	for (size_t lane = 0; lane < sonde_tiles_lane_count(tiles); lane++)
		for (int step = 4; step < 19; step++) {
			assert_int_equal(sonde_tiles_since(tiles, made[step], lane, &all), 0);
			assert_int_equal(sonde_tiles_since(tiles, made[step + 1], lane, &since), 0);
			assert_true(all.id == UINT32_MAX || all.changed_ns <= since.changed_ns);
		}
	assert_true(sonde_tiles_lane_now(tiles, made[3], 0) == SIZE_MAX);
	assert_true(sonde_tiles_lane_now(tiles, made[19], 100000) == SIZE_MAX);
	sonde_tiles_close(tiles);
	sonde_session_close(session);
	recording_close(&recording, growing.now_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chunks_with_nodes),
	    cmocka_unit_test(older_recordings),
	    cmocka_unit_test(makings_are_remembered),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
