/* test_thread_clock.c: CPU time of threads from switch records, some of which are lost, and the weight of samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "format/record.h"
#include "source/cpu/thread_clock.h"

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
	sonde_thread_clocks_start(clocks, 7, 0, 90);
	sonde_thread_clocks_start(clocks, 8, 0, 90);
	run(7, 0, 100, 200);
	run(7, 1, 300, 350);
	run(8, 0, 200, 1200);
	sonde_thread_clocks_in(clocks, 7, 1, 400);
	assert_int_equal(sonde_thread_clocks_end(clocks, 7, 425).cpu_ns, 175); /* it ends running */
	assert_int_equal(sonde_thread_clocks_end(clocks, 8, 9999).cpu_ns, 1000);
	assert_int_equal(sonde_thread_clocks_end(clocks, 8, 9999).cpu_ns, 0); /* its number is free */
	assert_int_equal(sonde_thread_clocks_end(clocks, 9, 9999).cpu_ns, 0);
}

/* A little doubt is rounding. */
static void lost_records_count_nothing(void **state)
{
	(void)state;
	sonde_thread_clocks_start(clocks, 7, 0, 1);
	run(7, 0, 10, 10010);
	sonde_thread_clocks_out(clocks, 7, 0, 10020); /* never came in */
	sonde_thread_clocks_in(clocks, 7, 0, 10100);
	sonde_thread_clocks_in(clocks, 7, 0, 10180); /* the `out` between is lost */
	sonde_thread_clocks_out(clocks, 7, 0, 10280);
	sonde_thread_clocks_out(clocks, 7, 0, 10290);
	assert_int_equal(sonde_thread_clocks_end(clocks, 7, 10300).cpu_ns, 10100);
}

/* The `out` on CPU 0 is lost: what ran there is not known, and does not go on while the thread is elsewhere. */
static void a_thread_runs_on_one_cpu_at_a_time(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		sonde_thread_clocks_start(clocks, 7, 0, 1000);
		sonde_thread_clocks_in(clocks, 7, 0, 1000);
		run(7, 1, 51000, 151000);
		if (known)
			sonde_thread_clocks_set(clocks, 7, 130000, 151500); /* 30000 on CPU 0, from the kernel */
		run(7, 1, 152000, 252000);
		assert_int_equal(sonde_thread_clocks_end(clocks, 7, 900000).cpu_ns, known ? 230000 : 0);
	}
}

/* What ran while records were lost is unknown until the kernel reports it; so is a thread whose start was not seen. */
static void a_clock_in_doubt_says_nothing(void **state)
{
	(void)state;
	sonde_thread_clocks_start(clocks, 7, 500, 1000);
	sonde_thread_clocks_in(clocks, 7, 0, 1000);
	sonde_thread_clocks_lost(clocks, 2000, 902000);
	sonde_thread_clocks_out(clocks, 7, 0, 1001000);
	run(8, 0, 1001000, 1002000);
	assert_int_equal(sonde_thread_clocks_end(clocks, 8, 1002000).cpu_ns, 0);
	assert_int_equal(sonde_thread_clocks_end(clocks, 7, 1002000).cpu_ns, 0);

	sonde_thread_clocks_start(clocks, 7, 500, 1000);
	sonde_thread_clocks_in(clocks, 7, 0, 1000);
	sonde_thread_clocks_lost(clocks, 2000, 902000);
	sonde_thread_clocks_set(clocks, 7, 300500, 950000);
	sonde_thread_clocks_out(clocks, 7, 0, 1001000);
	sonde_thread_clocks_lost(clocks, 903000, 940000); /* older than the kernel's last report */
	assert_int_equal(sonde_thread_clocks_end(clocks, 7, 1002000).cpu_ns, 351000);
}

/* The user half of 800 of 1600 and 1400 of 2600 that are left on CPU 0, and of 500 on CPU 1. */
static void the_rest_of_each_period_is_left(void **state)
{
	(void)state;
	sonde_thread_clocks_user_only(clocks, 0.5);
	sonde_thread_clocks_start(clocks, 7, 0, 1);
	run(7, 0, 1, 20801); /* 13 and 8 periods */
	sonde_thread_clocks_in(clocks, 7, 0, 30001);
	for (int i = 0; i < 12; i++)
		assert_int_equal(sonde_thread_clocks_sample(clocks, 7, 0, 34001).weight_ns, 1000);
	sonde_thread_clocks_out(clocks, 7, 0, 34001);
	run(7, 1, 35000, 35500);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 36000);
	uint64_t expected = (uint64_t)(500 * (800 / 1600.0 + 1400 / 2600.0 + 500 / 1600.0 + 500 / 2600.0));
	assert_int_equal(total.cpu_ns, 25300);
	assert_in_range(total.left_ns, expected - 4, expected + 1);
	assert_int_equal(total.lost_ns, 0);
	assert_int_equal(total.samples, 12);
}

