/* test_analyze_threads.c: thread states, from context switches, from polled counters, and from both. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sections.h"
#include "switches_fixture.h"

static struct sections threads_of(const struct sonde_pass_options *options)
{
	return sections_of(path, "threads", options);
}

/* A column of a thread, in ms. */
static double ms_of(const struct sections *s, const char *thread, const char *column)
{
	return (double)sections_int(sections_get(s, "threads"), "thread", thread, column) / 1e6;
}

static uint64_t count_of(const struct sections *s, const char *thread, const char *column)
{
	return sections_int(sections_get(s, "threads"), "thread", thread, column);
}

static int is_absent(const struct sections *s, const char *thread, const char *column)
{
	const struct sonde_section *t = sections_get(s, "threads");
	return sections_cell(t, sections_row(t, "thread", thread), column)->kind == SONDE_CELL_ABSENT;
}

static void assert_states(const struct sections *s, const char *thread, double on_ms, double runnable_ms,
			  double blocked_ms, double unseen_ms)
{
	assert_near(ms_of(s, thread, "on_cpu_ns"), on_ms, 1e-9);
	assert_near(ms_of(s, thread, "runnable_ns"), runnable_ms, 1e-9);
	assert_near(ms_of(s, thread, "blocked_ns"), blocked_ms, 1e-9);
	assert_near(ms_of(s, thread, "unseen_ns"), unseen_ms, 1e-9);
	assert_near(ms_of(s, thread, "life_ns"), on_ms + runnable_ms + blocked_ms + unseen_ms, 1e-9);
}

static void states_add_up_to_a_life(void **state)
{
	(void)state;
	struct recording r;
	pair_open(&r);
	recording_thread(&r, 1, 102, "late", START + 50 * MS);
	recording_info(&r, "host.cpus", "2");
	worker_switches(&r);
	recording_switch_on(&r, START + 53 * MS, 3, IN, 1); /* waited since it was created */
	recording_switch_on(&r, START + 99 * MS, 3, BLOCKS, 1);
	recording_thread_end(&r, 2, START + 100 * MS, 75 * MS);
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = threads_of(NULL);
	assert_states(&s, "worker", 75, 5, 20, 0);
	assert_near(sections_real(sections_get(&s, "threads"), "thread", "worker", "on_cpu_share"), 0.75, 1e-9);
	assert_int_equal(count_of(&s, "worker", "voluntary_switches"), 1);
	assert_int_equal(count_of(&s, "worker", "involuntary_switches"), 1);
	assert_int_equal(count_of(&s, "worker", "wakeups"), 1);
	assert_int_equal(count_of(&s, "worker", "migrations"), 1);
	assert_states(&s, "late", 46, 3, 101, 0); /* blocked until the recording ends */
	assert_true(is_absent(&s, "prog", "on_cpu_share"));
	assert_true(is_absent(&s, "prog", "migrations"));
	const struct sonde_note *notes = sections_get(&s, "threads")->notes;
	assert_true(sections_noted(notes, "3 threads, at most 3 at a time"));
	assert_true(sections_noted(notes, "counts as blocked until it gets a CPU"));
	sections_free(&s);
	/* A part: blocked, 10 ms on a CPU, 5 ms of waiting, and 5 on the other. */
	s = threads_of(
	    &(struct sonde_pass_options){.selection.from_ns = START + 20 * MS, .selection.to_ns = START + 50 * MS});
	assert_states(&s, "worker", 15, 5, 10, 0);
	assert_int_equal(count_of(&s, "worker", "voluntary_switches"), 0);
	assert_int_equal(count_of(&s, "worker", "migrations"), 1);
	assert_near(ms_of(&s, "late", "life_ns"), 0, 0);
	sections_free(&s);
}

/* Two switches of the same kind in a row: the switch between them was lost. */
static void lost_switches_leave_time_unseen(void **state)
{
	(void)state;
	struct recording r;
	pair_open(&r);
	recording_switch(&r, START + 10 * MS, 2, BLOCKS);
	recording_switch(&r, START + 20 * MS, 2, IN);
	recording_switch(&r, START + 50 * MS, 2, IN);
	recording_switch(&r, START + 60 * MS, 2, PREEMPTED);
	recording_switch(&r, START + 90 * MS, 2, BLOCKS);
	recording_lost(&r, "cpu", "perf event buffer full", 3);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = threads_of(NULL);
	assert_states(&s, "worker", 20, 0, 20, 60);
	assert_true(is_absent(&s, "worker", "migrations")); /* an older recording: no CPUs */
	assert_int_equal(count_of(&s, "worker", "wakeups"), 1);
	const struct sonde_note *notes = sections_get(&s, "threads")->notes;
	assert_true(sections_noted(notes, "80.0 % of the threads' time is unknown"));
	sections_free(&s);
}

