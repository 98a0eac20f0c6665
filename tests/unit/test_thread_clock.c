/* test_thread_clock.c: CPU time of threads from switch records, and what two constant periods leave out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/record.h"
#include "source/thread_clock.h"

static struct sonde_thread_clocks *clocks;

static int setup(void **state)
{
	(void)state;
	struct sonde_thread_sampling sampling = {.period_ns = {1600, 2600}, .weight_ns = 1000};
	return sonde_thread_clocks_new(&clocks, &sampling);
}

static int teardown(void **state)
{
	(void)state;
	sonde_thread_clocks_free(clocks);
	return 0;
}

static void run(pid_t tid, int cpu, uint64_t from_ns, uint64_t to_ns)
{
	sonde_thread_clocks_in(clocks, tid, cpu, from_ns);
	sonde_thread_clocks_out(clocks, tid, cpu, to_ns);
}

static void intervals_add_up_over_cpus(void **state)
{
	(void)state;
	run(7, 0, 100, 200);
	run(7, 1, 300, 350);
	run(8, 0, 200, 1200);
	sonde_thread_clocks_in(clocks, 7, 1, 400);
	assert_int_equal(sonde_thread_clocks_end(clocks, 7, 425).cpu_ns, 175); /* it ends running */
	assert_int_equal(sonde_thread_clocks_end(clocks, 8, 9999).cpu_ns, 1000);
	assert_int_equal(sonde_thread_clocks_end(clocks, 8, 9999).cpu_ns, 0); /* its number is free */
	assert_int_equal(sonde_thread_clocks_end(clocks, 9, 9999).cpu_ns, 0);
}

static void lost_records_count_nothing(void **state)
{
	(void)state;
	sonde_thread_clocks_out(clocks, 7, 0, 50); /* never came in */
	sonde_thread_clocks_in(clocks, 7, 0, 100);
	sonde_thread_clocks_in(clocks, 7, 0, 500); /* the `out` between is lost */
	sonde_thread_clocks_out(clocks, 7, 0, 600);
	sonde_thread_clocks_out(clocks, 7, 0, 700);
	assert_int_equal(sonde_thread_clocks_end(clocks, 7, 800).cpu_ns, 100);
}

/* 4000 ns on CPU 0: 2 periods of 1600 and 800 left (half of one), 1 of 2600 and 1400 left; 500 ns on CPU 1: no period.
 */
static void the_rest_of_each_period_is_missing(void **state)
{
	(void)state;
	run(7, 0, 0 + 1, 4001);
	run(7, 1, 5000, 5500);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 6000);
	double expected = 1000 * (800 / 1600.0 + 1400 / 2600.0 + 500 / 1600.0 + 500 / 2600.0);
	assert_int_equal(total.cpu_ns, 4500);
	assert_in_range(total.missing_ns, (uint64_t)expected - 4, (uint64_t)expected + 1);
}

static void each_sample_is_kept_as_often(void **state)
{
	(void)state;
	unsigned kept[5] = {0};
	for (int round = 0; round < 5000; round++) {
		run(7, 0, 1, 2);
		for (uint32_t stack = 1; stack <= 4; stack++)
			sonde_thread_clocks_sample(clocks, 7, stack, SONDE_STACK_DEEP);
		struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 3);
		assert_int_equal(total.samples, 4);
		assert_int_equal(total.status, SONDE_STACK_DEEP);
		kept[total.stack]++;
	}
	for (int stack = 1; stack <= 4; stack++)
		assert_in_range(kept[stack], 1100, 1400); /* 1250 ± 4.9 σ */
}

static void stacks_of_the_program_before_exec_are_forgotten(void **state)
{
	(void)state;
	sonde_thread_clocks_exec(clocks, 7, 0, 100); /* starts the clock */
	sonde_thread_clocks_sample(clocks, 7, 42, SONDE_STACK_COMPLETE);
	sonde_thread_clocks_exec(clocks, 7, 0, 150);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 300);
	assert_int_equal(total.cpu_ns, 200);
	assert_int_equal(total.samples, 1);
	assert_int_equal(total.stack, 0);
	assert_int_equal(total.status, SONDE_STACK_NO_USER);
}

static void ten_thousand_threads_use_a_few_rows(void **state)
{
	(void)state;
	for (pid_t tid = 1; tid <= 10000; tid++) {
		run(tid, tid % 3, 10, 20);
		run(tid, 3, 30, 35);
		assert_int_equal(sonde_thread_clocks_end(clocks, tid, 40).cpu_ns, 15);
	}
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    ROW(intervals_add_up_over_cpus),
	    ROW(lost_records_count_nothing),
	    ROW(the_rest_of_each_period_is_missing),
	    ROW(each_sample_is_kept_as_often),
	    ROW(stacks_of_the_program_before_exec_are_forgotten),
	    ROW(ten_thousand_threads_use_a_few_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
