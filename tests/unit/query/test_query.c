/* test_query.c: every table returns the content of a synthetic recording; unknown values are NULL; nothing can be
 * modified, and time is bounded. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "query_fixture.h"
#include "util/error.h"

#define START RECORDING_START_NS
#define MS 1000000ull

static const struct sonde_query_limits none;

/* main < (outer < inner): 3 samples in inner, 2 in outer, of which one in the kernel, and measured time without a
 * stack. */
static void write_stacks(struct recording *recording)
{
	uint32_t main = recording_call(recording, 0, 1, "main", 10);
	uint32_t outer = recording_call(recording, main, 1, "outer", 20);
	uint32_t inner = recording_call(recording, outer, 1, "inner", 30);
	for (uint64_t i = 0; i < 3; i++)
		recording_sample(recording,
				 (struct recording_sample){START + i * MS, 1, inner, MS, SONDE_STACK_COMPLETE});
	recording_sample(recording, (struct recording_sample){START + 3 * MS, 2, outer, MS, SONDE_STACK_COMPLETE});
	recording_sample(recording, (struct recording_sample){START + 4 * MS, 2, outer, MS, SONDE_SAMPLE_KERNEL});
	recording_sample(recording, (struct recording_sample){START + 5 * MS, 1, 0, 7 * MS, SONDE_STACK_MEASURED});
}

static void write_waits(struct recording *recording)
{
	uint32_t lock = recording_object(recording, 1, SONDE_OBJECT_LOCK, "queue", 0x40);
	uint32_t file = recording_object(recording, 1, SONDE_OBJECT_FILE, "/data", 0);
	recording_wait(recording, (struct recording_wait){.start_ns = START + MS,
							  .dur_ns = 5,
							  .thread = 1,
							  .other = 2,
							  .kind = SONDE_WAIT_MUTEX,
							  .object = lock});
	recording_wait(
	    recording,
	    (struct recording_wait){
		.start_ns = START, .dur_ns = 7, .thread = 2, .kind = SONDE_WAIT_READ, .object = file, .amount = 4096});
	recording_wait(recording, (struct recording_wait){.start_ns = START,
							  .dur_ns = 9,
							  .thread = 2,
							  .kind = SONDE_WAIT_READ,
							  .object = file,
							  .amount = 3,
							  .status = SONDE_WAIT_SAMPLED});
}

static void write_events(struct recording *recording)
{
	uint32_t counter = recording_site(recording, SONDE_SITE_COUNTER, "rounds", "");
	uint32_t gauge = recording_site(recording, SONDE_SITE_GAUGE, "queue", "B");
	uint32_t span = recording_site(recording, SONDE_SITE_SPAN, "request", "");
	uint32_t instant = recording_site(recording, SONDE_SITE_INSTANT, "tick", "");
	recording_value(recording, 1, SONDE_EVENT_COUNTER, counter, START + 1, 2);
	recording_value(recording, 1, SONDE_EVENT_COUNTER, counter, START + 2, 5);
	recording_value(recording, 1, SONDE_EVENT_GAUGE, gauge, START + 3, 2.5);
	recording_text(recording, 1, SONDE_EVENT_INSTANT, instant, START + 4, "");
	recording_text(recording, 1, SONDE_EVENT_MESSAGE, 0, START + 5, "hello");
	recording_span(recording, 1, SONDE_EVENT_SPAN_BEGIN, span, START + 10, 7);
	recording_span(recording, 1, SONDE_EVENT_SPAN_BEGIN, span, START + 11, 8);
	recording_span(recording, 2, SONDE_EVENT_SPAN_END, 0, START + 25, 7);
	recording_span(recording, 2, SONDE_EVENT_SPAN_END, 0, START + 26, 99);
}

static void write_heap(struct recording *recording)
{
	uint32_t heap = recording_heap(recording, 1, SONDE_HEAP_MALLOC, NULL);
	uint32_t site = recording_heap_site(recording, heap, 1, 1), other = recording_heap_site(recording, heap, 2, 2);
	size_t block = recording_begins(recording, site, START + 1, 100);
	recording_begins(recording, site, START + 2, 50);
	recording_begins(recording, other, START + 3, 8);
	recording_ends(recording, heap, block, 2, START + 4);
	recording_leak(recording, other, SONDE_HEAP_UNREACHABLE, 1, 8, NULL);
}