/* What an existing thread did before its first switch is unknown; so is what a flight recorder dropped. */
static void what_was_before_is_not_guessed(void **state)
{
	(void)state;
	struct recording r;
	pair_open(&r);
	recording_info(&r, "run.attached_pid", "100");
	recording_switch(&r, START + 40 * MS, 2, IN);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = threads_of(NULL);
	assert_states(&s, "worker", 60, 0, 40, 0); /* off a CPU */
	sections_free(&s);
	pair_open(&r);
	recording_info(&r, "option.keep_ns", "60000000");
	recording_switch(&r, START + 40 * MS, 2, IN);
	recording_switch(&r, START + 70 * MS, 2, BLOCKS);
	recording_close(&r, START + 100 * MS, 0);
	s = threads_of(NULL);
	assert_states(&s, "worker", 30, 0, 30, 40);
	sections_free(&s);
}

/* The series of a thread, and a reading of both. */
static uint32_t readings_open(struct recording *r, uint32_t thread)
{
	uint32_t time = recording_series(r, SONDE_METRIC_CPU_TIME, 1, thread, "");
	recording_series(r, SONDE_METRIC_CPU_RUNNABLE, 1, thread, "");
	return time;
}

static void reading(struct recording *r, uint32_t series, uint64_t time_ns, int64_t ran_ns, int64_t waited_ns)
{
	recording_point(r, time_ns, series, ran_ns);
	recording_point(r, time_ns, series + 1, waited_ns);
}

/* Of the 20 ms off the CPU the scheduler knows 8 as waiting: it was woken after 12. Preemption is not counted twice,
 * also when a reading falls into it: it knows only of waits that are over. */
static void readings_tell_waiting_after_waking(void **state)
{
	(void)state;
	for (int in_preemption = 0; in_preemption < 2; in_preemption++) {
		struct recording r;
		pair_open(&r);
		uint32_t series = readings_open(&r, 2);
		worker_switches(&r);
		reading(&r, series, START, 0, 0);
		if (in_preemption)
			reading(&r, series, START + 43 * MS, 19 * MS, 8 * MS);
		else
			reading(&r, series, START + 90 * MS, 60 * MS, 13 * MS);
		recording_close(&r, START + 100 * MS, 0);
		struct sections s = threads_of(NULL);
		assert_states(&s, "worker", 75, 13, 12, 0);
		const struct sonde_note *notes = sections_get(&s, "threads")->notes;
		assert_false(sections_noted(notes, "counts as blocked"));
		assert_false(sections_noted(notes, "may be waiting for a CPU"));
		/* 65 ms on a CPU until then, of which the thread's clock has 60. */
		assert_int_equal(sections_noted(notes, "interrupts"), 0);
		sections_free(&s);
	}
}

static void blocked_time_without_a_reading_is_unsure(void **state)
{
	(void)state;
	struct recording r;
	pair_open(&r);
	uint32_t series = readings_open(&r, 2);
	worker_switches(&r);
	recording_switch_on(&r, START + 60 * MS, 2, BLOCKS, 1);
	reading(&r, series, START, 0, 0);
	reading(&r, series, START + 50 * MS, 25 * MS, 13 * MS);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = threads_of(NULL);
	assert_states(&s, "worker", 35, 13, 52, 0);
	assert_true(sections_noted(sections_get(&s, "threads")->notes, "up to 0.040 s"));
	sections_free(&s);
}

/* If a wake-up is known, the thread waits for a CPU from then on, and readings add nothing. A wake-up of a thread that
 * runs, or that already waits for a CPU, does not count. */
