/* test_exchange_heap.c: stacks by allocated, held or live memory: every metric in every format adds up to the
 * session's own sums, on a recording whose every block is known.
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

static char folder[] = "/tmp/sonde-test-exchange-heap-XXXXXX";
static char path[80];
static struct sonde_session *session;

static void put_remainder(struct recording *recording, uint32_t site, enum sonde_heap_leak kind, uint64_t size_b)
{
	struct sonde_meta_heap_leak record = {
	    .head.type = SONDE_META_HEAP_LEAK, .site = site, .kind = kind, .blocks = 1, .size_b = size_b};
	assert_int_equal(sonde_writer_meta(recording->writer, &record, sizeof record, NULL, 0), 0);
}

/* Site 1 is parse's, 2 grow's (called by parse), 3 a hostile name's in another thread; 4 a mapping, 5 a pool's, 6
 * another process's, one of its blocks of no bytes. malloc's blocks: the peak of the first process is at 4 ms, that of
 * the second at 20 ms. */
static void put_blocks(struct recording *recording)
{
	size_t large = recording_begins(recording, 1, START + 1 * MS, 1000);
	size_t grown = recording_begins(recording, 2, START + 2 * MS, 500);
	recording_begins(recording, 2, START + 3 * MS, 500);
	recording_begins(recording, 4, START + 3 * MS, 65536);
	size_t pooled = recording_begins(recording, 5, START + 3 * MS, 48);
	size_t temporary = recording_begins(recording, 3, START + 4 * MS, 64);
	recording_ends(recording, 1, temporary, 2, START + 5 * MS);
	recording_ends(recording, 1, grown, 1, START + 6 * MS);
	recording_ends(recording, 3, pooled, 1, START + 6 * MS);
	recording_begins(recording, 5, START + 6 * MS, 16);
	recording_begins(recording, 1, START + 7 * MS, 200);
	recording_ends(recording, 1, large, 1, START + 8 * MS);
	recording_begins(recording, 3, START + 9 * MS, 32);
	size_t other = recording_begins(recording, 6, START + 20 * MS, 4096);
	recording_begins(recording, 6, START + 20 * MS, 0);
	recording_ends(recording, 4, other, 3, START + 21 * MS);
	recording_begins(recording, 6, START + 22 * MS, 100);
	put_remainder(recording, 1, SONDE_HEAP_REACHABLE, 200);
	put_remainder(recording, 2, SONDE_HEAP_UNREACHABLE, 500);
	put_remainder(recording, 3, SONDE_HEAP_NOT_KNOWN, 32);
	put_remainder(recording, 6, SONDE_HEAP_UNREACHABLE, 100);
}