/* Events on which another thread counted fire early: the sum of all weights never exceeds the thread's running time. */
static void samples_are_not_more_than_the_thread_ran(void **state)
{
	(void)state;
	uint64_t sum_ns = 0;
	sonde_thread_clocks_start(clocks, 7, 0, 1);
	sonde_thread_clocks_in(clocks, 7, 0, 1000);
	for (uint64_t time_ns = 1100; time_ns <= 1500; time_ns += 100)
		sum_ns += sonde_thread_clocks_sample(clocks, 7, 0, time_ns).weight_ns;
	assert_int_equal(sum_ns, 500);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 1558);
	assert_int_equal(total.cpu_ns, 558);
	assert_int_equal(total.left_ns, 58);
	assert_int_equal(total.lost_ns, 0);
}

/* A million ns without samples: only what periods can leave may stand for a stack. */
static void much_that_is_missing_is_lost(void **state)
{
	(void)state;
	sonde_thread_clocks_start(clocks, 7, 0, 1);
	run(7, 0, 1000, 1001000);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 1002000);
	assert_int_equal(total.left_ns, 2 * (1600 + 2600));
	assert_int_equal(total.lost_ns, 1000000 - total.left_ns);
}

/* 100 samples, then 900000 ns whose samples were lost, then 100 more: they weigh the same as before. */
static void time_of_lost_samples_is_no_sample(void **state)
{
	(void)state;
	for (int user_only = 0; user_only < 2; user_only++) {
		struct sonde_thread_share share;
		uint64_t time_ns = 0, weight_ns = 0, lost_ns = 0;
		if (user_only)
			sonde_thread_clocks_user_only(clocks, 1);
		sonde_thread_clocks_start(clocks, 7, 0, 1);
		sonde_thread_clocks_in(clocks, 7, 0, 1);
		for (int i = 0; i < 200; i++) {
			if (i == 100) {
				sonde_thread_clocks_lost(clocks, time_ns, time_ns + 900000);
				sonde_thread_clocks_set(clocks, 7, time_ns + 900000, time_ns + 900000);
				time_ns += 900000;
			}
			share = sonde_thread_clocks_sample(clocks, 7, 0, time_ns += 1000);
			assert_in_range(share.weight_ns, 999, 1000);
			weight_ns += share.weight_ns;
			lost_ns += share.lost_ns;
		}
		struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, time_ns);
		assert_int_equal(total.cpu_ns, time_ns);
		assert_in_range(lost_ns, 900000 - 2 * (1600 + 2600), 900000);
		if (!user_only)
			assert_int_equal(weight_ns + lost_ns + total.left_ns + total.lost_ns, time_ns);
		assert_in_range(total.left_ns, 0, 1600 + 2600);
	}
}

/* A thread that forks passes its events on: samples that would exceed its time stand for its uncovered time. */
static void samples_to_spare_stand_for_what_is_missing(void **state)
{
	(void)state;
	uint64_t sum_ns = 0;
	sonde_thread_clocks_start(clocks, 7, 0, 1);
	sonde_thread_clocks_in(clocks, 7, 0, 1000);
	assert_int_equal(sonde_thread_clocks_extra(clocks, 7, 0, 5000), 0); /* no more than periods may leave */
	for (uint64_t time_ns = 11000; time_ns <= 101000; time_ns += 10000)
		sum_ns += sonde_thread_clocks_extra(clocks, 7, 0, time_ns);
	struct sonde_thread_total total = sonde_thread_clocks_total(clocks, 7, 101000);
	assert_in_range(sum_ns, 80000, 100000 - 4200);
	assert_int_equal(sum_ns + total.left_ns + total.lost_ns, 100000);
	sonde_thread_clocks_lost(clocks, 101000, 101000);
	assert_int_equal(sonde_thread_clocks_extra(clocks, 7, 0, 201000), 0);
}

/* A third of the time is user time: short threads, with and without samples, have that in sum, and no thread has more
 * than its own time. */
static void user_parts_of_short_threads_add_up(void **state)
{
	(void)state;
	uint64_t sum_ns = 0;
	sonde_thread_clocks_user_only(clocks, 1 / 3.0);
	for (int i = 0; i < 1000; i++) {
		uint64_t weight_ns = 0;
		sonde_thread_clocks_start(clocks, 7, 0, 1);
		sonde_thread_clocks_in(clocks, 7, 0, 1000);
		if (i % 5 == 0)
			weight_ns = sonde_thread_clocks_sample(clocks, 7, 0, 1900).weight_ns;
		weight_ns += sonde_thread_clocks_end(clocks, 7, 2200).left_ns;
		assert_in_range(weight_ns, 0, 1200);
		sum_ns += weight_ns;
	}
	assert_in_range(sum_ns, 399000, 401000);
}

/* Where events may not fire in the kernel, what samples leave of the clock was there: at once but for what may lag, all
 * of it at the end, and never the time of lost samples. */