static void wake_ups_say_when_waiting_begins(void **state)
{
	(void)state;
	for (int with_readings = 0; with_readings < 2; with_readings++) {
		struct recording r;
		pair_open(&r);
		uint32_t series = with_readings ? readings_open(&r, 2) : 0;
		recording_switch_on(&r, START + 5 * MS, 2, WOKEN, 0); /* the first row: it was created, and waits */
		recording_switch_on(&r, START + 6 * MS, 2, IN, 0);
		recording_switch_on(&r, START + 8 * MS, 2, WOKEN, 0);
		recording_switch_on(&r, START + 10 * MS, 2, BLOCKS, 0);
		recording_switch_on(&r, START + 22 * MS, 2, WOKEN, 1);
		recording_switch_on(&r, START + 24 * MS, 2, WOKEN, 1);
		recording_switch_on(&r, START + 30 * MS, 2, IN, 0);
		recording_switch_on(&r, START + 40 * MS, 2, PREEMPTED, 0);
		recording_switch_on(&r, START + 42 * MS, 2, WOKEN, 0);
		recording_switch_on(&r, START + 45 * MS, 2, IN, 1);
		recording_switch_on(&r, START + 90 * MS, 2, BLOCKS, 1);
		if (with_readings) {
			reading(&r, series, START, 0, 0);
			reading(&r, series, START + 80 * MS, 49 * MS, 19 * MS);
		}
		recording_close(&r, START + 100 * MS, 0);
		struct sections s = threads_of(NULL);
		assert_states(&s, "worker", 59, 19, 22, 0);
		assert_int_equal(count_of(&s, "worker", "unsure_ns"), 0);
		assert_int_equal(count_of(&s, "worker", "wakeups"), 1); /* being created is none */
		assert_int_equal(count_of(&s, "worker", "voluntary_switches"), 2);
		assert_int_equal(count_of(&s, "worker", "migrations"), 1);
		assert_false(sections_noted(sections_get(&s, "threads")->notes, "counts as blocked"));
		sections_free(&s);
	}
}

static void put_wait(struct recording *r, enum sonde_wait_kind kind, uint64_t from_ms, uint64_t to_ms)
{
	recording_wait(
	    r, (struct recording_wait){
		   .start_ns = START + from_ms * MS, .dur_ns = (to_ms - from_ms) * MS, .thread = 2, .kind = kind});
}

/* Blocked for 20 ms of which a lock has 8, with 3 of a read within it, that a handler made, and sleep 5; then for 30,
 * with a call that began before it and another that goes on after it. Running in a call is not being blocked. */
static void calls_explain_blocked_time(void **state)
{
	(void)state;
	for (int with_readings = 0; with_readings < 2; with_readings++) {
		struct recording r;
		pair_open(&r);
		uint32_t series = with_readings ? readings_open(&r, 2) : 0;
		recording_switch(&r, START + 10 * MS, 2, BLOCKS);
		recording_switch(&r, START + 30 * MS, 2, IN);
		recording_switch(&r, START + 50 * MS, 2, BLOCKS);
		recording_switch(&r, START + 80 * MS, 2, IN);
		put_wait(&r, SONDE_WAIT_POLL, 75, 90); /* in no order */
		put_wait(&r, SONDE_WAIT_HELD, 0, 100); /* no waiting */
		put_wait(&r, SONDE_WAIT_READ, 14, 17);
		put_wait(&r, SONDE_WAIT_MUTEX, 12, 20);
		put_wait(&r, SONDE_WAIT_SLEEP, 20, 25);
		put_wait(&r, SONDE_WAIT_JOIN, 45, 60);
		put_wait(&r, SONDE_WAIT_WRITE, 31, 40);
		if (with_readings) { /* it was woken 10 ms before it had a CPU, in all: a fifth */
			reading(&r, series, START, 0, 0);
			reading(&r, series, START + 95 * MS, 45 * MS, 10 * MS);
		}
		recording_close(&r, START + 100 * MS, 0);
		struct sections s = threads_of(NULL);
		const struct sonde_section *t = sections_get(&s, "threads");
		double part = with_readings ? 0.8 : 1;
		assert_near(ms_of(&s, "worker", "blocked_ns"), 50 * part, 1e-9);
		assert_near(ms_of(&s, "worker", "explained_ns"), 28 * part, 1e-9);
		assert_near(ms_of(&s, "worker", "unexplained_ns"), 22 * part, 1e-9);
		assert_near(ms_of(&s, "worker", "blocked_locks_ns"), 5 * part, 1e-9);
		assert_near(ms_of(&s, "worker", "blocked_io_ns"), 3 * part, 1e-9);
		assert_near(ms_of(&s, "worker", "blocked_time_ns"), 10 * part, 1e-9);
		assert_near(ms_of(&s, "worker", "blocked_tasks_ns"), 10 * part, 1e-9);
		assert_near(sections_real(t, "thread", "worker", "explained_share"), 0.56, 1e-9);
		assert_string_equal(sections_cell(t, sections_row(t, "thread", "worker"), "blocked_in")->text,
				    "join 20 %, mutex 10 %, sleep 10 %, other calls 16 %, unknown 44 %");
		assert_true(is_absent(&s, "prog", "explained_ns"));
		assert_true(sections_noted(t->notes, "(56.0 %): join 20 %"));
		sections_free(&s);
	}
	/* A part of the recording, and one without calls. */
	struct recording r;
	struct sections s = threads_of(
	    &(struct sonde_pass_options){.selection.from_ns = START + 15 * MS, .selection.to_ns = START + 22 * MS});
	assert_near(ms_of(&s, "worker", "explained_ns"), 7, 0);
	assert_near(ms_of(&s, "worker", "blocked_ns"), 7, 0);
	sections_free(&s);
	pair_open(&r);
	worker_switches(&r);
	recording_close(&r, START + 100 * MS, 0);
	s = threads_of(NULL);
	assert_true(is_absent(&s, "worker", "explained_ns"));
	sections_free(&s);
}

