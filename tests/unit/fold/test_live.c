/* test_live.c: answers to a program's queries when zones are deeply nested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "fold/live.h"

#define SITE 2u
#define THREAD_INDEX 5u

static uint32_t sites[140000];
static uint64_t times_ns[140000];

/* `depth` zones of one site, each begun 1 ns after the one outside it and ended 1 ns after the one inside. */
static struct sonde_link_row answer_of(uint32_t depth, uint64_t *left_out)
{
	void *memory =
	    mmap(NULL, SONDE_LIVE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(memory != MAP_FAILED);
	struct sonde_live *live = sonde_live_init(memory);
	const struct sonde_drain_site site = {SITE, SONDE_SITE_ZONE, 0, 0, "deep", "", "", ""};
	const struct sonde_drain_thread thread = {.serial = 1, .index = THREAD_INDEX};
	sonde_live_site(live, &site);
	for (uint32_t i = 0; i < 2 * depth; i++) {
		sites[i] = i < depth ? SITE : 0;
		times_ns[i] = 1000 + i;
	}
	*left_out = 0;
	for (uint32_t done = 0, part; done < 2 * depth; done += part) { /* as rounds cut them */
		part = 2 * depth - done < 1000 ? 2 * depth - done : 1000;
		*left_out += sonde_live_zones(live, &thread, sites + done, times_ns + done, part, 0);
	}
	assert_int_equal(sonde_live_depth(live, &thread), 0);
	struct sonde_link_query query = {.what = SONDE_LINK_BY_NAME, .quantile = 0.5, .name = "deep"};
	struct sonde_link_answer answer;
	sonde_live_answer(live, &query, &answer);
	assert_int_equal(answer.rows, 1);
	sonde_live_fini(live);
	munmap(memory, SONDE_LIVE_B);
	return answer.row[0];
}

static void deep_zones_all_count(void **state)
{
	(void)state;
	const uint32_t depths[] = {1, 32, 33, 200, 4096, SONDE_ZONES_OPEN_MAX};
	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		uint64_t left_out;
		struct sonde_link_row row = answer_of(depths[i], &left_out);
		assert_int_equal(left_out, 0);
		assert_int_equal(row.count, depths[i]);
		assert_int_equal(row.total_ns, 2 * depths[i] - 1);
		assert_int_equal(row.self_ns, row.total_ns); /* all of it is in zones of this name */
		assert_int_equal(row.min_ns, 1);
		assert_int_equal(row.max_ns, 2 * depths[i] - 1);
	}
}

static void deeper_ones_are_said_to_be_left_out(void **state)
{
	(void)state;
	uint64_t left_out;
	struct sonde_link_row row = answer_of(SONDE_ZONES_OPEN_MAX + 100, &left_out);
	assert_int_equal(left_out, 100);
	assert_int_equal(row.count, SONDE_ZONES_OPEN_MAX);
	assert_int_equal(row.max_ns, 2 * (SONDE_ZONES_OPEN_MAX + 100) - 1);
	assert_int_equal(row.min_ns, 2 * 100 + 1);
}

/* Short zones in a row, one too long to be squared as an integer, inside a long one of the same name or of another. */
static void zones_in_a_row_are_zones_like_others(void **state)
{
	(void)state;
	const uint64_t durations[] = {5, 300, UINT64_C(1) << 33, 5};
	void *memory =
	    mmap(NULL, SONDE_LIVE_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(memory != MAP_FAILED);
	struct sonde_live *live = sonde_live_init(memory);
	const struct sonde_drain_site inner = {SITE, SONDE_SITE_ZONE, 0, 0, "inner", "", "", ""};
	const struct sonde_drain_site outer = {SITE + 1, SONDE_SITE_ZONE, 0, 0, "outer", "", "", ""};
	const struct sonde_drain_thread thread = {.serial = 1, .index = THREAD_INDEX};
	sonde_live_site(live, &inner);
	sonde_live_site(live, &outer);
	uint64_t now_ns = 1000, sum_ns = 0;
	double squares = 0;
	for (uint32_t round = 0; round < 2; round++) {
		uint32_t count = 0;
		sites[count] = SITE + round;
		times_ns[count++] = now_ns;
		for (size_t i = 0; i < 4; i++) {
			sites[count] = SITE;
			times_ns[count++] = ++now_ns;
			sites[count] = 0;
			times_ns[count++] = now_ns += durations[i];
			sum_ns += durations[i];
			squares += (double)durations[i] * (double)durations[i];
		}
		sites[count] = 0;
		times_ns[count++] = ++now_ns;
		assert_int_equal(sonde_live_zones(live, &thread, sites, times_ns, count, 0), 0);
	}
	uint64_t long_ns = sum_ns / 2 + 5;
	struct sonde_link_query query = {.what = SONDE_LINK_BY_NAME, .quantile = 0.5, .name = "inner"};
	struct sonde_link_answer answer;
	sonde_live_answer(live, &query, &answer);
	assert_int_equal(answer.row[0].count, 9);
	assert_int_equal(answer.row[0].total_ns, long_ns + sum_ns / 2);
	assert_int_equal(answer.row[0].self_ns, long_ns + sum_ns / 2);
	assert_int_equal(answer.row[0].min_ns, 5);
	assert_int_equal(answer.row[0].max_ns, long_ns);
	assert_int_equal(answer.row[0].quantile_ns, sonde_hist_value(sonde_hist_bucket(300)));
	squares += (double)long_ns * (double)long_ns;
	assert_true(answer.row[0].square_ns > squares * (1 - 1e-12) && answer.row[0].square_ns < squares * (1 + 1e-12));
	query.what = SONDE_LINK_LAST;
	sonde_live_answer(live, &query, &answer);
	assert_string_equal(answer.row[0].name, "outer");
	assert_int_equal(answer.row[0].self_ns, 5);
	sonde_live_fini(live);
	munmap(memory, SONDE_LIVE_B);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(deep_zones_all_count),
	    cmocka_unit_test(deeper_ones_are_said_to_be_left_out),
	    cmocka_unit_test(zones_in_a_row_are_zones_like_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
