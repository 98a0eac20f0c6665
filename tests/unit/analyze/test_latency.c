/* test_latency.c: the latency of functions (CPU time by threads that ran then) has the known answers of synthetic
 * schedules. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>

#include "analyze/cpu/samples.h"
#include "analyze/selection.h"
#include "analyze/statistics/stats.h"
#include "analyze_fixture.h"
#include "sections.h"

/* 4 threads: for 60 ms only thread 1 runs (serial), then for 40 ms all four do (parallel). CPU: serial 60 of 220,
 * latency: serial 60 of 100; parallelism 1 for 60 % of the run. */
static void latency_of_a_known_schedule(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	for (uint32_t i = 0; i < 4; i++)
		recording_thread(&r, 1, 100 + i, "worker", START);
	recording_module(&r, "/usr/bin/prog", 0);
	uint32_t serial = recording_call(&r, 0, 1, "serial", 1), parallel = recording_call(&r, 0, 1, "parallel", 1);
	recording_switch(&r, START, 1, SONDE_SWITCH_IN);
	recording_switch(&r, START + 20 * MS, 1, SONDE_SWITCH_OUT_PREEMPTED); /* could have run: still counts */
	recording_switch(&r, START + 30 * MS, 1, SONDE_SWITCH_IN);
	for (uint32_t i = 2; i <= 4; i++)
		recording_switch(&r, START + 60 * MS, i, SONDE_SWITCH_IN);
	for (uint32_t i = 1; i <= 4; i++)
		recording_switch(&r, START + 100 * MS, i, SONDE_SWITCH_OUT_BLOCKED);
	for (uint64_t ms = 0; ms < 100; ms++)
		for (uint32_t i = 1; i <= (ms < 60 ? 1 : 4); i++)
			recording_sample(&r, (struct recording_sample){START + ms * MS + MS / 2, i,
								       ms < 60 ? serial : parallel, MS, 0});
	recording_close(&r, START + 100 * MS, 0);
	struct sonde_pass_options options = {.sort = SONDE_SORT_LATENCY};
	struct sections s = sections_of(path, "functions", &options); /* sorting by latency is the latency pass */
	assert_null(sections_find(&s, "functions"));
	const struct sonde_section *t = sections_get(&s, "latency");
	assert_near(sections_real(t, "function", "serial", "self_share"), 60.0 / 220, 1e-9);
	assert_near(sections_real(t, "function", "serial", "latency_share"), 0.6, 1e-9);
	assert_near(sections_real(t, "function", "parallel", "latency_share"), 0.4, 1e-9);
	assert_ptr_equal(sections_row(t, "function", "serial"), t->table.cells);
	assert_near(sections_real(t, "function", "serial", "speedup_if_twice_as_fast"), 1 / 0.7, 1e-9);
	assert_true(sections_noted(t->notes, "parallelism 1 for 60 % of the run"));
	t = sections_get(&s, "parallelism");
	assert_int_equal(t->table.row_count, 2);
	assert_int_equal(t->table.cells[0].integer, 1);
	assert_near(t->table.cells[1].real, 0.6, 1e-9);
	assert_int_equal(t->table.cells[3].integer, 4);
	assert_near(t->table.cells[4].real, 0.4, 1e-9);
	sections_free(&s);
}

/* One thread runs for 60 ms; then four take turns on one CPU, 10 ms each, and are preempted in between: each of them
 * delays the run by its 10 ms, not by a quarter of them. */
static void latency_of_threads_that_take_turns(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	for (uint32_t i = 0; i < 4; i++)
		recording_thread(&r, 1, 100 + i, "worker", START);
	recording_module(&r, "/usr/bin/prog", 0);
	uint32_t serial = recording_call(&r, 0, 1, "serial", 1), parallel = recording_call(&r, 0, 1, "parallel", 1);
	recording_switch(&r, START, 1, SONDE_SWITCH_IN);
	recording_switch(&r, START + 60 * MS, 1, SONDE_SWITCH_OUT_PREEMPTED);
	for (uint32_t i = 2; i <= 4; i++) { /* started and at once preempted */
		recording_switch(&r, START + 60 * MS, i, SONDE_SWITCH_IN);
		recording_switch(&r, START + 60 * MS, i, SONDE_SWITCH_OUT_PREEMPTED);
	}
	for (uint32_t i = 1; i <= 4; i++) {
		recording_switch(&r, START + (50 + 10 * i) * MS, i, SONDE_SWITCH_IN);
		recording_switch(&r, START + (60 + 10 * i) * MS, i, SONDE_SWITCH_OUT_PREEMPTED);
	}
	for (uint64_t ms = 0; ms < 100; ms++)
		recording_sample(&r, (struct recording_sample){START + ms * MS + MS / 2,
							       ms < 60 ? 1 : (uint32_t)(ms - 50) / 10,
							       ms < 60 ? serial : parallel, MS, 0});
	recording_close(&r, START + 120 * MS, 0);
	struct sections s = sections_of(path, "latency", NULL);
	const struct sonde_section *t = sections_get(&s, "latency");
	assert_near(sections_real(t, "function", "serial", "latency_share"), 0.6, 1e-9);
	assert_near(sections_real(t, "function", "parallel", "latency_share"), 0.4, 1e-9);
	sections_free(&s);
}

/* Two threads that run side by side for 10 ms under a quota of one CPU delay the run by 20 ms. */
static void latency_under_a_quota(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_thread(&r, 1, 101, "worker", START);
	recording_info(&r, "host.cpus", "8");
	recording_info(&r, "run.cpus", "1");
	uint32_t serial = recording_call(&r, 0, 1, "serial", 1), parallel = recording_call(&r, 0, 1, "parallel", 1);
	recording_switch(&r, START, 1, SONDE_SWITCH_IN);
	recording_switch(&r, START + 20 * MS, 2, SONDE_SWITCH_IN);
	recording_switch(&r, START + 30 * MS, 1, SONDE_SWITCH_OUT_BLOCKED);
	recording_switch(&r, START + 30 * MS, 2, SONDE_SWITCH_OUT_BLOCKED);
	for (uint64_t ms = 0; ms < 30; ms++)
		for (uint32_t i = 1; i <= (ms < 20 ? 1 : 2); i++)
			recording_sample(&r, (struct recording_sample){START + ms * MS + MS / 2, i,
								       ms < 20 ? serial : parallel, MS, 0});
	recording_close(&r, START + 40 * MS, 0);
	struct sections s = sections_of(path, "latency", NULL);
	const struct sonde_section *t = sections_get(&s, "latency");
	assert_near(sections_real(t, "function", "serial", "latency_share"), 0.5, 1e-9);
	assert_true(sections_noted(t->notes, "at most 1: the usable CPUs"));
	sections_free(&s);
}

static void latency_says_why_it_is_absent(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_source(&r, "cpu", SONDE_SOURCE_LIMITED, "CPU timers", "perf events are forbidden", 1000);
	samples_add(&r, recording_call(&r, 0, 1, "f", 1), 10, 0);
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "latency", NULL);
	assert_null(s.report->first); /* not requested */
	sections_free(&s);
	s = sections_of(path, "latency", &(struct sonde_pass_options){.requested = 1});
	assert_true(sections_noted(sections_get(&s, "latency")->notes, "perf events are forbidden"));
	sections_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(latency_of_a_known_schedule),
	    cmocka_unit_test(latency_of_threads_that_take_turns),
	    cmocka_unit_test(latency_under_a_quota),
	    cmocka_unit_test(latency_says_why_it_is_absent),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