/* Without switches. A thread that begins with a reading of 0 is known from its start, one that was there before from
 * its first reading; after the last one only the clock that was read at the end is known. */
static void readings_alone(void **state)
{
	(void)state;
	struct recording r;
	pair_open(&r);
	uint32_t series = readings_open(&r, 2);
	uint32_t voluntary = recording_series(&r, SONDE_METRIC_SWITCHES_VOLUNTARY, 1, 2, "");
	uint32_t involuntary = recording_series(&r, SONDE_METRIC_SWITCHES_INVOLUNTARY, 1, 2, "");
	uint32_t old = readings_open(&r, 1);
	reading(&r, series, START, 0, 0);
	recording_point(&r, START, voluntary, 0);
	recording_point(&r, START, involuntary, 0);
	reading(&r, old, START + 10 * MS, 500 * MS, 700 * MS);
	reading(&r, series, START + 80 * MS, 30 * MS, 10 * MS);
	recording_point(&r, START + 80 * MS, voluntary, 7);
	recording_point(&r, START + 80 * MS, involuntary, 3);
	reading(&r, old, START + 90 * MS, 520 * MS, 740 * MS);
	recording_thread_end(&r, 2, START + 100 * MS, 35 * MS);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = threads_of(NULL);
	assert_states(&s, "worker", 35, 10, 40, 15);
	assert_states(&s, "prog", 20, 40, 20, 20);
	assert_int_equal(count_of(&s, "worker", "voluntary_switches"), 7);
	assert_int_equal(count_of(&s, "worker", "involuntary_switches"), 3);
	assert_true(is_absent(&s, "worker", "migrations"));
	assert_true(is_absent(&s, "prog", "voluntary_switches"));
	const struct sonde_note *notes = sections_get(&s, "threads")->notes;
	assert_true(sections_noted(notes, "they cover 82.5 % of the threads' time"));
	assert_true(sections_noted(notes, "2 threads were seen"));
	sections_free(&s);
	/* A part, between readings: what lies outside them is unseen. */
	s = threads_of(
	    &(struct sonde_pass_options){.selection.from_ns = START + 5 * MS, .selection.to_ns = START + 95 * MS});
	assert_states(&s, "worker", 0, 0, 0, 90);
	assert_states(&s, "prog", 20, 40, 20, 10);
	sections_free(&s);
}

static void nothing_is_said_of_a_kernel_that_does_not_count(void **state)
{
	(void)state;
	struct recording r;
	pair_open(&r);
	recording_source(&r, "threads", SONDE_SOURCE_UNAVAILABLE, "", "this kernel does not count", 0);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = threads_of(NULL);
	assert_null(sections_find(&s, "threads"));
	sections_free(&s);
	s = threads_of(&(struct sonde_pass_options){.requested = 1});
	const struct sonde_section *t = sections_get(&s, "threads");
	assert_string_equal(sections_cell(t, t->table.cells, "on_cpu_share")->text, "this kernel does not count");
	sections_free(&s);
}

