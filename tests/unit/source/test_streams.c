/* test_streams.c: a session reads the same data that the recorder's per-thread streams wrote. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "session/session.h"
#include "source/record/streams.h"
#include "trace/writer.h"

enum { PROCESS = 1, SITE = 1 };

struct fixture {
	char path[64];
	struct sonde_writer *writer;
	struct sonde_streams streams;
	struct sonde_session *session;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	strcpy(fixture->path, "/tmp/sonde-streams-XXXXXX");
	close(mkstemp(fixture->path));
	struct sonde_writer_options options = {.overwrite = 1};
	assert_int_equal(sonde_writer_open(&fixture->writer, fixture->path, &options), 0);
	sonde_streams_init(&fixture->streams, fixture->writer);
	struct sonde_meta_site site = {.head.type = SONDE_META_SITE, .id = SITE, .kind = SONDE_SITE_ZONE};
	sonde_writer_meta(fixture->writer, &site, sizeof site, NULL, 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	sonde_session_close(fixture->session);
	unlink(fixture->path);
	free(fixture);
	return 0;
}

static void name_threads(struct fixture *fixture, uint32_t count)
{
	struct sonde_meta_thread thread = {.head.type = SONDE_META_THREAD, .process = PROCESS};
	for (thread.id = 1; thread.id <= count; thread.id++)
		sonde_writer_meta(fixture->writer, &thread, sizeof thread, NULL, 0);
}

static struct sonde_session *reopen(struct fixture *fixture)
{
	assert_int_equal(sonde_streams_flush(&fixture->streams), 0);
	sonde_streams_fini(&fixture->streams);
	assert_int_equal(sonde_writer_close(fixture->writer), 0);
	struct sonde_session_options options = {.no_symbols = 1};
	assert_int_equal(sonde_session_open(&fixture->session, fixture->path, &options), 0);
	return fixture->session;
}

struct sums {
	uint64_t count, unfinished, self_ns, deepest;
};

static struct sums read_zones(struct sonde_session *session)
{
	struct sums sums = {0};
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_ZONES), 0);
	while (sonde_cursor_next(cursor, &batch) == 1) {
		sums.count += batch->count;
		for (size_t i = 0; i < batch->count; i++) {
			sums.unfinished += batch->zones.flags[i] & SONDE_ZONE_UNFINISHED ? 1 : 0;
			sums.self_ns += batch->zones.self_ns[i];
			sums.deepest = batch->zones.depth[i] > sums.deepest ? batch->zones.depth[i] : sums.deepest;
		}
	}
	sonde_cursor_close(cursor);
	return sums;
}

/* Summaries agree with bodies, also for zones after others that were too deep. */
static void zones_that_are_too_deep_are_in_no_column(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t deep = SONDE_ZONES_OPEN_MAX + 1500;
	uint64_t time_ns = 1000;
	name_threads(fixture, 1);
	for (uint32_t i = 0; i < 2 * deep + 2; i++, time_ns++) {
		uint32_t site = i < deep || i == 2 * deep ? SITE : 0;
		assert_int_equal(sonde_streams_zones(&fixture->streams, PROCESS, 1, &site, &time_ns, 1), 0);
	}
	struct sonde_session *session = reopen(fixture);
	struct sums sums = read_zones(session);
	assert_int_equal(sums.count, SONDE_ZONES_OPEN_MAX + 1);
	assert_int_equal(sums.unfinished, 0);
	assert_int_equal(sums.deepest, SONDE_ZONES_OPEN_MAX - 1);
	assert_int_equal(sums.self_ns, 2 * deep - 1 + 1);
	struct sonde_zone_stat stats[SITE + 1];
	assert_int_equal(sonde_session_zone_stats(session, stats), 0);
	assert_int_equal(stats[SITE].count, SONDE_ZONES_OPEN_MAX + 1);
	assert_int_equal(stats[SITE].self_ns, sums.self_ns);
	assert_int_equal(stats[SITE].max_ns, 2 * deep - 1);
	assert_int_equal(sonde_session_zones_unmatched(session), 0);
}

