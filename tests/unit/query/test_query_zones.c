/* test_query_zones.c: skipping chunks and sorting rows changes no answer: random zones and conditions, each written
 * so that SQLite can pass it to the tables, and so that it cannot (a unary plus before the column). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "query_fixture.h"
#include "util/error.h"

static const struct sonde_query_limits none;

static uint64_t seed = 1;

static unsigned random_below(unsigned limit)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % limit;
}

/* Three threads of two processes, chunks of 23 marks, names that are equal in pairs; some zones never end. */
static void write_zones(void)
{
	static const char *const names[] = {"c", "a", "b", "a", "", "c"};
	uint32_t depth[4] = {0};
	struct recording recording;
	uint64_t time_ns = RECORDING_START_NS;
	recording_open(&recording, path);
	recording.chunk_rows = 23;
	uint32_t one = recording_process(&recording, 1, 0, "one", RECORDING_START_NS);
	uint32_t two = recording_process(&recording, 2, 0, "two", RECORDING_START_NS);
	recording_thread(&recording, one, 1, "t", RECORDING_START_NS);
	recording_thread(&recording, one, 2, "u", RECORDING_START_NS);
	recording_thread(&recording, two, 3, "v", RECORDING_START_NS);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		recording_site(&recording, SONDE_SITE_ZONE, names[i], "");
	for (int i = 0; i < 6000; i++) {
		uint32_t thread = random_below(3) + 1;
		time_ns += random_below(300);
		if (depth[thread] < 12 && (!depth[thread] || random_below(2))) {
			recording_begin(&recording, thread, (i > 4000 ? random_below(6) : random_below(4)) + 1,
					time_ns);
			depth[thread]++;
		} else {
			recording_end(&recording, thread, time_ns);
			depth[thread]--;
		}
	}
	recording_close(&recording, time_ns + 1000, 0);
}

/* A condition on a column, with and without the plus. */
static void put_condition(char *with, char *without, size_t size_b)
{
	static const struct {
		const char *column;
		unsigned most;
		int is_time;
	} columns[] = {{"start_ns", 900000, 1},
		       {"end_ns", 900000, 1},
		       {"thread_id", 5, 0},
		       {"process_id", 4, 0},
		       {"site_id", 8, 0}};
	static const char *const comparisons[] = {"=", "<", "<=", ">", ">="};
	unsigned c = random_below(5);
	const char *comparison = comparisons[columns[c].is_time ? random_below(5)
					     : random_below(3)  ? 0
								: random_below(5)];
	unsigned value = random_below(columns[c].most);
	const char *fraction = random_below(8) ? "" : ".5";
	size_t used = strlen(with);
	snprintf(with + used, size_b - used, " AND +%s %s %u%s", columns[c].column, comparison, value, fraction);
	used = strlen(without);
	snprintf(without + used, size_b - used, " AND %s %s %u%s", columns[c].column, comparison, value, fraction);
}

static void conditions_change_nothing(void **state)
{
	(void)state;
	char expected[1024];
	int found = 0;
	write_zones();
	query_open(&none);
	for (int i = 0; i < 400; i++) {
		char with[512] = "SELECT count(*), sum(dur_ns), sum(site_id * depth), min(start_ns), max(end_ns), "
				 "sum(is_unfinished) FROM zones WHERE 1";
		char without[512];
		memcpy(without, with, sizeof without);
		for (unsigned n = random_below(3) + 1; n; n--)
			put_condition(with, without, sizeof with);
		snprintf(expected, sizeof expected, "%s", answer(with));
		found += *expected != '0';
		expect(without, expected);
	}
	assert_true(found > 50);
	query_close();
}