static void write_known(void)
{
	struct recording recording;
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 100, 0, "prog", START - 50);
	recording_thread(&recording, process, 100, "first", START);
	recording_thread(&recording, process, 101, "second\x1b[31m", START + 10);
	recording_module(&recording, "/usr/bin/prog", 0);
	recording_info(&recording, "host.cpu", "none");
	recording_lost(&recording, "zones", "ring full", 3);
	recording_cost(&recording, "recorder.user_ns", 11);
	recording_source(&recording, "cpu", SONDE_SOURCE_LIMITED, "timers", "no kernel", 1000);
	write_stacks(&recording);
	write_waits(&recording);
	write_events(&recording);
	write_heap(&recording);
	uint32_t series = recording_series(&recording, SONDE_METRIC_MEMORY_RSS, process, 0, "");
	recording_point(&recording, START + 1, series, 4096);
	recording_point(&recording, START + 2, series, 1024);
	recording_switch_on(&recording, START + 1, 1, SONDE_SWITCH_IN, 0);
	recording_switch_on(&recording, START + 2, 1, SONDE_SWITCH_OUT_BLOCKED, -1);
	recording_thread_end(&recording, 1, START + 100 * MS, 33);
	recording_process_end(&recording, process, START + 100 * MS, 5, 6);
	recording_close(&recording, START + 100 * MS, 0);
}

static void tables_of_the_run(void **state)
{
	(void)state;
	write_known();
	query_open(&none);
	expect("SELECT id, pid, parent_id, name, start_ns, end_ns, user_ns, system_ns FROM processes",
	       "1,100,NULL,prog,-50,100000000,5,6");
	expect("SELECT id, process, tid, start_ns, end_ns, cpu_ns FROM threads",
	       "1,prog,100,0,100000000,33;2,prog,101,10,NULL,NULL");
	expect("SELECT name FROM threads WHERE id = 2", "second\x1b[31m");
	expect("SELECT count(*) FROM threads WHERE id = 3 OR id = 0 OR id = '2' OR id = 1.5", "1");
	expect("SELECT name, value FROM info WHERE name LIKE 'host%'", "host.cpu,none");
	expect("SELECT * FROM lost", "zones,ring full,NULL,NULL,3");
	expect("SELECT * FROM costs", "recorder.user_ns,11");
	expect("SELECT name, state, method, detail, rate_hz FROM sources", "cpu,limited,timers,no kernel,1000");
	expect("SELECT time_ns, value, p.series, s.unit, s.kind FROM points p JOIN series s ON s.id = series_id",
	       "1,4096,memory.rss,B,gauge;2,1024,memory.rss,B,gauge");
	expect("SELECT wall_ns, is_closed, start_monotonic_ns FROM run", "100000000,1,1000000000");
	expect("SELECT state, sum(end_ns - start_ns) FROM states WHERE thread_id = 1 GROUP BY 1 ORDER BY 1",
	       "blocked,99999998;runnable,1;running,1");
	expect("SELECT time_ns, kind, cpu, waited_ns FROM switches", "1,in,0,NULL;2,blocked,NULL,NULL");
	query_close();
}

static void tables_of_stacks(void **state)
{
	(void)state;
	query_open(&none);
	expect("SELECT sum(weight_ns), sum(is_sample), sum(is_kernel), count(stack_id) FROM samples", "12000000,5,1,5");
	expect("SELECT function, self_ns, total_ns, samples FROM function_stats ORDER BY function",
	       "[kernel],1000000,1000000,1;inner,3000000,3000000,3;main,0,5000000,0;outer,1000000,5000000,1");
	expect("SELECT s.function, count(*) FROM samples JOIN stacks s ON s.id = stack_id GROUP BY 1",
	       "inner,3;outer,2");
	expect("SELECT depth, function, file, line, is_inlined FROM frames WHERE stack_id = 3",
	       "0,inner,src/inner.c,30,0;1,outer,src/outer.c,20,0;2,main,src/main.c,10,0");
	expect("SELECT count(*) FROM frames", "6");
	expect("SELECT f.name, m.path FROM functions f JOIN modules m ON m.id = f.module_id ORDER BY 1 LIMIT 1",
	       "inner,/usr/bin/prog");
	expect("SELECT id, parent_id FROM stacks", "1,NULL;2,1;3,2");
	query_close();
}

static void tables_of_waits_and_heaps(void **state)
{
	(void)state;
	query_open(&none);
	expect("SELECT class, kind, object, start_ns, end_ns, dur_ns, other_thread_id, size_b, looks, is_estimated "
	       "FROM waits "
	       "ORDER BY dur_ns",
	       "lock,mutex,queue,1000000,1000005,5,2,0,NULL,0;io,read,/data,0,7,7,NULL,4096,NULL,0;"
	       "io,read,/data,0,9,9,NULL,NULL,3,1");
	expect("SELECT kind, sum(size_b), sum(looks) FROM waits GROUP BY kind ORDER BY kind",
	       "mutex,0,NULL;read,4096,3");
	expect("SELECT heap_site_id, thread_id, blocks, size_b, freed_blocks, freed_b, peak_b, left_b, is_estimated, "
	       "temporary "
	       "FROM heap_stats",
	       "1,1,2,150,1,100,150,50,0,0;2,2,1,8,0,0,8,8,0,0");
	expect("SELECT is_end, count(*), sum(size_b), max(mean_b) FROM allocations GROUP BY is_end",
	       "0,3,158,0;1,1,100,0");
	expect("SELECT heap_site_id, kind, blocks, size_b FROM leaks", "2,unreachable,1,8");
	query_close();
}

