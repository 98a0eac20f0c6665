/* test_exchange_waits.c: stacks by waiting time: every metric in every format adds up to the same ns, which is also
 * that of the section about waiting, on a recording whose every call is known; also for a part of it.
 *
 * With a folder as argument the outputs are left there, for external validators (tests/validate/run.sh).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/pass.h"
#include "exchange.h"
#include "recording.h"
#include "session/weigh.h"

#define MS UINT64_C(1000000)
#define START RECORDING_START_NS
#define HOSTILE "=ev\033[31mil<script>|`\"\n;\xff\xe2\x80\xae"

static char folder[] = "/tmp/sonde-test-exchange-waits-XXXXXX";
static char path[80];
static struct sonde_session *session;

/* Locks 20 ms + 7 ns, 3 calls; I/O 12 ms, 2 calls; in total with 40 ms of sleep and a join of 5 ms without a stack.
 * Holding a lock is not waiting. */
static void put_waits(struct recording *recording, uint32_t take, uint32_t load, uint32_t evil)
{
	uint32_t lock = recording_object(recording, 1, SONDE_OBJECT_LOCK, "queue_mutex", 0x4040);
	uint32_t bare = recording_object(recording, 1, SONDE_OBJECT_LOCK, "", 0x5050);
	uint32_t file = recording_object(recording, 1, SONDE_OBJECT_FILE, HOSTILE, 0);
	const struct recording_wait waits[] = {
	    {START + 10 * MS, 5 * MS, 1, 2, SONDE_WAIT_MUTEX, take, SONDE_STACK_COMPLETE, lock, 0},
	    {START + 30 * MS, 12 * MS + 7, 1, 0, SONDE_WAIT_MUTEX, take, SONDE_STACK_COMPLETE, lock, 0},
	    {START + 5 * MS, 3 * MS, 2, 0, SONDE_WAIT_READ_LOCK, evil, SONDE_STACK_COMPLETE, bare, 0},
	    {START + 8 * MS, 60 * MS, 2, 0, SONDE_WAIT_HELD, evil, SONDE_STACK_COMPLETE, lock, 0},
	    {START + 50 * MS, 10 * MS, 2, 0, SONDE_WAIT_READ, load, SONDE_STACK_NO_TABLE, file, 4096},
	    {START + 62 * MS, 2 * MS, 2, 0, SONDE_WAIT_WRITE, load, SONDE_STACK_NO_TABLE, file, 100},
	    {START + 50 * MS, 40 * MS, 1, 0, SONDE_WAIT_SLEEP, take, SONDE_STACK_COMPLETE, 0, 0},
	    {START + 92 * MS, 5 * MS, 1, 0, SONDE_WAIT_JOIN, 0, SONDE_STACK_NO_TABLE, 0, 0},
	};
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		recording_wait(recording, waits[i]);
}

/* The Firefox Profiler opens no trace without a CPU sample. */
static void put_recording(const char *to, int with_sample)
{
	struct recording recording;
	recording_open(&recording, to);
	recording.chunk_rows = 3;
	recording_info(&recording, "run.command", "./app --size 3");
	recording_process(&recording, 100, 0, "app", START);
	recording_thread(&recording, 1, 100, "app", START);
	recording_thread(&recording, 1, 101, "work;er\033", START);
	uint32_t app = recording_module(&recording, "/usr/bin/app", 0);
	uint32_t main_node = recording_call(&recording, 0, app, "main", 10);
	uint32_t take = recording_call(&recording, main_node, app, "take", 20);
	uint32_t load = recording_call(&recording, main_node, app, "load", 30);
	uint32_t evil = recording_call(&recording, main_node, app, HOSTILE, 5);
	put_waits(&recording, take, load, evil);
	if (with_sample)
		recording_sample(&recording, (struct recording_sample){START + MS, 1, take, MS, 0});
	recording_close(&recording, START + 100 * MS, 0);
}

static const uint8_t second[] = {0, 0, 1};