/* Two threads on one CPU of a machine with two: each waits for half of its time. */
static void the_most_telling_fact(void **state)
{
	(void)state;
	struct recording r;
	pair_open(&r);
	recording_info(&r, "host.cpus", "2");
	recording_info(&r, "run.cpus", "1");
	for (uint64_t ms = 0; ms < 100; ms += 10) {
		recording_switch_on(&r, START + ms * MS, 1 + ms / 10 % 2, IN, 0);
		recording_switch_on(&r, START + (ms + 10) * MS, 1 + ms / 10 % 2, PREEMPTED, 0);
	}
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = threads_of(NULL);
	assert_states(&s, "worker", 50, 50, 0, 0);
	assert_true(sections_noted(sections_get(&s, "threads")->notes,
				   "2 threads wait 50 % of their time for a CPU (usable CPUs: 1)"));
	sections_free(&s);
	/* One of three threads does all the work. */
	pair_open(&r);
	recording_thread(&r, 1, 102, "idle", START);
	recording_switch(&r, START + 1 * MS, 3, BLOCKS);
	recording_switch(&r, START + 4 * MS, 1, BLOCKS);
	recording_switch(&r, START + 5 * MS, 1, IN);
	recording_switch(&r, START + 6 * MS, 1, BLOCKS);
	recording_switch(&r, START + 95 * MS, 2, BLOCKS);
	recording_close(&r, START + 100 * MS, 0);
	s = threads_of(NULL);
	assert_true(sections_noted(sections_get(&s, "threads")->notes,
				   "one of 3 threads does 94 % of the work: worker (tid 101) is on a CPU for 95 %"));
	sections_free(&s);
	s = threads_of(&(struct sonde_pass_options){.sort = SONDE_SORT_COUNT});
	const struct sonde_section *t = sections_get(&s, "threads");
	assert_string_equal(sections_cell(t, t->table.cells, "thread")->text, "prog"); /* it was switched most */
	sections_free(&s);
}

/* 30 threads with one name, and 20 rows: the table has the total of all, and a table of its own has them in one row. */
static void many_threads_are_summed_by_name(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	for (uint32_t i = 0; i < 30; i++) {
		char name[16];
		snprintf(name, sizeof name, "worker-%u", i);
		recording_thread(&r, 1, 200 + i, name, START);
	}
	for (uint32_t i = 0; i < 30; i++)
		recording_switch_on(&r, START + (1 + i) * MS, 2 + i, BLOCKS, 0);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = threads_of(NULL);
	const struct sonde_section *t = sections_get(&s, "thread-names");
	assert_int_equal(sections_int(t, "name", "worker-*", "threads"), 30);
	assert_int_equal(sections_int(t, "name", "worker-*", "on_cpu_ns"), 465 * MS);
	assert_int_equal(sections_int(t, "name", "worker-*", "voluntary_switches"), 30);
	assert_near(sections_real(t, "name", "worker-*", "on_cpu_share"), 0.155, 1e-9);
	assert_near(sections_real(t, "name", "worker-*", "blocked_share"), 0.845, 1e-9);
	assert_int_equal(sections_get(&s, "threads")->table.row_count, 20);
	assert_int_equal(sections_get(&s, "threads")->table.omitted, 11);
	assert_near(ms_of(&s, "worker-29", "on_cpu_ns"), 30, 1e-9); /* sorted by it */
	sections_free(&s);
	struct sonde_session *session;
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	uint8_t *only = calloc(sonde_session_thread_count(session) + 1, 1);
	only[5] = 1;
	sonde_session_close(session);
	s = threads_of(&(struct sonde_pass_options){.selection.thread = only, .thread_is = "1 thread"});
	assert_null(sections_find(&s, "thread-names"));
	assert_int_equal(sections_get(&s, "threads")->table.row_count, 1);
	assert_near(ms_of(&s, "worker-3", "on_cpu_ns"), 4, 1e-9);
	free(only);
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(states_add_up_to_a_life),
	    cmocka_unit_test(lost_switches_leave_time_unseen),
	    cmocka_unit_test(what_was_before_is_not_guessed),
	    cmocka_unit_test(readings_tell_waiting_after_waking),
	    cmocka_unit_test(blocked_time_without_a_reading_is_unsure),
	    cmocka_unit_test(wake_ups_say_when_waiting_begins),
	    cmocka_unit_test(calls_explain_blocked_time),
	    cmocka_unit_test(readings_alone),
	    cmocka_unit_test(nothing_is_said_of_a_kernel_that_does_not_count),
	    cmocka_unit_test(the_most_telling_fact),
	    cmocka_unit_test(many_threads_are_summed_by_name),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