static void tables_of_events(void **state)
{
	(void)state;
	query_open(&none);
	expect("SELECT time_ns, counter, kind, value FROM counters",
	       "1,rounds,counter,2;2,rounds,counter,5;3,queue,gauge,2.5");
	expect("SELECT time_ns, name, text FROM messages", "4,tick,NULL;5,NULL,hello");
	expect("SELECT max(text) FROM messages", "hello");
	expect("SELECT span, number, start_ns, end_ns, dur_ns, start_thread_id, end_thread_id FROM spans",
	       "request,7,10,25,15,1,2;request,8,11,NULL,NULL,1,NULL");
	expect("SELECT count(*) FROM counters WHERE thread_id = 2 OR process_id = 9", "0");
	query_close();
}

/* Ninety samples of a hundred in one place, with or without a loss of as many. */
static void write_hot(int is_lossy)
{
	struct recording recording;
	recording_open(&recording, path);
	uint32_t process = recording_process(&recording, 100, 0, "prog", START);
	recording_thread(&recording, process, 100, "prog", START);
	recording_module(&recording, "/usr/bin/prog", 0);
	uint32_t hot = recording_call(&recording, 0, 1, "hot", 10), cold = recording_call(&recording, 0, 1, "cold", 20);
	for (uint64_t i = 0; i < 100; i++)
		recording_sample(&recording, (struct recording_sample){START + (i + 1) * MS, 1, i < 90 ? hot : cold, MS,
								       SONDE_STACK_COMPLETE});
	if (is_lossy)
		recording_lost(&recording, "cpu", "perf event buffer full", 100);
	recording_process_end(&recording, process, START + 101 * MS, 100 * MS, 0);
	recording_close(&recording, START + 101 * MS, 0);
}

static void tables_of_findings(void **state)
{
	(void)state;
	write_hot(0);
	query_open(&none);
	expect("SELECT rank, rule, subject, severity FROM findings WHERE rule = 'hot-function'",
	       "1,hot-function,hot,high");
	expect("SELECT count(*) FROM finding_notes WHERE note LIKE 'suppressed: %'", "0");
	expect("SELECT is_warning, note FROM finding_notes",
	       "0,not checked: blocking calls (--threads --io), allocations (--heap), "
	       "wake-ups (no critical path)");
	query_close();
	write_hot(1);
	query_open(&none);
	expect("SELECT count(*) FROM findings WHERE rule = 'hot-function'", "0");
	expect("SELECT is_warning, note FROM finding_notes WHERE note LIKE 'suppressed: %'",
	       "1,suppressed: hot-function (hot): its data is incomplete");
	query_close();
}

static void refuse(const char *sql)
{
	if (sonde_query_start(query, sql) != -EINVAL)
		fail_msg("not refused: %s", sql);
	assert_true(strlen(sonde_error_text()) > 10);
}