static const struct {
	enum sonde_weigh_by by;
	struct sonde_selection range;
	uint64_t calls, ns;
} known[] = {
    {SONDE_WEIGH_WAITING, {0}, 7, 77 * MS + 7},
    {SONDE_WEIGH_LOCKS, {0}, 3, 20 * MS + 7},
    {SONDE_WEIGH_IO, {0}, 2, 12 * MS},
    {SONDE_WEIGH_WAITING, {.thread = second}, 3, 15 * MS},
    {SONDE_WEIGH_LOCKS, {.thread = second}, 1, 3 * MS},
    /* from the middle of the second call for the lock to the middle of the read and of the sleep */
    {SONDE_WEIGH_WAITING, {START + 36 * MS, START + 55 * MS, NULL}, 2, 16 * MS + 7},
    {SONDE_WEIGH_LOCKS, {START + 36 * MS, START + 55 * MS, NULL}, 0, 6 * MS + 7},
    {SONDE_WEIGH_IO, {START + 36 * MS, START + 55 * MS, second}, 1, 5 * MS},
    {SONDE_WEIGH_IO, {START + 1 * MS, START + 2 * MS, NULL}, 0, 0},
};
enum { KNOWN = sizeof known / sizeof *known };

static void weights_are_those_of_the_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOWN; i++) {
		const struct sonde_weigh_view view = {.weigh.by = known[i].by, .range = known[i].range};
		struct sonde_weights weights;
		uint64_t sum_ns = 0;
		assert_int_equal(sonde_weights_take(&weights, session, &view), 0);
		assert_int_equal(weights.count, known[i].calls);
		assert_int_equal(weights.weight, known[i].ns);
		for (size_t row = 0; row < weights.row_count; row++)
			sum_ns += weights.rows[row].weight;
		assert_int_equal(sum_ns, known[i].ns);
		sonde_weights_fini(&weights);
	}
}

/* --- formats ------------------------------------------------------------------------------------------------------ */

static struct text exported(const char *name, size_t i)
{
	const struct sonde_selection *range = &known[i].range;
	const struct sonde_format_options options = {.selection.from_ns = range->from_ns,
						     .selection.to_ns = range->to_ns,
						     .selection.thread = range->thread,
						     .weigh.by = known[i].by};
	return exchange_export(session, name, &options);
}

/* A section in a report format. */
static char *section_as(const char *section, const char *name, size_t i)
{
	const struct sonde_pass *pass = sonde_pass_find(section);
	const struct sonde_selection *range = &known[i].range;
	const struct sonde_pass_options options = {.selection.from_ns = range->from_ns,
						   .selection.to_ns = range->to_ns,
						   .selection.thread = range->thread,
						   .weigh.by = known[i].by,
						   .requested = 1};
	const struct sonde_format_options narrow = {.width = 80};
	struct sonde_report *report;
	char *text = NULL;
	size_t size_b = 0;
	assert_int_equal(sonde_report_new(&report), 0);
	assert_int_equal(sonde_pass_run(session, &pass, 1, &options, report), 0);
	FILE *out = open_memstream(&text, &size_b);
	assert_int_equal(sonde_format_find(name)->render(report, &narrow, out), 0);
	fclose(out);
	sonde_report_free(report);
	return text;
}

/* The sum of a key's numbers in JSON. */
static uint64_t json_sum(char *text, const char *key)
{
	uint64_t sum = 0;
	for (char *at = text; (at = strstr(at, key));)
		sum += strtoull(at += strlen(key), NULL, 10);
	free(text);
	return sum;
}

/* Durations of the slices: microseconds with three decimals. */
static uint64_t chrome_sum_ns(struct text text)
{
	uint64_t sum_ns = 0;
	assert_harmless(text);
	for (char *at = text.data; (at = strstr(at, "\"cat\":\"wait\""));) {
		char *end;
		at = strstr(at, "\"dur\":") + strlen("\"dur\":");
		sum_ns += strtoull(at, &end, 10) * 1000;
		assert_int_equal(*end, '.');
		sum_ns += strtoull(end + 1, &at, 10);
	}
	free(text.data);
	return sum_ns;
}

