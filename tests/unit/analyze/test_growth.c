/* test_growth.c: series that grow, that level off, and that only seem to grow. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/statistics/growth.h"

#define COUNT 51

static uint64_t state;

static double uniform(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* What is 0 at the slope of 0 and goes on with `memory` from step to step: 0 = noise, 1 = a random walk. */
static void make(double *out, double slope, double memory)
{
	double at = memory < 1 ? normal() / sqrt(1 - memory * memory) : 0;
	for (size_t i = 0; i < COUNT; i++) {
		out[i] = at + slope * (double)i;
		at = memory * at + normal();
	}
}

/* How many of 100 series are reported as growing. */
static int grow_of(double slope, double memory)
{
	int grow = 0;
	state = 1;
	for (int i = 0; i < 100; i++) {
		double values[COUNT];
		make(values, slope, memory);
		grow += sonde_growth_of(values, COUNT).grows;
	}
	return grow;
}

static void random_series_do_not_grow(void **unused)
{
	(void)unused;
	assert_int_equal(grow_of(0, 0), 0);
	assert_true(grow_of(0, 0.5) <= 1);
	assert_true(grow_of(0, 0.9) <= 2);
	assert_true(grow_of(0, 1) <= 5);
	assert_int_equal(grow_of(-1, 0), 0);
}

static void trends_are_found(void **unused)
{
	(void)unused;
	assert_true(grow_of(1, 0) == 100);
	assert_true(grow_of(0.2, 0) >= 95);
	assert_true(grow_of(1, 0.5) >= 99);
}

/* The slope's interval covers the truth in 95 of 100 runs; 88 or fewer would occur in 4 of 1000 tests. */
static void intervals_cover(void **unused)
{
	(void)unused;
	int covered = 0;
	state = 7;
	for (int i = 0; i < 100; i++) {
		double values[COUNT];
		make(values, 1, 0);
		struct sonde_growth growth = sonde_growth_of(values, COUNT);
		covered += growth.low <= 1 && growth.high >= 1;
	}
	assert_true(covered > 88);
}

static void shapes(void **unused)
{
	(void)unused;
	double line[COUNT], filled[COUNT], saturates[COUNT], sawtooth[COUNT], flat[COUNT], jump[COUNT];
	for (size_t i = 0; i < COUNT; i++) {
		line[i] = 640.0 * (double)i;
		filled[i] = (double)(i < COUNT / 2 ? i : COUNT / 2);
		saturates[i] = 100 * (1 - exp(-3.0 * (double)i / COUNT));
		sawtooth[i] = (double)(i % 10);
		flat[i] = 5;
		jump[i] = i < 10 ? 0 : 100;
	}
	struct sonde_growth growth = sonde_growth_of(line, COUNT);
	assert_true(growth.grows);
	assert_true(fabs(growth.slope - 640) < 1e-9 && fabs(growth.low - 640) < 1e-9 && fabs(growth.high - 640) < 1e-9);
	assert_true(growth.confidence > 0.999);
	assert_false(sonde_growth_of(filled, COUNT).grows);
	assert_false(sonde_growth_of(saturates, COUNT).grows);
	assert_false(sonde_growth_of(sawtooth, COUNT).grows);
	assert_false(sonde_growth_of(flat, COUNT).grows);
	assert_false(sonde_growth_of(jump, COUNT).grows);
	assert_false(sonde_growth_of(line, SONDE_GROWTH_MIN - 1).grows);
	assert_true(sonde_growth_of(line, SONDE_GROWTH_MIN).grows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_series_do_not_grow),
	    cmocka_unit_test(trends_are_found),
	    cmocka_unit_test(intervals_cover),
	    cmocka_unit_test(shapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
