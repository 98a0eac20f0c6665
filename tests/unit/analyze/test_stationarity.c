/* test_stationarity.c: series of durations whose warm-up, level and drift are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/statistics/stationarity.h"

#define COUNT_MAX 2000

static uint64_t state;
static double values[COUNT_MAX];

static double uniform(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Durations around 100: of 5 % scatter; skewed, as of a program that is sometimes held up; with one stall in fifty; of
 * a clock that ticks. */
static double one(int shape)
{
	double x = 100 + 5 * normal();
	if (shape == 1)
		return 90 + 10 * exp(0.8 * normal());
	if (shape == 2)
		return uniform() < 0.02 ? 10 * x : x;
	return shape == 3 ? floor(x / 4) * 4 : x;
}

static void make(size_t count, int shape)
{
	for (size_t i = 0; i < count; i++)
		values[i] = one(shape);
}

static struct sonde_stationarity check(size_t count)
{
	struct sonde_stationarity steady;
	assert_int_equal(sonde_stationarity_check(&steady, values, count, 1), 0);
	return steady;
}

/* Of 1000 series without any change at most 5 % are reported to have a warm-up, to drift or to jump. */
static void chance_is_steady(void **unused)
{
	static const size_t counts[] = {20, 50, 200, 1000};
	(void)unused;
	for (int shape = 0; shape < 4; shape++) {
		int alarms = 0;
		state = 42;
		for (int series = 0; series < 1000; series++) {
			size_t count = counts[series % 4];
			make(count, shape);
			struct sonde_stationarity steady = check(count);
			alarms += steady.verdict != SONDE_STATIONARITY_YES || steady.warm_up;
		}
		assert_in_range(alarms, 0, 50);
	}
}

/* The mean of a steady series lies in its interval in 95 % of cases; 1000 of them: 93 to 97 %. */
static void the_interval_covers_the_mean(void **unused)
{
	int covered = 0;
	(void)unused;
	state = 7;
	for (int series = 0; series < 1000; series++) {
		make(100, 0);
		struct sonde_stationarity steady = check(100);
		covered += fabs(steady.mean - 100) <= steady.half;
	}
	assert_in_range(covered, 930, 970);
}

/* A fifth of the series is slower: found within two iterations, whatever the scatter is like. */
static void a_warm_up_ends_where_it_ends(void **unused)
{
	static const size_t counts[] = {40, 100, 300, 1000, 2000};
	(void)unused;
	for (int shape = 0; shape < 4; shape++)
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
			size_t count = counts[k];
			int found = 0;
			state = 100 + k;
			for (int series = 0; series < 20; series++) {
				make(count, shape);
				for (size_t i = 0; i < count / 5; i++)
					values[i] += 100;
				struct sonde_stationarity steady = check(count);
				found += steady.verdict == SONDE_STATIONARITY_YES && steady.warm_up + 2 >= count / 5 &&
					 steady.warm_up <= count / 5 + 2 && steady.count == count - steady.warm_up;
			}
			assert_in_range(found, 19, 20);
		}
}

/* A level that hardly scatters: values far from it are clipped for the tests, but a change has its full size. */
static void sharp_levels(void **unused)
{
	(void)unused;
	state = 5;
	for (size_t i = 0; i < 200; i++)
		values[i] = (i < 30 ? 300 : 100) + 0.01 * normal();
	struct sonde_stationarity steady = check(200);
	assert_int_equal(steady.verdict, SONDE_STATIONARITY_YES);
	assert_int_equal(steady.warm_up, 30);
	for (size_t i = 0; i < 200; i++)
		values[i] = (i < 150 ? 100 : 150) + 0.01 * normal();
	steady = check(200);
	assert_int_equal(steady.verdict, SONDE_STATIONARITY_JUMPS);
	assert_int_equal(steady.changes_at, 150);
	assert_true(fabs(steady.change - 0.5) < 0.01);
}