static void all_formats_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOWN; i++) {
		uint64_t sums[EXCHANGE_VALUES_MAX];
		assert_int_equal(exchange_folded_sum(exported("folded", i)), known[i].ns);
		assert_int_equal(exchange_speedscope_sum(exported("speedscope", i)), known[i].ns);
		assert_int_equal(json_sum(section_as("calltree", "json", i), "\"self\": "), known[i].ns);
		assert_int_equal(exchange_callgrind_sums(exported("callgrind", i), sums), known[i].ns ? 2 : 0);
		assert_int_equal(sums[0], known[i].calls);
		assert_int_equal(sums[1], known[i].ns);
		if (known[i].by != SONDE_WEIGH_WAITING)
			continue;
		assert_int_equal(exchange_pprof_sums(exported("pprof", i), sums), 2);
		assert_int_equal(sums[0], known[i].calls);
		assert_int_equal(sums[1], known[i].ns);
		assert_int_equal(json_sum(section_as("waits", "json", i), "\"total_ns\": "), known[i].ns);
		assert_int_equal(chrome_sum_ns(exported("chrome", i)), known[i].ns);
	}
}

static void folded_has_ns(void **state)
{
	(void)state;
	struct text text = exported("folded", 0);
	assert_string_equal(text.data,
			    "app;(no stack);[join] 5000000\n"
			    "app;main;take;[mutex] 17000007\n"
			    "app;main;take;[sleep] 40000000\n"
			    "app;work:er\\x1b;main;=ev\\x1b[31mil<script>|`\"\\n:\\xff\\u{202e};[read lock] 3000000\n"
			    "app;work:er\\x1b;main;load;[read] 10000000\n"
			    "app;work:er\\x1b;main;load;[write] 2000000\n");
	free(text.data);
}

static void every_format_says_the_unit(void **state)
{
	(void)state;
	struct text text = exported("speedscope", 1);
	assert_has(text.data, "\"name\":\"time waiting for locks\"");
	assert_has(text.data, "\"name\":\"app/app (100/100)\",\"unit\":\"nanoseconds\",");
	free(text.data);
	text = exported("callgrind", 2);
	assert_has(text.data, "desc: Costs: time waiting for I/O (all threads); Waiting is in nanoseconds\n");
	assert_has(text.data, "events: Waits Waiting\nsummary: 2 12000000\n");
	free(text.data);
	char *tree = section_as("calltree", "json", 0);
	assert_has(tree, "\"unit\": \"ns\"");
	assert_has(tree, "\"value\": \"time waiting\"");
	free(tree);
	tree = section_as("calltree", "svg", 0);
	assert_has(tree, "<title>./app --size 3: time waiting</title>");
	assert_has(tree, ">Time waiting: 77.0 ms in all");
	assert_has(tree, "self 40.0 ms, 51.9 %");
	free(tree);
}

static void trees_say_what_they_weigh(void **state)
{
	(void)state;
	char *text = section_as("calltree", "text", 0);
	assert_has(text, "Call tree by time waiting");
	assert_has(text, "100 % = 0.077 s in 7 calls: time waiting (all threads)");
	assert_has(text, "1 of 3 stacks (33.3 %) are incomplete");
	assert_has(text, "6.5 % have no stack");
	assert_has(text, "(no stack)");
	free(text);
	text = section_as("calltree", "text", KNOWN - 1);
	assert_has(text, "no time waiting for I/O in this selection");
	free(text);
}

