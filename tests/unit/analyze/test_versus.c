/* test_versus.c: which metric decides, what is compared with what, and how precise the result is, for synthetic
 * runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/diff/versus.h"

enum { PAIRS = 20 };

/* Runs of 100 and 80 ms with a spread of some per mille; `busy`: CPU time by wall time. */
static void make(struct sonde_versus_pair *pairs, double busy)
{
	for (int i = 0; i < PAIRS; i++)
		for (int side = 0; side < SONDE_SIDES; side++) {
			double wall = (side == SONDE_BASELINE ? 100e6 : 80e6) * (1 + 0.001 * (i * 7 % 11));
			double *value = pairs[i].value[side];
			value[SONDE_VERSUS_WALL] = wall;
			value[SONDE_VERSUS_CPU] = value[SONDE_VERSUS_USER] = busy * wall;
			value[SONDE_VERSUS_SYSTEM] = 0;
			value[SONDE_VERSUS_PEAK_RSS] = side == SONDE_BASELINE ? 1e6 : 2e6;
			value[SONDE_VERSUS_FAULTS] = 100;
		}
}

static void two_are_compared(void **state)
{
	struct sonde_versus_pair pairs[PAIRS];
	struct sonde_versus versus = {.pair = pairs, .count = PAIRS, .has_baseline = 1, .margin = 0.01};
	(void)state;
	make(pairs, 0.97);
	assert_int_equal(sonde_versus_evaluate(&versus), 0);
	assert_int_equal(versus.by, SONDE_VERSUS_CPU);
	assert_int_equal(sonde_versus_verdict(&versus), SONDE_VERDICT_IMPROVED);
	assert_true(fabs(versus.change[SONDE_VERSUS_WALL].by - 1.25) < 1e-9);
	assert_int_equal(versus.verdict[SONDE_VERSUS_PEAK_RSS], SONDE_VERDICT_REGRESSED);
	assert_true(fabs(versus.change[SONDE_VERSUS_PEAK_RSS].by - 0.5) < 1e-9);
	assert_false(versus.change[SONDE_VERSUS_SYSTEM].is_ratio);
	assert_int_equal(versus.verdict[SONDE_VERSUS_SYSTEM], SONDE_VERDICT_INCONCLUSIVE);
	assert_int_equal(versus.verdict[SONDE_VERSUS_FAULTS], SONDE_VERDICT_INCONCLUSIVE); /* not requested */
	assert_true(fabs(versus.spread[SONDE_CANDIDATE][SONDE_VERSUS_WALL].min - 80e6) < 1);
}

static void wall_time_counts_where_a_core_is_not_busy(void **state)
{
	static const struct {
		double busy;
		enum sonde_versus_metric by;
	} rows[] = {{0.1, SONDE_VERSUS_WALL},
		    {0.89, SONDE_VERSUS_WALL},
		    {0.91, SONDE_VERSUS_CPU},
		    {1.04, SONDE_VERSUS_CPU},
		    {1.9, SONDE_VERSUS_WALL}};
	struct sonde_versus_pair pairs[PAIRS];
	struct sonde_versus versus = {.pair = pairs, .count = PAIRS, .has_baseline = 1};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		make(pairs, rows[i].busy);
		assert_int_equal(sonde_versus_main(&versus), rows[i].by);
	}
	for (int i = 0; i < PAIRS; i++) /* one that waits makes both compared by wall time */
		pairs[i].value[SONDE_BASELINE][SONDE_VERSUS_CPU] /= 10;
	assert_int_equal(sonde_versus_main(&versus), SONDE_VERSUS_WALL);
}

static void precision_is_half_the_interval(void **state)
{
	struct sonde_versus_pair pairs[PAIRS];
	struct sonde_versus versus = {.pair = pairs, .count = PAIRS};
	double one, two;
	(void)state;
	make(pairs, 1);
	assert_int_equal(sonde_versus_precision(&one, &versus), 0);
	assert_int_equal(sonde_versus_evaluate(&versus), 0);
	const struct sonde_spread *spread = &versus.spread[SONDE_CANDIDATE][SONDE_VERSUS_CPU];
	assert_true(fabs(one - spread->half / spread->mean) < 1e-12);
	for (int i = 0; i < PAIRS; i++)
		pairs[i].value[SONDE_BASELINE][SONDE_VERSUS_CPU] *= i % 2 ? 1.01 : 1;
	versus.has_baseline = 1;
	assert_int_equal(sonde_versus_precision(&two, &versus), 0);
	assert_true(two > 0.0005 && two < 0.01);
	versus.count = 5;
	assert_int_equal(sonde_versus_precision(&two, &versus), 0);
	assert_true(isinf(two));
}

static void runs_that_are_not_known_are_left_out(void **state)
{
	struct sonde_versus_pair pairs[PAIRS];
	struct sonde_versus versus = {.pair = pairs, .count = PAIRS, .has_baseline = 1, .margin = 0.01};
	(void)state;
	make(pairs, 1);
	pairs[3].value[SONDE_BASELINE][SONDE_VERSUS_PEAK_RSS] = NAN;
	pairs[4].value[SONDE_CANDIDATE][SONDE_VERSUS_PEAK_RSS] = NAN;
	assert_int_equal(sonde_versus_evaluate(&versus), 0);
	assert_int_equal(versus.change[SONDE_VERSUS_PEAK_RSS].baseline, PAIRS - 2);
	assert_int_equal(versus.spread[SONDE_CANDIDATE][SONDE_VERSUS_PEAK_RSS].count, PAIRS - 1);
	assert_true(fabs(versus.change[SONDE_VERSUS_PEAK_RSS].by - 0.5) < 1e-9);
	versus.count = 0;
	assert_int_equal(sonde_versus_evaluate(&versus), 0);
	assert_int_equal(sonde_versus_verdict(&versus), SONDE_VERDICT_INCONCLUSIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_are_compared),
	    cmocka_unit_test(wall_time_counts_where_a_core_is_not_busy),
	    cmocka_unit_test(precision_is_half_the_interval),
	    cmocka_unit_test(runs_that_are_not_known_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
