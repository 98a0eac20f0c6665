/* test_exchange.c: the exchange formats on one recording whose every sample is known (sample_recording.h), and their
 * figures against each other.
 *
 * With a folder as argument the outputs are also left there, for external validators (tests/validate/run.sh). */
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
#include "export/format.h"
#include "export/nest.h"
#include "exchange.h"
#include "sample_recording.h"

static char folder[] = "/tmp/sonde-test-exchange-XXXXXX";
static char path[64];
static struct sonde_session *session;

static struct text exported_part(const char *name, const struct sonde_format_options *options)
{
	return exchange_export(session, name, options);
}

static struct text exported(const char *name)
{
	return exported_part(name, &(struct sonde_format_options){0});
}

static void folded_is_root_first(void **state)
{
	(void)state;
	struct text text = exported("folded");
	assert_harmless(text);
	assert_has(text.data, "app;main;hot 30\n");
	assert_has(text.data, "app;work:er\\x1b;main;hot 30\n");
	assert_has(text.data, "app;main;outer;inner 10\n");
	assert_has(text.data, "main;rec;rec;rec ");
	assert_has(text.data, "main;hot;[kernel] ");
	assert_has(text.data, "main;hot;=ev\\x1b[31mil<script>|`\"\\n:\\xff\\u{202e} 3\n");
	assert_has(text.data, "app;work:er\\x1b;(no stack) 1\n");
	free(text.data);
}

static uint64_t folded_samples(const struct sonde_format_options *options)
{
	return exchange_folded_sum(exported_part("folded", options));
}

static void speedscope_keeps_the_order_of_time(void **state)
{
	(void)state;
	struct text text = exported("speedscope");
	/* thread 1: 30 × hot, 10 × inner in outer, then rec at depths 3, 2, 1, 3, 2 (samples 80, 82, …), evil, kernel
	 */
	assert_has(text.data, "\"name\":\"app/app (100/100)\",\"unit\":\"nanoseconds\",\"samples\":[[0,1],[0,2,3],");
	assert_has(text.data, "\"weights\":[30000000,10000000,1000000,");
	assert_has(text.data, "{\"name\":\"hot\",\"file\":\"src/hot.c\"");
	free(text.data);
}

static void callgrind_has_calls(void **state)
{
	(void)state;
	struct text text = exported("callgrind");
	assert_has(text.data, "events: Samples CPU\nsummary: 100 100000000\n");
	assert_has(text.data, "\nfn=(4)\n20 60 60000000\n"); /* hot */
	assert_has(text.data, "\n10 69 69000000\n");         /* main, line 10, calls hot */
	assert_has(text.data, "\n70 20 20000000\n");         /* outer calls inner */
	assert_has(text.data, "\n7 20 20000000\n");
	assert_has(text.data, "\ntotals: 100 100000000\n");
	free(text.data);
}

/* --- all formats say the same ---------------------------------------------------------------------------- */

/* A section of the whole recording, in a report format. */
static char *section_as(const char *section, const char *name)
{
	const struct sonde_pass *pass = sonde_pass_find(section);
	const struct sonde_pass_options options = {.limit = 1000, .requested = 1};
	const struct sonde_format_options wide = {.width = 200};
	struct sonde_report *report;
	assert_non_null(pass);
	assert_int_equal(sonde_report_new(&report), 0);
	assert_int_equal(sonde_pass_run(session, &pass, 1, &options, report), 0);
	char *text = NULL;
	size_t size_b = 0;
	FILE *out = open_memstream(&text, &size_b);
	assert_int_equal(sonde_format_find(name)->render(report, &wide, out), 0);
	fclose(out);
	sonde_report_free(report);
	return text;
}

static uint64_t json_self_ns(void)
{
	char *text = section_as("functions", "json");
	uint64_t sum = 0;
	for (char *at = text; (at = strstr(at, "\"self_ns\": "));)
		sum += strtoull(at += strlen("\"self_ns\": "), NULL, 10);
	free(text);
	return sum;
}

/* Which column (from 0) has this title in a comma-separated line. */
static size_t csv_column(const char *header, const char *key)
{
	size_t column = 0;
	for (const char *at = header; *at; at = strchr(at, ',') + 1, column++)
		if (!strncmp(at, key, strlen(key)) && at[strlen(key)] == ',')
			return column;
	fail_msg("no column %s in %s", key, header);
	return 0;
}

static uint64_t csv_self_ns(void)
{
	char *text = section_as("functions", "csv");
	size_t column = csv_column(text, "self_ns");
	uint64_t sum = 0;
	for (char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		char *at = line;
		for (size_t i = 0; i < column; i++)
			at = strchr(at, ',') + 1;
		sum += strtoull(at, NULL, 10);
	}
	free(text);
	return sum;
}