/* The Firefox Profiler opens no trace without a CPU sample. */
static void put_recording(const char *to, int with_sample)
{
	struct recording recording;
	recording_open(&recording, to);
	recording.chunk_rows = 3;
	recording_info(&recording, "run.command", "./app --size 3");
	recording_process(&recording, 100, 0, "app", START);
	recording_process(&recording, 200, 1, "kid", START + 10 * MS);
	recording_thread(&recording, 1, 100, "app", START);
	recording_thread(&recording, 1, 101, "work;er\033", START);
	recording_thread(&recording, 2, 200, "kid", START + 10 * MS);
	uint32_t app = recording_module(&recording, "/usr/bin/app", 0);
	uint32_t main_node = recording_call(&recording, 0, app, "main", 10);
	uint32_t parse = recording_call(&recording, main_node, app, "parse", 20);
	uint32_t grow = recording_call(&recording, parse, app, "grow", 30);
	uint32_t evil = recording_call(&recording, main_node, app, HOSTILE, 5);
	recording_heap(&recording, 1, SONDE_HEAP_MALLOC, NULL);
	recording_heap(&recording, 1, SONDE_HEAP_MAPPING, NULL);
	recording_heap(&recording, 1, SONDE_HEAP_POOL, "buffers;" HOSTILE);
	recording_heap(&recording, 2, SONDE_HEAP_MALLOC, NULL);
	recording_heap_site(&recording, 1, 1, parse);
	recording_heap_site(&recording, 1, 1, grow);
	recording_heap_site(&recording, 1, 2, evil);
	recording_heap_site(&recording, 2, 1, main_node);
	recording_heap_site(&recording, 3, 1, parse);
	recording_heap_site(&recording, 4, 3, main_node);
	put_blocks(&recording);
	if (with_sample)
		recording_sample(&recording, (struct recording_sample){START + MS, 1, parse, MS, 0});
	recording_process_end(&recording, 2, START + 50 * MS, 0, 0);
	recording_close(&recording, START + 100 * MS, 0);
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

static const struct {
	struct sonde_weigh weigh;
	uint64_t blocks, size_b;
} known[] = {
    {{SONDE_WEIGH_ALLOCATED, NULL, 0}, 9, 6492},
    {{SONDE_WEIGH_ALLOCATIONS, NULL, 0}, 9, 6492},
    {{SONDE_WEIGH_PEAK, NULL, 0}, 5, 6160}, /* 2064 in 4, 4096 in 1 */
    {{SONDE_WEIGH_LIVE, NULL, START}, 0, 0},
    {{SONDE_WEIGH_LIVE, NULL, START + 6 * MS}, 2, 1500},
    {{SONDE_WEIGH_LIVE, NULL, START + 23 * MS}, 5, 832},
    {{SONDE_WEIGH_LIVE, NULL, START + 60 * MS}, 3, 732}, /* the second process has ended */
    {{SONDE_WEIGH_LEFT, NULL, 0}, 5, 832},
    {{SONDE_WEIGH_UNREACHABLE, NULL, 0}, 2, 600},
    {{SONDE_WEIGH_TEMPORARY, NULL, 0}, 1, 0},
    {{SONDE_WEIGH_ALLOCATED, SONDE_WEIGH_MAPPINGS, 0}, 1, 65536},
    {{SONDE_WEIGH_PEAK, "buffers;" HOSTILE, 0}, 1, 48},
    {{SONDE_WEIGH_ALLOCATED, "buffers;" HOSTILE, 0}, 2, 64},
    {{SONDE_WEIGH_ALLOCATED, "no such pool", 0}, 0, 0},
};
enum { KNOWN = sizeof known / sizeof *known };

static int is_in_blocks(struct sonde_weigh weigh)
{
	return sonde_weigh_rows[weigh.by].unit == SONDE_WEIGH_BLOCKS;
}

static void weights_are_those_of_the_blocks(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOWN; i++) {
		const struct sonde_weigh_view view = {.weigh = known[i].weigh};
		struct sonde_weights weights;
		assert_int_equal(sonde_weights_take(&weights, session, &view), 0);
		assert_int_equal(weights.count, known[i].blocks);
		assert_int_equal(weights.weight, is_in_blocks(known[i].weigh) ? known[i].blocks : known[i].size_b);
		assert_int_equal(weights.mean_b, 0);
		assert_int_equal(weights.unseen_b, known[i].weigh.by == SONDE_WEIGH_UNREACHABLE ? 32 : 0);
		for (size_t row = 0; row < weights.row_count; row++)
			assert_true(weights.rows[row].count > 0);
		sonde_weights_fini(&weights);
	}
}

/* Weights against the session's own sums, over all malloc heaps. */
static void weights_are_the_sessions_sums(void **state)
{
	(void)state;
	struct sonde_heap_sums sums;
	uint64_t begun_b = 0, peak_b = 0, left_b = 0, temporary = 0;
	assert_int_equal(sonde_session_heap_sums(session, &sums), 0);
	for (uint32_t id = 1; id <= sonde_session_heap_count(session); id++) {
		if (sonde_session_heap(session, id)->kind != SONDE_HEAP_MALLOC)
			continue;
		begun_b += sums.heaps[id].begun_b;
		peak_b += sums.heaps[id].peak_b;
		left_b += sums.heaps[id].begun_b - sums.heaps[id].ended_b;
		temporary += sums.heaps[id].temporary;
	}
	sonde_heap_sums_free(&sums);
	assert_int_equal(known[0].size_b, begun_b);
	assert_int_equal(known[2].size_b, peak_b);
	assert_int_equal(known[7].size_b, left_b);
	assert_int_equal(known[9].blocks, temporary);
}