static void what_user_samples_leave_was_in_the_kernel(void **state)
{
	(void)state;
	uint64_t kernel_ns = 0, weight_ns = 0, time_ns = 1, ns;
	uint32_t at = 0, owner;
	sonde_thread_clocks_start(clocks, 7, 0, 1);
	sonde_thread_clocks_in(clocks, 7, 0, 1);
	assert_int_equal(sonde_thread_clocks_kernel(clocks, 7, 3, 900001), 0); /* the kernel is sampled */
	sonde_thread_clocks_user_only(clocks, 0.25);
	for (int i = 0; i < 100; i++) { /* of 4000 each 1000 in user code */
		weight_ns += sonde_thread_clocks_sample(clocks, 7, 0, time_ns += 4000).weight_ns;
		kernel_ns += sonde_thread_clocks_kernel(clocks, 7, 3, time_ns);
	}
	assert_int_equal(weight_ns, 100000);
	assert_in_range(kernel_ns, 300000 - 2 * 4236, 300000);
	kernel_ns += sonde_thread_clocks_kernel(clocks, 7, 3, time_ns += 500000);
	assert_int_equal(sonde_thread_clocks_next_kernel(clocks, &at, time_ns += 500, &owner, &ns), 1);
	assert_int_equal(owner, 3);
	kernel_ns += ns;
	assert_int_equal(sonde_thread_clocks_next_kernel(clocks, &at, time_ns, &owner, &ns), 0);
	assert_in_range(kernel_ns, 800500 - 4236, 800500);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, time_ns);
	assert_int_equal(weight_ns + kernel_ns + total.left_ns + total.lost_ns + total.kernel_ns, total.cpu_ns);
	assert_int_equal(total.cpu_ns, 900500);

	sonde_thread_clocks_start(clocks, 7, 0, 1);
	sonde_thread_clocks_in(clocks, 7, 0, 1);
	sonde_thread_clocks_lost(clocks, 1, 100001);
	sonde_thread_clocks_set(clocks, 7, 100000, 100001);
	assert_int_equal(sonde_thread_clocks_kernel(clocks, 7, 3, 100001), 0);
}

static void each_sample_is_kept_as_often(void **state)
{
	(void)state;
	unsigned kept[5] = {0};
	for (int round = 0; round < 5000; round++) {
		run(7, 0, 1, 2);
		for (uint32_t stack = 1; stack <= 4; stack++)
			sonde_thread_clocks_stack(clocks, 7, stack, SONDE_STACK_DEEP);
		struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 3);
		assert_int_equal(total.status, SONDE_STACK_DEEP);
		kept[total.stack]++;
	}
	for (int stack = 1; stack <= 4; stack++)
		assert_in_range(kept[stack], 1100, 1400); /* 1250 ± 4.9 σ */
}

static void stacks_of_the_program_before_exec_are_forgotten(void **state)
{
	(void)state;
	sonde_thread_clocks_start(clocks, 7, 12345, 50);
	sonde_thread_clocks_exec(clocks, 7, 0, 100); /* its events begin */
	sonde_thread_clocks_stack(clocks, 7, 42, SONDE_STACK_COMPLETE);
	assert_int_equal(sonde_thread_clocks_total(clocks, 7, 150).left_ns, 50);
	sonde_thread_clocks_exec(clocks, 7, 0, 150);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, 7, 300);
	assert_int_equal(total.cpu_ns, 200);
	assert_int_equal(total.left_ns, 150); /* of the second program */
	assert_int_equal(total.stack, 0);
	assert_int_equal(total.status, SONDE_STACK_NO_USER);
}

/* The test's own thread, from the kernel's records. */
static void the_kernel_settles_doubts(void **state)
{
	(void)state;
	pid_t tid = getpid();
	uint64_t ran_ns = 0;
	for (int i = 0; !ran_ns && i < 100000; i++) /* a few ticks */
		ran_ns = sonde_thread_clocks_read(tid);
	if (!ran_ns)
		skip();                               /* a kernel without scheduling statistics */
	sonde_thread_clocks_in(clocks, tid, 0, 1000); /* never seen to begin */
	sonde_thread_clocks_settle(clocks);
	struct sonde_thread_total total = sonde_thread_clocks_end(clocks, tid, 2000);
	assert_in_range(total.cpu_ns, ran_ns, sonde_thread_clocks_read(tid));
	assert_int_equal(sonde_thread_clocks_read(-1), 0);
}

static void ten_thousand_threads_use_a_few_rows(void **state)
{
	(void)state;
	for (pid_t tid = 1; tid <= 10000; tid++) {
		sonde_thread_clocks_start(clocks, tid, 0, 5);
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
	    ROW(a_thread_runs_on_one_cpu_at_a_time),
	    ROW(a_clock_in_doubt_says_nothing),
	    ROW(the_rest_of_each_period_is_left),
	    ROW(samples_are_not_more_than_the_thread_ran),
	    ROW(much_that_is_missing_is_lost),
	    ROW(time_of_lost_samples_is_no_sample),
	    ROW(samples_to_spare_stand_for_what_is_missing),
	    ROW(user_parts_of_short_threads_add_up),
	    ROW(what_user_samples_leave_was_in_the_kernel),
	    ROW(each_sample_is_kept_as_often),
	    ROW(the_kernel_settles_doubts),
	    ROW(stacks_of_the_program_before_exec_are_forgotten),
	    ROW(ten_thousand_threads_use_a_few_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
