/* test_spread.c: mean, interval and outliers of values whose answers are in tables. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/statistics/spread.h"

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%g instead of %g", value, expected);
}

static void t_is_as_in_tables(void **state)
{
	static const struct {
		size_t freedom;
		double t;
	} rows[] = {{1, 12.7062}, {2, 4.3027},  {9, 2.2622},  {10, 2.2281}, {11, 2.2010},
		    {15, 2.1314}, {20, 2.0860}, {30, 2.0423}, {99, 1.9842}, {1000, 1.9623}};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_near(sonde_spread_t95(rows[i].freedom), rows[i].t, 0.0002);
	assert_near(sonde_spread_t95(0), 0, 0);
}

static void values_are_summed_up(void **state)
{
	double values[] = {10, 1, 9, 2, 8, 3, 7, 4, 6, 5};
	struct sonde_spread spread;
	(void)state;
	sonde_spread_of(&spread, values, 10);
	assert_int_equal(spread.count, 10);
	assert_near(spread.mean, 5.5, 1e-12);
	assert_near(spread.std, 3.0276504, 1e-6);
	assert_near(spread.half, 2.1658506, 1e-4); /* 2.26216 · 3.02765 ÷ √10 */
	assert_near(spread.median, 5.5, 0);
	assert_near(spread.mad, 2.5, 0);
	assert_near(spread.min, 1, 0);
	assert_near(spread.max, 10, 0);
}

static void few_values_say_little(void **state)
{
	double one[] = {7}, two[] = {1, 3}, none[1];
	struct sonde_spread spread;
	(void)state;
	sonde_spread_of(&spread, one, 1);
	assert_near(spread.mean, 7, 0);
	assert_near(spread.half, 0, 0);
	assert_near(spread.median, 7, 0);
	sonde_spread_of(&spread, two, 2);
	assert_near(spread.half, 12.7062, 1e-4); /* 12.7062 · √2 ÷ √2 */
	assert_near(spread.median, 2, 0);
	assert_false(sonde_spread_is_outlier(&spread, 1000));
	sonde_spread_of(&spread, none, 0);
	assert_int_equal(spread.count, 0);
}

static void outliers_are_far_from_the_median(void **state)
{
	double odd[] = {10.2, 10.1, 9.9, 10, 30, 9.8, 10.3}, even[] = {1, 1, 1, 1, 1, 5};
	struct sonde_spread spread;
	(void)state;
	sonde_spread_of(&spread, odd, 7);
	assert_near(spread.median, 10.1, 0);
	assert_near(spread.mad, 0.2, 1e-12); /* 0, 0.1, 0.1, 0.2, 0.2, 0.3, 19.9 */
	assert_true(sonde_spread_is_outlier(&spread, 30));
	assert_false(sonde_spread_is_outlier(&spread, 9.8));
	assert_true(sonde_spread_is_outlier(&spread, 9));
	sonde_spread_of(&spread, even, 6); /* nothing to measure distances by */
	assert_near(spread.mad, 0, 0);
	assert_false(sonde_spread_is_outlier(&spread, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(t_is_as_in_tables),
	    cmocka_unit_test(values_are_summed_up),
	    cmocka_unit_test(few_values_say_little),
	    cmocka_unit_test(outliers_are_far_from_the_median),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