static void a_part_is_only_that(void **state)
{
	(void)state;
	const uint8_t second[] = {0, 0, 1, 0};
	struct sonde_weigh_view view = {.weigh.by = SONDE_WEIGH_ALLOCATED, .range.thread = second};
	struct sonde_weights weights;
	assert_int_equal(sonde_weights_take(&weights, session, &view), 0);
	assert_int_equal(weights.weight, 96);
	assert_int_equal(weights.rows[0].thread, 2);
	sonde_weights_fini(&weights);
	view.range = (struct sonde_selection){.from_ns = START + 3 * MS, .to_ns = START + 9 * MS};
	assert_int_equal(sonde_weights_take(&weights, session, &view), 0);
	assert_int_equal(weights.weight, 500 + 64 + 200);
	sonde_weights_fini(&weights);
	view = (struct sonde_weigh_view){.weigh = {SONDE_WEIGH_LIVE, NULL, START + 4 * MS}, .range.thread = second};
	assert_int_equal(sonde_weights_take(&weights, session, &view), 0);
	assert_int_equal(weights.weight, 64);
	sonde_weights_fini(&weights);
}

/* --- formats ------------------------------------------------------------------------------------------------------ */

static struct text exported(const char *name, struct sonde_weigh weigh)
{
	return exchange_export(session, name, &(struct sonde_format_options){.weigh = weigh});
}

/* The call tree in a report format. */
static char *tree_as(const char *name, struct sonde_weigh weigh)
{
	const struct sonde_pass *pass = sonde_pass_find("calltree");
	const struct sonde_pass_options options = {.weigh = weigh, .requested = 1};
	const struct sonde_format_options wide = {.width = 100};
	struct sonde_report *report;
	char *text = NULL;
	size_t size_b = 0;
	assert_int_equal(sonde_report_new(&report), 0);
	assert_int_equal(sonde_pass_run(session, &pass, 1, &options, report), 0);
	FILE *out = open_memstream(&text, &size_b);
	assert_int_equal(sonde_format_find(name)->render(report, &wide, out), 0);
	fclose(out);
	sonde_report_free(report);
	return text;
}

/* Self weights of all nodes. */
static uint64_t tree_sum(struct sonde_weigh weigh)
{
	char *text = tree_as("json", weigh);
	uint64_t sum = 0;
	for (char *at = text; (at = strstr(at, "\"self\": "));)
		sum += strtoull(at += strlen("\"self\": "), NULL, 10);
	free(text);
	return sum;
}

static void all_formats_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOWN; i++) {
		struct sonde_weigh weigh = known[i].weigh;
		int in_blocks = is_in_blocks(weigh);
		uint64_t whole = in_blocks ? known[i].blocks : known[i].size_b, sums[EXCHANGE_VALUES_MAX];
		assert_int_equal(exchange_folded_sum(exported("folded", weigh)), whole);
		assert_int_equal(exchange_speedscope_sum(exported("speedscope", weigh)), whole);
		assert_int_equal(tree_sum(weigh), whole);
		size_t values = exchange_callgrind_sums(exported("callgrind", weigh), sums);
		assert_int_equal(values, whole ? in_blocks ? 1 : 2 : 0);
		assert_int_equal(sums[0], known[i].blocks);
		assert_int_equal(sums[1], in_blocks ? 0 : known[i].size_b);
	}
}