/* The text format rounds to three digits, which these figures have: "60.0 ±9.8 %  69.0 ±9.6 %    60.0 ms …". */
static uint64_t text_self_ns(void)
{
	char *text = section_as("functions", "text");
	double sum = 0;
	for (char *line = strstr(text, "self time  "); (line = strchr(line, '\n')) && !strncmp(++line, "  ", 2);) {
		char *at = strchr(strchr(line, '%') + 1, '%') + 1;
		double self = strtod(at, &at);
		assert_true(self == 0 || !strncmp(at, " ms", 3));
		sum += self;
	}
	free(text);
	return (uint64_t)(sum * 1e6 + 0.5);
}

static void all_formats_agree(void **state)
{
	(void)state;
	const uint64_t all_ns = (uint64_t)SAMPLE_COUNT * SAMPLE_WEIGHT_NS;
	uint64_t sums[EXCHANGE_VALUES_MAX];
	assert_int_equal(folded_samples(&(struct sonde_format_options){0}), SAMPLE_COUNT);
	assert_int_equal(exchange_speedscope_sum(exported("speedscope")), all_ns);
	assert_int_equal(exchange_callgrind_sums(exported("callgrind"), sums), 2);
	assert_int_equal(sums[0], SAMPLE_COUNT);
	assert_int_equal(sums[1], all_ns);
	assert_int_equal(exchange_pprof_sums(exported("pprof"), sums), 2);
	assert_int_equal(sums[0], SAMPLE_COUNT);
	assert_int_equal(sums[1], all_ns);
	/* What has no stack belongs to no function. */
	assert_int_equal(json_self_ns(), all_ns - SAMPLE_WEIGHT_NS);
	assert_int_equal(csv_self_ns(), all_ns - SAMPLE_WEIGHT_NS);
	assert_int_equal(text_self_ns(), all_ns - SAMPLE_WEIGHT_NS);
}

static void chrome_has_every_event(void **state)
{
	(void)state;
	struct text text = exported("chrome");
	assert_harmless(text);
	assert_has(text.data, "{\"ph\":\"M\",\"name\":\"process_name\",\"cat\":\"__metadata\",\"pid\":100,\"tid\":100,"
			      "\"ts\":0.000,\"args\":{\"name\":\"app\"}}");
	assert_has(text.data, "{\"ph\":\"X\",\"name\":\"step 1\",\"cat\":\"zone\",\"pid\":100,\"tid\":100,\"ts\":2.000,"
			      "\"dur\":1.001,\"args\":{\"self_ns\":1001,");
	assert_has(text.data, "\"flop\":1000000000,\"bytes\":64,\"items\":3}}");
	assert_has(text.data, "\"dur\":199990.000,\"args\":{\"self_ns\":199990000,");
	assert_has(text.data, "\"unfinished\":true}}");
	assert_has(text.data, "\"name\":\"bytes\",\"cat\":\"counter\",\"pid\":100,\"tid\":100,\"ts\":21.000,\"id\":100,"
			      "\"args\":{\"value\":4096}}");
	assert_has(text.data,
		   "\"ph\":\"b\",\"name\":\"request\",\"cat\":\"span\",\"pid\":100,\"tid\":100,\"ts\":20.000,");
	assert_has(text.data,
		   "\"ph\":\"e\",\"name\":\"request\",\"cat\":\"span\",\"pid\":100,\"tid\":101,\"ts\":30.000,");
	assert_has(text.data,
		   "\"ph\":\"s\",\"name\":\"request\",\"cat\":\"flow\",\"pid\":100,\"tid\":100,\"ts\":20.000,");
	assert_has(text.data,
		   "\"ph\":\"f\",\"name\":\"request\",\"cat\":\"flow\",\"pid\":100,\"tid\":101,\"ts\":30.000,");
	assert_has(text.data, "\"text\":\"hello\"");
	assert_has(text.data, "\"span_ends_without_begin\":1,");
	assert_has(text.data, "\"zones_apart\":0,");
	free(text.data);
}

static void overlapping_zones_do_not_nest(void **state)
{
	(void)state;
	struct sonde_nest nest = {0};
	assert_int_equal(sonde_nest_add(&nest, 10, 20, 1), 1);
	assert_int_equal(sonde_nest_add(&nest, 20, 30, 1), 1);
	assert_int_equal(sonde_nest_add(&nest, 5, 40, 0), 1);
	assert_int_equal(sonde_nest_add(&nest, 41, 50, 1), 1);
	assert_int_equal(sonde_nest_add(&nest, 45, 60, 0), 0); /* begins inside its child */
	assert_int_equal(sonde_nest_add(&nest, 41, 60, 0), 1);
	assert_int_equal(sonde_nest_add(&nest, 59, 70, 0), 0); /* overlaps its sibling */
	assert_int_equal(sonde_nest_add(&nest, 80, 70, 0), 0);
	sonde_nest_fini(&nest);
}

static int enter(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/a.sonde", folder);
	sample_recording(path);
	return sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1});
}

static int leave(void **state)
{
	(void)state;
	sonde_session_close(session);
	unlink(path);
	return rmdir(folder);
}

