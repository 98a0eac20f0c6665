/* test_intervals.c: context switches as written, and the states of each thread, interval by interval. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sections.h"
#include "session/intervals.h"
#include "switches_fixture.h"

/* The columns as they were written, and what follows from them: the same states as of wake-ups with rows of their own.
 * Being woken at once is not the same as not knowing when. */
static void who_woke_whom(void **state)
{
	static const struct {
		uint64_t waited_ns;
		uint32_t by;
	} known[] = {{0, 0}, {3 * MS + 1, 1}, {0, 0}, {1, 0}, {0, 0}, {0, 0}};
	struct recording r;
	struct sonde_session *session;
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t at = 0;
	(void)state;
	pair_open(&r);
	recording_switch_on(&r, START + 10 * MS, 2, BLOCKS, 0);
	recording_switch_woken(&r, START + 20 * MS, 2, 1, 3 * MS, 1);
	recording_switch_on(&r, START + 30 * MS, 2, BLOCKS, 1);
	recording_switch_woken(&r, START + 35 * MS, 2, 1, 0, 0);
	recording_switch_on(&r, START + 40 * MS, 2, PREEMPTED, 1);
	recording_switch_on(&r, START + 45 * MS, 2, IN, 0);
	recording_close(&r, START + 100 * MS, 0);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SWITCHES), 0);
	while (sonde_cursor_next(cursor, &batch) > 0)
		for (size_t i = 0; i < batch->count; i++, at++) {
			assert_true(at < sizeof known / sizeof *known);
			assert_int_equal(batch->switches.waited_ns[i], known[at].waited_ns);
			assert_int_equal(batch->switches.by[i], known[at].by);
		}
	assert_int_equal(at, sizeof known / sizeof *known);
	sonde_cursor_close(cursor);
	sonde_session_close(session);
	struct sections s = sections_of(path, "threads", NULL);
	const struct sonde_section *threads = sections_get(&s, "threads");
	assert_int_equal(sections_int(threads, "thread", "worker", "on_cpu_ns"), 80 * MS);
	assert_int_equal(sections_int(threads, "thread", "worker", "runnable_ns"), 8 * MS);
	assert_int_equal(sections_int(threads, "thread", "worker", "blocked_ns"), 12 * MS);
	assert_int_equal(sections_int(threads, "thread", "worker", "unseen_ns"), 0);
	assert_int_equal(sections_int(threads, "thread", "worker", "unsure_ns"), 0);
	assert_int_equal(sections_int(threads, "thread", "worker", "wakeups"), 2);
	sections_free(&s);
}

struct seen {
	struct sonde_interval rows[16];
	size_t count;
	uint64_t end_ns[3]; /* by thread */
};

static int see(void *context, const struct sonde_interval *interval)
{
	struct seen *seen = context;
	assert_true(interval->thread < 3 && seen->count < 16);
	assert_int_equal(interval->from_ns, seen->end_ns[interval->thread]); /* without gap and overlap */
	assert_true(interval->to_ns >= interval->from_ns);
	seen->end_ns[interval->thread] = interval->to_ns;
	seen->rows[seen->count++] = *interval;
	return 0;
}

static void intervals_cover_a_life(void **state)
{
	static const struct {
		uint8_t state, unsure;
		uint32_t cpu;
		unsigned from_ms, to_ms;
	} known[] = {
	    {SONDE_INTERVAL_ON_CPU, 0, 1, 0, 10},    {SONDE_INTERVAL_BLOCKED, 1, 1, 10, 30},
	    {SONDE_INTERVAL_ON_CPU, 0, 1, 30, 40},   {SONDE_INTERVAL_RUNNABLE, 0, 1, 40, 45},
	    {SONDE_INTERVAL_ON_CPU, 0, 2, 45, 50},   {SONDE_INTERVAL_BLOCKED, 0, 2, 50, 70},
	    {SONDE_INTERVAL_RUNNABLE, 0, 2, 70, 71}, {SONDE_INTERVAL_UNSEEN, 0, 1, 71, 72},
	    {SONDE_INTERVAL_UNSEEN, 0, 1, 72, 80},   {SONDE_INTERVAL_ON_CPU, 0, 1, 80, 100},
	};
	struct recording r;
	struct sonde_session *session;
	struct sonde_intervals intervals;
	struct seen seen = {.end_ns = {0, START, START}};
	(void)state;
	pair_open(&r);
	worker_switches(&r);
	recording_switch_on(&r, START + 50 * MS, 2, BLOCKS, 1);
	recording_switch_on(&r, START + 70 * MS, 2, WOKEN, 0);
	recording_switch_on(&r, START + 71 * MS, 2, IN, 0);
	recording_switch_on(&r, START + 72 * MS, 2, IN, 0); /* what was between is lost: one after it, and one before */
	recording_switch_on(&r, START + 80 * MS, 2, IN, 0);
	recording_close(&r, START + 100 * MS, 0);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_intervals_walk(&intervals, session, see, &seen), 0);
	assert_true(intervals.has_switches && intervals.has_wakeups);
	size_t at = 0;
	for (size_t i = 0; i < seen.count; i++) {
		const struct sonde_interval *row = &seen.rows[i];
		if (row->thread != 2)
			continue;
		assert_int_equal(row->state, known[at].state);
		assert_int_equal(row->unsure, known[at].unsure);
		assert_int_equal(row->cpu, known[at].cpu);
		assert_int_equal(row->from_ns, START + known[at].from_ms * MS);
		assert_int_equal(row->to_ns, START + known[at].to_ms * MS);
		at++;
	}
	assert_int_equal(at, sizeof known / sizeof *known);
	assert_int_equal(seen.end_ns[1], START + 100 * MS); /* never switched: one that is unseen */
	assert_int_equal(seen.count, at + 1);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(who_woke_whom),
	    cmocka_unit_test(intervals_cover_a_life),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