/* What Go's tools expect of a heap profile; in use is what is weighed, or what was left. */
static void pprof_has_allocated_and_in_use(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOWN; i++) {
		struct sonde_weigh weigh = known[i].weigh;
		uint64_t sums[EXCHANGE_VALUES_MAX];
		int in_use = weigh.by != SONDE_WEIGH_ALLOCATED && weigh.by != SONDE_WEIGH_ALLOCATIONS;
		int temporary = weigh.by == SONDE_WEIGH_TEMPORARY;
		assert_int_equal(exchange_pprof_sums(exported("pprof", weigh), sums), temporary ? 3 : 4);
		if (weigh.heap)
			continue;
		assert_int_equal(sums[0], 9);
		assert_int_equal(sums[1], 6492);
		assert_int_equal(sums[2], in_use ? known[i].blocks : 5);
		assert_int_equal(sums[3], temporary ? 0 : in_use ? known[i].size_b : 832);
	}
}

static void folded_has_bytes(void **state)
{
	(void)state;
	struct text text = exported("folded", (struct sonde_weigh){.by = SONDE_WEIGH_PEAK});
	assert_harmless(text);
	assert_string_equal(text.data, "app;main;parse 1000\n"
				       "app;main;parse;grow 1000\n"
				       "app;work:er\\x1b;main;=ev\\x1b[31mil<script>|`\"\\n:\\xff\\u{202e} 64\n"
				       "kid;main 4096\n");
	free(text.data);
	text = exported("folded", (struct sonde_weigh){.by = SONDE_WEIGH_ALLOCATIONS});
	assert_has(text.data, "app;main;parse 2\n");
	free(text.data);
}

static void speedscope_says_what_it_weighs(void **state)
{
	(void)state;
	struct text text = exported("speedscope", (struct sonde_weigh){.by = SONDE_WEIGH_PEAK});
	assert_has(text.data, "\"name\":\"memory live at the peak\"");
	assert_has(text.data, "\"name\":\"app/app (100/100)\",\"unit\":\"bytes\",");
	assert_has(text.data, "\"weights\":[1000,1000],");
	free(text.data);
	text = exported("speedscope", (struct sonde_weigh){.by = SONDE_WEIGH_TEMPORARY});
	assert_has(text.data, "\"unit\":\"none\",");
	free(text.data);
}

static void trees_say_what_they_weigh(void **state)
{
	(void)state;
	char *text = tree_as("text", (struct sonde_weigh){.by = SONDE_WEIGH_PEAK});
	assert_has(text, "Call tree by memory live at the peak");
	assert_has(text, "100 % = 6.16 kB in 5 blocks");
	assert_has(text, "the peaks of 2");
	assert_has(text, "malloc only; for others use --heap-of: mappings, buffers;=ev");
	free(text);
	text = tree_as("text", (struct sonde_weigh){.by = SONDE_WEIGH_UNREACHABLE});
	assert_has(text, "32 B more live at exit may or may not be reachable");
	free(text);
	text = tree_as("text", (struct sonde_weigh){SONDE_WEIGH_ALLOCATED, "no such pool", 0});
	assert_has(text, "no memory allocated (pool no such pool) in this recording");
	free(text);
	text = tree_as("svg", (struct sonde_weigh){.by = SONDE_WEIGH_PEAK});
	assert_has(text, "<title>./app --size 3: memory live at the peak</title>");
	assert_has(text, ">Memory live at the peak: 6.16 kB in all");
	assert_has(text, "self 4.10 kB, 66.5 %"); /* main, in both processes */
	free(text);
	text = tree_as("svg", (struct sonde_weigh){.by = SONDE_WEIGH_ALLOCATIONS});
	assert_has(text, ">Allocations: 9 in all");
	free(text);
}

/* The counters of a heap: its peak is there, and it ends where its process does. */
static void chrome_has_the_heaps(void **state)
{
	(void)state;
	struct text text = exported("chrome", (struct sonde_weigh){0});
	assert_harmless(text);
	assert_has(text.data,
		   "{\"ph\":\"C\",\"name\":\"heap live\",\"cat\":\"heap\",\"pid\":100,\"tid\":100,\"ts\":0.000,"
		   "\"args\":{\"bytes\":0}}");
	assert_has(text.data, "\"args\":{\"bytes\":2064}}");
	assert_has(text.data, "\"args\":{\"bytes\":732}}");
	assert_has(text.data, "\"args\":{\"bytes\":4096}}");
	assert_has(text.data, "{\"ph\":\"C\",\"name\":\"heap live\",\"cat\":\"heap\",\"pid\":200,\"tid\":200,"
			      "\"ts\":50000.000,\"args\":{\"bytes\":0}}");
	assert_has(text.data, "\"name\":\"mappings live\",");
	assert_has(text.data, "\"name\":\"pool buffers;=ev");
	free(text.data);
}