/* A first turn that compiles, among a hundred; and a warm-up that fades. */
static void odd_warm_ups(void **unused)
{
	(void)unused;
	state = 1;
	make(100, 0);
	values[0] = 1000;
	struct sonde_stationarity steady = check(100);
	assert_int_equal(steady.verdict, SONDE_STATIONARITY_YES);
	assert_int_equal(steady.warm_up, 1);
	assert_true(fabs(steady.mean - 100) < 3);
	make(500, 0);
	for (size_t i = 0; i < 500; i++)
		values[i] += 200 * exp(-(double)i / 20);
	steady = check(500);
	assert_int_equal(steady.verdict, SONDE_STATIONARITY_YES);
	assert_in_range(steady.warm_up, 30, 150); /* 200 e^(−1.5) = 45; e^(−7.5) = 0.1 */
	assert_true(fabs(steady.mean - 100) < 3);
}

static void a_drift_is_not_steady(void **unused)
{
	static const size_t counts[] = {50, 200, 1000, 2000};
	(void)unused;
	for (size_t k = 0; k < 4; k++)
		for (int down = 0; down < 2; down++) {
			size_t count = counts[k];
			state = 3 + k;
			make(count, 0);
			for (size_t i = 0; i < count; i++)
				values[i] += (down ? -30.0 : 30.0) * (double)i / (double)(count - 1);
			struct sonde_stationarity steady = check(count);
			assert_int_equal(steady.verdict, SONDE_STATIONARITY_DRIFTS);
			assert_int_equal(steady.warm_up, 0);
			assert_int_equal(steady.count, count);
			double known = down ? -30.0 / 85 : 30.0 / 115;
			assert_true(fabs(steady.drift - known) < 0.08);
		}
}

/* A level that changes after two thirds is no warm-up; nor is one that goes up and down. */
static void a_late_jump_is_not_steady(void **unused)
{
	(void)unused;
	state = 9;
	make(300, 0);
	for (size_t i = 200; i < 300; i++)
		values[i] += 40;
	struct sonde_stationarity steady = check(300);
	assert_int_equal(steady.verdict, SONDE_STATIONARITY_JUMPS);
	assert_in_range(steady.changes_at, 198, 202);
	assert_true(fabs(steady.change - 0.4) < 0.05);
	assert_int_equal(steady.warm_up, 0);
}

/* A change of a tenth of a percent, however significant; and values that are all equal. */
static void small_changes_do_not_matter(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < 1000; i++)
		values[i] = i < 300 ? 1001 : 1000;
	struct sonde_stationarity steady = check(1000);
	assert_int_equal(steady.verdict, SONDE_STATIONARITY_YES);
	assert_int_equal(steady.warm_up, 0);
	for (size_t i = 0; i < 1000; i++)
		values[i] = 5;
	steady = check(1000);
	assert_int_equal(steady.verdict, SONDE_STATIONARITY_YES);
	assert_true(steady.mean == 5 && steady.half == 0 && steady.drift == 0);
	for (size_t i = 0; i < 30; i++)
		values[i] = 0;
	assert_int_equal(check(30).verdict, SONDE_STATIONARITY_YES);
}

static void few_say_nothing(void **unused)
{
	(void)unused;
	make(19, 0);
	assert_int_equal(check(19).verdict, SONDE_STATIONARITY_TOO_FEW);
	assert_int_equal(check(1).verdict, SONDE_STATIONARITY_TOO_FEW);
	assert_int_equal(check(0).verdict, SONDE_STATIONARITY_TOO_FEW);
}

/* Many series tested together raise no more false alarms than one. */
static void many_series_are_no_more_often_wrong(void **unused)
{
	int alarms = 0;
	(void)unused;
	state = 11;
	for (int row = 0; row < 60; row++) {
		int any = 0;
		for (int series = 0; series < 16; series++) {
			struct sonde_stationarity steady;
			make(60, 1);
			assert_int_equal(sonde_stationarity_check(&steady, values, 60, 16), 0);
			any |= steady.verdict != SONDE_STATIONARITY_YES || steady.warm_up;
		}
		alarms += any;
	}
	assert_in_range(alarms, 0, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chance_is_steady),
	    cmocka_unit_test(the_interval_covers_the_mean),
	    cmocka_unit_test(a_warm_up_ends_where_it_ends),
	    cmocka_unit_test(sharp_levels),
	    cmocka_unit_test(odd_warm_ups),
	    cmocka_unit_test(a_drift_is_not_steady),
	    cmocka_unit_test(a_late_jump_is_not_steady),
	    cmocka_unit_test(small_changes_do_not_matter),
	    cmocka_unit_test(few_say_nothing),
	    cmocka_unit_test(many_series_are_no_more_often_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