/* Every format ends a stack in the kind of its call, whatever the numbers are. */
static void stacks_end_in_the_kind_of_call(void **state)
{
	static const char *const kinds[] = {"[mutex]", "[sleep]", "[read lock]", "[read]", "[write]", "[join]"};
	static const char *const formats[] = {"folded", "speedscope", "callgrind"};
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
			struct text text = exported(formats[k], 0);
			assert_has(text.data, kinds[i]);
			free(text.data);
		}
		for (size_t k = 0; k < 2; k++) {
			char *tree = section_as("calltree", k ? "svg" : "json", 0);
			assert_has(tree, kinds[i]);
			free(tree);
		}
		size_t size_b;
		uint8_t *profile = exchange_unzip(exported("pprof", 0), &size_b);
		assert_non_null(memmem(profile, size_b, kinds[i], strlen(kinds[i])));
		free(profile);
	}
	struct text locks = exported("folded", 1); /* only of those that are weighted */
	assert_null(strstr(locks.data, "[sleep]"));
	free(locks.data);
}

/* Calls of the first thread: for the lock at 10 ms and at 30 ms, which are neighbours, then asleep, then a join. */
static void speedscope_has_calls_in_time_order(void **state)
{
	(void)state;
	struct text text = exported("speedscope", 0);
	assert_has(text.data, "\"samples\":[[0,1,2],[0,1,3],[4,5]],\"weights\":[17000007,40000000,5000000]");
	/* The second: the row lock at 5 ms, and a file from 50 ms on. */
	assert_has(text.data, "\"weights\":[3000000,10000000,2000000]");
	free(text.data);
}

/* One slice per call, and none for holding a lock. */
static void chrome_has_slices(void **state)
{
	(void)state;
	struct text text = exported("chrome", 0);
	assert_has(text.data,
		   "{\"ph\":\"X\",\"name\":\"mutex\",\"cat\":\"wait\",\"pid\":100,\"tid\":100,\"ts\":10000.000,"
		   "\"dur\":5000.000,\"args\":{\"kind\":\"mutex\",\"object\":\"queue_mutex\",\"held_by\":\"work;er");
	assert_has(text.data, "\"args\":{\"kind\":\"read lock\",\"object\":\"0x5050\"}}");
	assert_has(text.data,
		   "\"tid\":101,\"ts\":50000.000,\"dur\":10000.000,\"args\":{\"kind\":\"read\",\"object\":\"=ev");
	assert_has(text.data, "\"bytes\":4096}}");
	assert_has(text.data, "\"args\":{\"kind\":\"sleep\"}}");
	assert_null(strstr(text.data, "\"held\""));
	free(text.data);
}

/* Nothing is CPU time here. */
static void the_default_is_what_there_is(void **state)
{
	(void)state;
	assert_int_equal(sonde_weigh_default(session), SONDE_WEIGH_WAITING);
}

static int enter(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/a.sonde", folder);
	put_recording(path, 0);
	return sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1});
}

static int leave(void **state)
{
	(void)state;
	sonde_session_close(session);
	unlink(path);
	return rmdir(folder);
}

/* Leaves the recording in every exchange format in `to`, weighed by waiting, and its call tree. */
static int put_files(const char *to)
{
	static const char *const trees[] = {"json", "svg"};
	const struct sonde_format_options options = {.weigh.by = SONDE_WEIGH_WAITING};
	int rc = enter(NULL);
	sonde_session_close(session);
	put_recording(path, 1);
	rc = rc ? rc : sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1});
	rc = rc ? rc : exchange_put_all(session, to, "waits", &options);
	for (size_t i = 0; i < 2 && !rc; i++)
		rc = exchange_put(to, "waits.", trees[i], section_as("calltree", trees[i], 0));
	return rc | leave(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(weights_are_those_of_the_calls),
	    cmocka_unit_test(all_formats_agree),
	    cmocka_unit_test(folded_has_ns),
	    cmocka_unit_test(every_format_says_the_unit),
	    cmocka_unit_test(trees_say_what_they_weigh),
	    cmocka_unit_test(stacks_end_in_the_kind_of_call),
	    cmocka_unit_test(speedscope_has_calls_in_time_order),
	    cmocka_unit_test(chrome_has_slices),
	    cmocka_unit_test(the_default_is_what_there_is),
	};
	return argc > 1 ? put_files(argv[1]) : cmocka_run_group_tests(tests, enter, leave);
}
