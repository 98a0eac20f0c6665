/* test_streams.c: what the recorder's streams of threads write is what a session reads. */
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
#include "source/streams.h"
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
			sums.unfinished += batch->zone_flags[i] & SONDE_ZONE_UNFINISHED ? 1 : 0;
			sums.self_ns += batch->self_ns[i];
			sums.deepest = batch->depth[i] > sums.deepest ? batch->depth[i] : sums.deepest;
		}
	}
	sonde_cursor_close(cursor);
	return sums;
}

/* What the summaries say is what the bodies hold, also of the zones after those that were too deep. */
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

/* As rounds of the drain hand them on, with the depth reached in the middle of one. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(zones_that_are_too_deep_are_in_no_column, setup, teardown),
	    cmocka_unit_test_setup_teardown(batches_that_become_too_deep_are_cut, setup, teardown),
	    cmocka_unit_test_setup_teardown(ended_threads_leave_no_rows, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