/* Leaves the recording in every exchange format in `to`, and its call tree as JSON. */
static int put_files(const char *to)
{
	const struct sonde_format_options options = {0};
	int rc = enter(NULL);
	rc = rc ? rc : exchange_put_all(session, to, "sample", &options);
	rc = rc ? rc : exchange_put(to, "calltree", ".json", section_as("calltree", "json"));
	return rc | leave(NULL);
}

/* A program may set the same key twice, and use our keys; a JSON object must not have duplicate keys. */
static void keys_stand_once(void **state)
{
	(void)state;
	struct sonde_session *whole = session;
	struct recording r;
	char other[96];
	snprintf(other, sizeof other, "%s/keys.sonde", folder);
	recording_open(&r, other);
	recording_process(&r, 100, 0, "app", SAMPLE_START_NS);
	recording_thread(&r, 1, 100, "app", SAMPLE_START_NS);
	recording_begin(&r, 1, recording_site(&r, SONDE_SITE_ZONE, "zone", ""), SAMPLE_START_NS + 1000);
	const char *const keys[] = {"step", "self_ns", "step", "sonde.self_ns", "\xff", "\xfe", "flop"};
	for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++)
		recording_arg(&r, 1, SAMPLE_START_NS + 1100 + i, keys[i], (int64_t)i);
	recording_work(&r, 1, SAMPLE_START_NS + 1200, 1, 2, 3);
	recording_work(&r, 1, SAMPLE_START_NS + 1300, 10, 20, 30);
	recording_end(&r, 1, SAMPLE_START_NS + 2000);
	for (uint32_t i = 0; i < 40; i++) {
		char key[8];
		snprintf(key, sizeof key, "k%u", i);
		if (i == 0)
			recording_begin(&r, 1, 1, SAMPLE_START_NS + 3000);
		recording_arg(&r, 1, SAMPLE_START_NS + 3000 + i, key, 0);
	}
	recording_end(&r, 1, SAMPLE_START_NS + 4000);
	recording_close(&r, SAMPLE_START_NS + 200000000, 0);
	assert_int_equal(sonde_session_open(&session, other, &(struct sonde_session_options){.no_symbols = 1}), 0);
	struct text text = exported("chrome");
	assert_has(text.data,
		   "\"args\":{\"sonde.sonde.self_ns\":1000,\"function\":\"main\",\"file\":\"main.c\",\"line\":1,"
		   "\"sonde.flop\":11,\"bytes\":22,\"items\":33,"
		   "\"self_ns\":1,\"step\":2,\"sonde.self_ns\":3,\"\xef\xbf\xbd\":5,\"flop\":6}");
	assert_has(text.data, "\"k8\":0,");
	assert_null(strstr(text.data, "\"k7\":0"));
	assert_has(text.data, "\"marks_dropped\":8");
	free(text.data);
	sonde_session_close(session);
	unlink(other);
	session = whole;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

/* Every second sample is the second thread's, a sample a millisecond; all zones are the first thread's. */
static void a_part_is_only_that(void **state)
{
	(void)state;
	const uint8_t second[] = {0, 0, 1};
	struct sonde_format_options options = {.selection.thread = second};
	assert_int_equal(folded_samples(&options), SAMPLE_COUNT / 2);
	struct text text = exported_part("speedscope", &options);
	assert_null(strstr(text.data, "(100/100)"));
	assert_has(text.data, "(100/101)");
	free(text.data);
	text = exported_part("chrome", &options);
	assert_int_equal(count_of(text.data, "\"tid\":100,"), 1); /* the name of the process */
	assert_int_equal(count_of(text.data, "\"name\":\"frame\""), 0);
	assert_int_equal(count_of(text.data, "\"ph\":\"b\""), 1);
	free(text.data);
	options.selection.from_ns = SAMPLE_START_NS + 10000000;
	options.selection.to_ns = SAMPLE_START_NS + 20000000;
	assert_int_equal(folded_samples(&options), 5);
	options.selection.thread = NULL;
	assert_int_equal(folded_samples(&options), 10);
	text = exported_part("chrome", &options);
	assert_int_equal(count_of(text.data, "\"ph\":\"X\""), 0);
	free(text.data);
	text = exported("chrome");
	assert_int_equal(count_of(text.data, "\"ph\":\"X\""), 4);
	assert_int_equal(count_of(text.data, "\"ph\":\"b\""), 2);
	free(text.data);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(folded_is_root_first), cmocka_unit_test(speedscope_keeps_the_order_of_time),
	    cmocka_unit_test(callgrind_has_calls),  cmocka_unit_test(chrome_has_every_event),
	    cmocka_unit_test(all_formats_agree),    cmocka_unit_test(overlapping_zones_do_not_nest),
	    cmocka_unit_test(a_part_is_only_that),  cmocka_unit_test(keys_stand_once),
	};
	if (argc > 1)
		return put_files(argv[1]);
	return cmocka_run_group_tests(tests, enter, leave);
}