static void tables_of_devices(void **state)
{
	struct recording recording;
	(void)state;
	recording_open(&recording, path);
	recording_process(&recording, 100, 0, "prog", START);
	recording_thread(&recording, 1, 100, "first", START);
	uint32_t device = recording_device(&recording, 1, "CUDA", "toy",
					   (struct sonde_meta_device){.kind = 1, .index = 3, .units = 132});
	uint32_t queue = recording_queue(&recording, device, "main", 7);
	uint32_t kernel = recording_operation(&recording, SONDE_ACTIVITY_KERNEL, "k",
					      (struct sonde_meta_operation){.grid = {64, 2, 1}, .block = {256}});
	uint32_t copy = recording_operation(&recording, SONDE_ACTIVITY_COPY, "up",
					    (struct sonde_meta_operation){.from = 2, .to = 3});
	uint32_t call = recording_operation(&recording, SONDE_ACTIVITY_API, "launch", (struct sonde_meta_operation){0});
	recording_activity(
	    &recording, (struct recording_activity){START + 10, 5, kernel, queue, 1, START + 4, START + 9, 77, 0, 0});
	recording_activity(&recording, (struct recording_activity){START + 20, 8, copy, queue, 1, 0, 0, 0, 4096, 0});
	recording_activity(&recording, (struct recording_activity){START + 3, 2, call, 0, 1, 0, 0, 77, 0, 0});
	recording_close(&recording, START + 100, 0);
	query_open(&none);
	expect("SELECT id, process_id, api, name, number, kind, uuid, units, clock_mhz FROM devices",
	       "1,1,CUDA,toy,3,GPU,NULL,132,NULL");
	expect("SELECT id, device_id, name, handle, is_default FROM queues", "1,1,main,7,0");
	expect("SELECT id, kind, name, grid_x, grid_y, block_x, block_y, from_memory, to_memory FROM operations",
	       "1,kernel,k,64,2,256,NULL,NULL,NULL;2,copy,up,NULL,NULL,NULL,NULL,pinned,device;"
	       "3,api,launch,NULL,NULL,NULL,NULL,NULL,NULL");
	expect("SELECT start_ns, end_ns, operation, kind, queue_id, device, delay_ns, submitted_delay_ns, size_b "
	       "FROM activities ORDER BY start_ns",
	       "3,5,launch,api,NULL,NULL,NULL,NULL,0;10,15,k,kernel,1,toy,6,1,0;20,28,up,copy,1,toy,NULL,NULL,4096");
	expect("SELECT a.start_ns - c.start_ns FROM activities a JOIN activities c USING (correlation) "
	       "WHERE a.kind = 'kernel' AND c.kind = 'api'",
	       "7");
	expect("SELECT sum(dur_ns) FROM activities WHERE start_ns >= 10 AND start_ns < 20", "5");
	query_close();
}

static void nothing_is_changed(void **state)
{
	(void)state;
	static const struct sonde_query_limits short_time = {.timeout_ns = 50 * MS};
	query_open(&short_time);
	refuse("CREATE TABLE x(a)");
	refuse("CREATE TEMP TABLE x AS SELECT 1");
	refuse("CREATE VIRTUAL TABLE x USING zones");
	refuse("INSERT INTO zones(depth) VALUES (1)");
	refuse("UPDATE threads SET name = 'x'");
	refuse("DELETE FROM threads");
	refuse("DROP TABLE threads");
	refuse("ATTACH '/tmp/x.db' AS x");
	refuse("VACUUM");
	refuse("PRAGMA hard_heap_limit = 0");
	refuse("PRAGMA temp_store = file");
	refuse("SELECT load_extension('x')");
	refuse("SELECT \"no such column\" FROM threads");
	refuse("SELECT ?1");
	refuse("");
	refuse("SELECT 1; DELETE FROM threads");
	refuse("INSERT INTO sqlite_master(name) VALUES ('x')");
	refuse("UPDATE sqlite_master SET name = 'x'");
	expect("SELECT sum(value) FROM json_each('[1, 2]')", "3");
	expect("SELECT name FROM pragma_table_info('threads') WHERE cid = 0", "id");
	assert_int_equal(sonde_query_start(query, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
						  "SELECT count(*) FROM c"),
			 0);
	assert_int_equal(sonde_query_next(query), -ETIMEDOUT);
	expect("SELECT 1", "1");
	query_close();
}

static void every_table_is_described(void **state)
{
	(void)state;
	char sql[4096];
	struct sonde_query_about table, column;
	struct recording recording;
	recording_open(&recording, path);
	recording_close(&recording, START, 0);
	query_open(&none);
	size_t tables = 0;
	for (; sonde_query_about(tables, &table); tables++) {
		size_t used = (size_t)snprintf(sql, sizeof sql, "SELECT count(*)");
		assert_true(strlen(table.meaning) > 5);
		for (size_t c = 0; sonde_query_about_column(tables, c, &column); c++) {
			assert_true(strlen(column.meaning) > 3);
			used += (size_t)snprintf(sql + used, sizeof sql - used, ", %s(%s)", "max", column.name);
		}
		snprintf(sql + used, sizeof sql - used, " FROM %s", table.name);
		const char *found = answer(sql); /* of an empty recording: names are right, and nothing is there */
		if (strcmp(table.name, "info") && strcmp(table.name, "run") && strcmp(table.name, "finding_notes"))
			assert_memory_equal(found, "0,", 2);
	}
	assert_true(tables > 20);
	query_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tables_of_the_run),         cmocka_unit_test(tables_of_stacks),
	    cmocka_unit_test(tables_of_waits_and_heaps), cmocka_unit_test(tables_of_events),
	    cmocka_unit_test(tables_of_devices),         cmocka_unit_test(tables_of_findings),
	    cmocka_unit_test(nothing_is_changed),        cmocka_unit_test(every_table_is_described),
	};
	return cmocka_run_group_tests(tests, enter, leave);
}