static void orders_change_nothing(void **state)
{
	(void)state;
	static const char *const orders[][2] = {
	    {"site_id", "+site_id"},
	    {"zone", "+zone"},
	    {"zone DESC, thread_id", "+zone DESC, +thread_id"},
	    {"thread_id DESC, zone, depth DESC, is_recursive", "+thread_id DESC, +zone, +depth DESC, +is_recursive"},
	    {"process, is_unfinished DESC, site_id DESC", "+process, +is_unfinished DESC, +site_id DESC"},
	};
	char sql[512], expected[4096];
	query_open(&none);
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		for (int by = 0; by < 2; by++) {
			snprintf(sql, sizeof sql,
				 "SELECT zone, process, count(*), sum(dur_ns), min(start_ns), max(depth) FROM (SELECT "
				 "* FROM "
				 "zones ORDER BY %s) GROUP BY zone, process",
				 orders[i][!by]);
			if (by)
				expect(sql, expected);
			else
				snprintf(expected, sizeof expected, "%s", answer(sql));
		}
	}
	expect("SELECT (SELECT group_concat(ifnull(zone, '-')) FROM (SELECT zone FROM zones ORDER BY zone)) = "
	       "(SELECT group_concat(ifnull(zone, '-')) FROM (SELECT zone FROM zones ORDER BY +zone))",
	       "1");
	expect("SELECT (SELECT group_concat(x) FROM (SELECT ifnull(zone, '-') || thread_id AS x FROM zones ORDER BY "
	       "zone DESC, "
	       "thread_id)) = (SELECT group_concat(x) FROM (SELECT ifnull(zone, '-') || thread_id AS x FROM zones "
	       "ORDER BY "
	       "+zone DESC, +thread_id))",
	       "1");
	snprintf(
	    expected, sizeof expected, "%s",
	    answer(
		"SELECT +zone, +thread_id, count(*), sum(self_ns), sum(dur_ns) FROM zones GROUP BY +zone, +thread_id "
		"ORDER BY 1, 2"));
	expect("SELECT zone, thread_id, count(*), sum(self_ns), sum(dur_ns) FROM zones GROUP BY zone, thread_id ORDER "
	       "BY 1, 2",
	       expected);
	expect("SELECT group_concat(site_id) FROM (SELECT DISTINCT site_id FROM zones ORDER BY site_id DESC)",
	       "6,5,4,3,2,1");
	query_close();
}

/* The sums in summaries are those of the zones that ended. */
static void sums_are_of_the_zones(void **state)
{
	(void)state;
	char expected[4096];
	query_open(&none);
	snprintf(expected, sizeof expected, "%s",
		 answer("SELECT process_id, thread_id, site_id, count(*), sum(self_ns), "
			"sum(dur_ns * (1 - is_recursive)), min(dur_ns), max(dur_ns) FROM zones WHERE NOT is_unfinished "
			"GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"));
	assert_true(strlen(expected) > 200);
	expect("SELECT process_id, thread_id, site_id, calls, self_ns, total_ns, min_ns, max_ns FROM zone_stats "
	       "ORDER BY 1, 2, 3",
	       expected);
	expect("SELECT count(*) FROM zones z, sites s, threads t, processes p WHERE s.id = z.site_id AND t.id = "
	       "z.thread_id "
	       "AND p.id = z.process_id AND z.is_unfinished",
	       answer("SELECT count(*) FROM zones WHERE is_unfinished"));
	query_close();
}

/* With too little memory for our own sorting SQLite sorts, in memory as well, and reports if that is too much. */
static void too_little_memory_is_said(void **state)
{
	(void)state;
	static const struct sonde_query_limits little = {.memory_b = 400000};
	char expected[64];
	query_open(&none);
	snprintf(expected, sizeof expected, "%s", answer("SELECT count(*), sum(dur_ns) FROM zones"));
	query_close();
	query_open(&little);
	expect("SELECT count(*), sum(dur_ns) FROM zones", expected);
	assert_int_equal(sonde_query_start(query, "SELECT hex(randomblob(5000)) AS x, * FROM zones ORDER BY x"), 0);
	assert_int_equal(sonde_query_next(query), -ENOMEM);
	assert_non_null(strstr(sonde_error_text(), "memory"));
	expect("SELECT 1", "1");
	query_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(conditions_change_nothing),
	    cmocka_unit_test(orders_change_nothing),
	    cmocka_unit_test(sums_are_of_the_zones),
	    cmocka_unit_test(too_little_memory_is_said),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
