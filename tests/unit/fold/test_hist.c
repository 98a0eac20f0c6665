/* test_hist.c: the histogram's buckets and quantiles against sorted values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "fold/hist.h"

static uint64_t hits[SONDE_HIST_BUCKETS];

static void buckets_cover_every_value(void **state)
{
	(void)state;
	uint64_t next = 0;
	for (uint32_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++) {
		assert_int_equal(sonde_hist_low(bucket), next);
		assert_int_equal(sonde_hist_bucket(sonde_hist_low(bucket)), bucket);
		next = sonde_hist_low(bucket) + sonde_hist_width(bucket);
		assert_int_equal(sonde_hist_bucket(next - 1), bucket);
	}
	assert_int_equal(next, 0); /* 2^64 */
}

static void midpoints_are_within_the_bound(void **state)
{
	(void)state;
	for (uint64_t i = 1; i < 200000; i++) {
		uint64_t value = sonde_hash_mix(i) >> (i % 64);
		uint64_t middle = sonde_hist_value(sonde_hist_bucket(value));
		double error = value ? ((double)middle - (double)value) / (double)value : (double)middle;
		assert_true(error <= 0.0039063 && error >= -0.0039063);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void quantiles_match_sorted_values(void **state)
{
	(void)state;
	enum { COUNT = 100000 };
	uint64_t *values = calloc(COUNT, sizeof(*values));
	memset(hits, 0, sizeof(hits));
	for (uint64_t i = 0; i < COUNT; i++) {
		values[i] = sonde_hash_mix(i + 1) >> (30 + i % 20);
		hits[sonde_hist_bucket(values[i])]++;
	}
	qsort(values, COUNT, sizeof(*values), compare);
	const double quantiles[] = {0.001, 0.25, 0.5, 0.9, 0.99, 0.9999, 1};
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++) {
		uint64_t exact = values[(size_t)(quantiles[i] * COUNT + 0.999999) - 1];
		uint64_t got = sonde_hist_quantile(hits, COUNT, values[0], values[COUNT - 1], quantiles[i]);
		double error = ((double)got - (double)exact) / (double)exact;
		assert_true(error <= 0.0039063 && error >= -0.0039063);
	}
	assert_int_equal(sonde_hist_quantile(hits, COUNT, values[0], values[COUNT - 1], 0), values[0]);
	free(values);
}

static void few_values_are_clamped(void **state)
{
	(void)state;
	memset(hits, 0, sizeof(hits));
	assert_int_equal(sonde_hist_quantile(hits, 0, 0, 0, 0.5), 0);
	hits[sonde_hist_bucket(1000001)] = 1;
	assert_int_equal(sonde_hist_quantile(hits, 1, 1000001, 1000001, 0.5), 1000001);
	hits[sonde_hist_bucket(3)] = 3;
	assert_int_equal(sonde_hist_quantile(hits, 4, 3, 1000001, 0.75), 3);
	assert_int_equal(sonde_hist_quantile(hits, 4, 3, 1000001, 0.76), 1000001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(buckets_cover_every_value),
	    cmocka_unit_test(midpoints_are_within_the_bound),
	    cmocka_unit_test(quantiles_match_sorted_values),
	    cmocka_unit_test(few_values_are_clamped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