/* Nothing is CPU time here: then the peak is what a recording is about. */
static void the_default_is_what_there_is(void **state)
{
	(void)state;
	assert_int_equal(sonde_weigh_default(session), SONDE_WEIGH_PEAK);
}

/* A site may name a thread and a stack that do not exist: its bytes are still in every sum. */
static void what_is_not_known_counts(void **state)
{
	(void)state;
	struct sonde_session *whole = session;
	struct recording recording;
	char other[96];
	snprintf(other, sizeof other, "%s/b.sonde", folder);
	recording_open(&recording, other);
	recording_info(&recording, "run.command", "./app");
	recording_process(&recording, 100, 0, "app", START);
	recording_thread(&recording, 1, 100, "app", START);
	recording_heap(&recording, 1, SONDE_HEAP_MALLOC, NULL);
	recording_heap_site(&recording, 1, 99, 999);
	recording_begins(&recording, 1, START + MS, 1000);
	recording_close(&recording, START + 100 * MS, 0);
	assert_int_equal(sonde_session_open(&session, other, &(struct sonde_session_options){.no_symbols = 1}), 0);
	uint64_t sums[EXCHANGE_VALUES_MAX];
	const struct sonde_weigh left = {.by = SONDE_WEIGH_LEFT};
	assert_int_equal(exchange_folded_sum(exported("folded", left)), 1000);
	assert_int_equal(exchange_speedscope_sum(exported("speedscope", left)), 1000);
	assert_int_equal(exchange_callgrind_sums(exported("callgrind", left), sums), 2);
	assert_int_equal(sums[1], 1000);
	assert_int_equal(exchange_pprof_sums(exported("pprof", left), sums), 4);
	assert_int_equal(sums[3], 1000);
	assert_int_equal(tree_sum(left), 1000);
	char *tree = tree_as("text", left);
	assert_has(tree, "100.0 % have no stack");
	assert_has(tree, "(no stack)");
	free(tree);
	sonde_session_close(session);
	unlink(other);
	session = whole;
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

/* Leaves the recording in every exchange format in `to`, weighed by its peak, and its call tree. */
static int put_files(const char *to)
{
	const struct sonde_weigh peak = {.by = SONDE_WEIGH_PEAK};
	const struct sonde_format_options options = {.weigh = peak};
	static const char *const trees[] = {"json", "svg"};
	int rc = enter(NULL);
	sonde_session_close(session);
	put_recording(path, 1);
	rc = rc ? rc : sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1});
	rc = rc ? rc : exchange_put_all(session, to, "heap", &options);
	for (size_t i = 0; i < 2 && !rc; i++)
		rc = exchange_put(to, "heap.", trees[i], tree_as(trees[i], peak));
	return rc | leave(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(weights_are_those_of_the_blocks),
	    cmocka_unit_test(weights_are_the_sessions_sums),
	    cmocka_unit_test(a_part_is_only_that),
	    cmocka_unit_test(all_formats_agree),
	    cmocka_unit_test(pprof_has_allocated_and_in_use),
	    cmocka_unit_test(folded_has_bytes),
	    cmocka_unit_test(speedscope_says_what_it_weighs),
	    cmocka_unit_test(trees_say_what_they_weigh),
	    cmocka_unit_test(chrome_has_the_heaps),
	    cmocka_unit_test(the_default_is_what_there_is),
	    cmocka_unit_test(what_is_not_known_counts),
	};
	if (argc > 1)
		return put_files(argv[1]);
	return cmocka_run_group_tests(tests, enter, leave);
}
