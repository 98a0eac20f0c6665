/* test_pair.c: pairing of zone begins and ends: self time, recursion, unmatched ends, depth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fold/pair.h"

static void self_time_excludes_children(void **state)
{
	(void)state;
	struct sonde_pair_frame frames[8];
	struct sonde_pair pair;
	struct sonde_pair_zone zone;
	sonde_pair_init(&pair, frames, 8);
	sonde_pair_begin(&pair, 1, 100);
	sonde_pair_begin(&pair, 2, 110);
	assert_int_equal(sonde_pair_end(&pair, 130, &zone), 1);
	assert_int_equal(zone.site, 2);
	assert_int_equal(zone.depth, 1);
	assert_int_equal(zone.dur_ns, 20);
	sonde_pair_begin(&pair, 3, 130);
	assert_int_equal(sonde_pair_end(&pair, 135, &zone), 1);
	assert_int_equal(sonde_pair_end(&pair, 200, &zone), 1);
	assert_int_equal(zone.site, 1);
	assert_int_equal(zone.dur_ns, 100);
	assert_int_equal(zone.self_ns, 75);
	assert_int_equal(zone.start_ns, 100);
}

static void recursion_counts_time_once(void **state)
{
	(void)state;
	struct sonde_pair_frame frames[8];
	struct sonde_pair pair;
	struct sonde_pair_zone zone;
	struct sonde_zone_stat stat = {.site = 7};
	sonde_pair_init(&pair, frames, 8);
	sonde_pair_begin(&pair, 7, 0);
	sonde_pair_begin(&pair, 9, 10);
	sonde_pair_begin(&pair, 7, 20);
	for (uint64_t end = 30; pair.depth; end += 10)
		if (sonde_pair_end(&pair, end, &zone) && zone.site == 7)
			sonde_pair_add(&stat, &zone);
	assert_int_equal(stat.count, 2);
	assert_int_equal(stat.total_ns, 50);
	assert_int_equal(stat.self_ns, 10 + 20);
	assert_int_equal(stat.min_ns, 10);
	assert_int_equal(stat.max_ns, 50);
}

static void runs_add_up_as_single_zones_do(void **state)
{
	(void)state;
	const uint32_t sites[] = {7, 0, 7, 0, 7, 0, 9, 0, 7, 0};
	const uint64_t times_ns[] = {10, 15, 20, 22, 30, 39, 40, 50, 60, 70};
	struct sonde_pair_run run = sonde_pair_leaves(sites, times_ns, 10);
	assert_int_equal(run.count, 3); /* up to the first of another site */
	assert_int_equal(run.sum_ns, 5 + 2 + 9);
	assert_int_equal(run.min_ns, 2);
	assert_int_equal(run.max_ns, 9);
	assert_int_equal(sonde_pair_leaves(sites, times_ns, 5).count, 2); /* the third has no end here */
	struct sonde_zone_stat stat = {.site = 7, .count = 1, .total_ns = 4, .self_ns = 4, .min_ns = 4, .max_ns = 4};
	sonde_pair_add_run(&stat, &run, 0);
	sonde_pair_add_run(&stat, &run, 1);
	assert_int_equal(stat.count, 7);
	assert_int_equal(stat.total_ns, 4 + 16); /* those inside another of the same site add none */
	assert_int_equal(stat.self_ns, 4 + 16 + 16);
	assert_int_equal(stat.min_ns, 2);
	assert_int_equal(stat.max_ns, 9);
}

static void ends_without_begin_are_counted(void **state)
{
	(void)state;
	struct sonde_pair_frame frames[2];
	struct sonde_pair pair;
	struct sonde_pair_zone zone;
	sonde_pair_init(&pair, frames, 2);
	assert_int_equal(sonde_pair_end(&pair, 5, &zone), 0);
	assert_int_equal(pair.unmatched, 1);
	for (uint32_t site = 1; site <= 5; site++)
		sonde_pair_begin(&pair, site, 10 * site);
	assert_int_equal(pair.depth, 2);
	assert_int_equal(pair.over, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(sonde_pair_end(&pair, 60, &zone), 0);
	assert_int_equal(sonde_pair_end(&pair, 70, &zone), 1);
	assert_int_equal(zone.site, 2);
	assert_int_equal(zone.self_ns, 50);
	assert_int_equal(sonde_pair_end(&pair, 5, &zone), 1); /* time ran backwards */
	assert_int_equal(zone.dur_ns, 0);
	assert_int_equal(pair.unmatched, 1);
}

static void rows_are_found_again(void **state)
{
	(void)state;
	struct sonde_zone_stat rows[16];
	memset(rows, 0, sizeof(rows));
	struct sonde_pair_table table = {.rows = rows, .capacity = 16};
	for (uint32_t site = 1; site <= 12; site++)
		sonde_pair_row(&table, site * 1000)->count = site;
	assert_null(sonde_pair_row(&table, 77));
	for (uint32_t site = 1; site <= 12; site++)
		assert_int_equal(sonde_pair_row(&table, site * 1000)->count, site);
	struct sonde_zone_stat sum = {0};
	sonde_pair_merge(&sum, &(struct sonde_zone_stat){.count = 0, .min_ns = 0});
	sonde_pair_merge(&sum, &(struct sonde_zone_stat){.count = 2, .min_ns = 5, .max_ns = 9, .total_ns = 14});
	sonde_pair_merge(&sum, &(struct sonde_zone_stat){.count = 1, .min_ns = 7, .max_ns = 7, .total_ns = 7});
	assert_int_equal(sum.min_ns, 5);
	assert_int_equal(sum.max_ns, 9);
	assert_int_equal(sum.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(self_time_excludes_children),    cmocka_unit_test(recursion_counts_time_once),
	    cmocka_unit_test(runs_add_up_as_single_zones_do), cmocka_unit_test(ends_without_begin_are_counted),
	    cmocka_unit_test(rows_are_found_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