/* As a drain passes them on, with the depth reached in the middle of one. */
static void batches_that_become_too_deep_are_cut(void **state)
{
	struct fixture *fixture = *state;
	static uint32_t sites[4000];
	static uint64_t times_ns[4000];
	uint64_t time_ns = 1000;
	name_threads(fixture, 1);
	for (uint32_t turns = 0; turns < 2; turns++)
		for (uint32_t begun = 0; begun < 68000; begun += 4000) {
			for (uint32_t i = 0; i < 4000; i++) {
				sites[i] = turns ? 0 : SITE;
				times_ns[i] = time_ns++;
			}
			assert_int_equal(sonde_streams_zones(&fixture->streams, PROCESS, 1, sites, times_ns, 4000), 0);
		}
	struct sums sums = read_zones(reopen(fixture));
	assert_int_equal(sums.count, SONDE_ZONES_OPEN_MAX);
	assert_int_equal(sums.unfinished, 0);
	assert_int_equal(sums.self_ns, 2 * 68000 - 1);
}

/* The rows of threads that ended are gone, but for those with zones open: the thread may execute another program. */
static void ended_threads_leave_no_rows(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_streams *streams = &fixture->streams;
	const uint32_t sites[] = {SITE, SITE, 0, 0};
	const uint64_t times_ns[] = {100, 110, 130, 200};
	struct sonde_event_value value = {.head = {SONDE_EVENT_GAUGE, sizeof value / 8, SITE, 150}};
	name_threads(fixture, 20000);
	for (uint32_t thread = 20000; thread > 10000; thread--) { /* in any order */
		assert_int_equal(sonde_streams_zones(streams, PROCESS, thread, sites, times_ns, 4), 0);
		assert_int_equal(sonde_streams_event(streams, PROCESS, thread, &value.head), 0);
	}
	assert_int_equal(streams->count, 10000);
	for (uint32_t thread = 10001; thread <= 20000; thread++)
		assert_int_equal(sonde_streams_end(streams, thread), 0);
	assert_int_equal(streams->count, 0);
	for (uint32_t thread = 1; thread <= 10000; thread++) {
		assert_int_equal(sonde_streams_zones(streams, PROCESS, thread, sites, times_ns, 4), 0);
		assert_int_equal(sonde_streams_end(streams, thread), 0);
		assert_int_equal(streams->count, 0);
	}
	assert_int_equal(sonde_streams_zones(streams, PROCESS, 7, sites, times_ns, 3),
			 0); /* the outer one stays open */
	assert_int_equal(sonde_streams_end(streams, 7), 0);
	assert_int_equal(streams->count, 1);
	assert_int_equal(sonde_streams_end(streams, 8), 0); /* not there: nothing to do */
	const uint64_t more_ns[] = {300, 310, 330, 400};
	assert_int_equal(sonde_streams_zones(streams, PROCESS, 7, sites, more_ns, 4), 0);
	struct sums sums = read_zones(reopen(fixture));
	assert_int_equal(sums.count, 2 * 20000 + 1 + 2 + 1);
	assert_int_equal(sums.unfinished, 1);
	assert_int_equal(sums.deepest, 2);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

enum { NODE_ZONES = 256, NODE_DEPTHS = 64 };

struct nodes_seen {
	struct sonde_session *session;
	struct sonde_cursor *cursor;
	size_t chunks, nodes;
	uint64_t zones;
};

/* The node of the zones of a depth from the `from`-th on, up to 128 of them: how many. */
static uint32_t make_node(const struct sonde_batch *batch, uint32_t depth, uint32_t from, struct sonde_zone_node *out)
{
	uint32_t at = 0;
	*out = (struct sonde_zone_node){.depth = depth};
	for (size_t i = 0; i < batch->count && out->count < NODE_ZONES; i++) {
		uint64_t dur_ns = batch->zones.dur_ns[i];
		if (batch->zones.depth[i] != depth || at++ < from)
			continue;
		if (!out->count++)
			out->from_ns = batch->zones.start_ns[i];
		out->to_ns = batch->zones.start_ns[i] + dur_ns;
		out->busy_ns += dur_ns;
		out->site = dur_ns > out->longest_ns || out->count == 1 ? batch->zones.site[i] : out->site;
		out->longest_ns = dur_ns > out->longest_ns ? dur_ns : out->longest_ns;
	}
	return out->count;
}

static int expect_nodes(void *context, const struct sonde_zone_chunk *chunk)
{
	struct nodes_seen *seen = context;
	const struct sonde_batch *batch;
	uint32_t from[NODE_DEPTHS] = {0};
	uint64_t deeper = 0;
	assert_false(chunk->is_damaged);
	assert_true(chunk->has_nodes);
	assert_int_equal(sonde_cursor_zones(seen->cursor, chunk->chunk, &batch), 1);
	for (size_t i = 0; i < chunk->node_count; i++) {
		const struct sonde_zone_node *node = &chunk->nodes[i];
		struct sonde_zone_node expected;
		from[node->depth] += make_node(batch, node->depth, from[node->depth], &expected);
		assert_memory_equal(node, &expected, offsetof(struct sonde_zone_node, count) + sizeof expected.count);
	}
	for (size_t i = 0; i < batch->count; i++) {
		deeper += batch->zones.depth[i] >= NODE_DEPTHS;
		if (batch->zones.depth[i] < NODE_DEPTHS)
			from[batch->zones.depth[i]]--;
	}
	for (size_t depth = 0; depth < NODE_DEPTHS; depth++) /* all are in a node */
		assert_int_equal(from[depth], 0);
	assert_int_equal(chunk->deeper, deeper);
	seen->chunks++;
	seen->nodes += chunk->node_count;
	seen->zones += batch->count;
	return 0;
}

/* Runs of short zones and deep ones, in batches of any size; times that stand still or go back count as no time. */
static void nodes_are_what_the_zones_make(void **state)
{
	struct fixture *fixture = *state;
	static uint32_t sites[3000];
	static uint64_t times_ns[3000];
	uint64_t seed = 1, time_ns = 1000000, depth = 0;
	int begun = 0;
	name_threads(fixture, 1);
	for (int round = 0; round < 300; round++) {
		size_t count = 1 + (size_t)(round * 37 % 2999);
		for (size_t i = 0; i < count; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			uint64_t any = seed >> 33, usual = round % 50 == 7 ? 70 : 5;
			int is_run = round % 3 == 0;
			int begins = depth == 0 || (is_run ? !begun : any % 100 < (depth < usual ? 60u : 40u));
			sites[i] = begins ? SITE : 0;
			depth += begins ? 1 : UINT64_MAX;
			begun = begins;
			time_ns += any % 50 ? any % 300 : any % 3000000;
			times_ns[i] = any % 500 ? time_ns : time_ns - 200;
		}
		assert_int_equal(sonde_streams_zones(&fixture->streams, PROCESS, 1, sites, times_ns, count), 0);
		if (round % 50 == 0)
			assert_int_equal(sonde_streams_flush(&fixture->streams), 0);
	}
	struct nodes_seen seen = {.session = reopen(fixture)};
	assert_int_equal(sonde_cursor_open(&seen.cursor, seen.session, 1u << SONDE_CHUNK_ZONES), 0);
	assert_int_equal(sonde_session_zone_chunks(seen.session, expect_nodes, &seen), 0);
	sonde_cursor_close(seen.cursor);
	assert_true(seen.chunks > 6 && seen.nodes > seen.zones / 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(zones_that_are_too_deep_are_in_no_column, setup, teardown),
	    cmocka_unit_test_setup_teardown(batches_that_become_too_deep_are_cut, setup, teardown),
	    cmocka_unit_test_setup_teardown(ended_threads_leave_no_rows, setup, teardown),
	    cmocka_unit_test_setup_teardown(nodes_are_what_the_zones_make, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
