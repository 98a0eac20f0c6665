/* test_export.c: the report formats on one small report, whose every figure and name is known.
 *
 * With a folder as argument the outputs are also left there, for external validators (tests/validate/run.sh). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/format.h"
#include "export/text/shorten.h"
#include "export/text/text.h"
#include "util/json.h"
#include "util/utf8.h"
#include "sample_report.h"

/* The output of a format for a report; the caller frees it. */
static char *rendered(const char *format, const struct sonde_report *report, const struct sonde_format_options *options)
{
	const struct sonde_format *row = sonde_format_find(format);
	assert_non_null(row);
	assert_non_null(row->render);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(row->render(report, options, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static char *sample_as(const char *format, const struct sonde_format_options *options)
{
	struct sonde_report *report = sample_report();
	char *text = rendered(format, report, options);
	sonde_report_free(report);
	return text;
}

static const struct sonde_format_options plain = {0};

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in:\n%s", part, text);
}

/* Valid UTF-8 without a control character but the newlines. */
static void assert_harmless(const char *text)
{
	for (const char *at = text; *at;) {
		uint32_t code;
		at += sonde_utf8_next(at, &code);
		assert_int_not_equal(code, SONDE_UTF8_INVALID);
		assert_true(code == '\n' || code == '\r' || code >= 0x20);
		assert_false(code >= 0x7f && code < 0xa0);
		assert_int_not_equal(code, 0x202e);
	}
}

static void assert_cleaned(const char *text, int ascii, const char *clean, size_t columns)
{
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	assert_int_equal(sonde_clean(&out, text, ascii), columns);
	sonde_buf_append(&out, "", 1);
	assert_string_equal((char *)out.data, clean);
	sonde_buf_fini(&out);
}

static void names_are_cleaned(void **state)
{
	(void)state;
	assert_cleaned("plain", 0, "plain", 5);
	assert_cleaned("a\033[0m\n\t\x7f", 0, "a\\x1b[0m\\n\\t\\x7f", 16);
	assert_cleaned("\xc2\x9b", 0, "\\u{9b}", 6);
	assert_cleaned("\xe2\x80\xaex", 0, "\\u{202e}x", 9);
	assert_cleaned("\xff\xc0\x80", 0, "\\xff\\xc0\\x80", 12);
	assert_cleaned("\xe6\xbc\xa2", 0, "\xe6\xbc\xa2", 2);
	assert_cleaned("gr\xc3\xb6\xc3\x9f", 1, "gr\\u{f6}\\u{df}", 14);
	assert_cleaned("e\xcc\x81", 0, "e\xcc\x81", 1); /* a combining accent */
}

static void assert_cut(const char *text, size_t columns, int ascii, const char *cut)
{
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 20);
	assert_true(sonde_clean_cut(&out, text, columns, ascii) <= columns);
	sonde_buf_append(&out, "", 1);
	assert_string_equal((char *)out.data, cut);
	assert_true(sonde_clean_columns(cut) <= columns);
	sonde_buf_fini(&out);
}

static void long_names_lose_their_middle(void **state)
{
	(void)state;
	assert_cut("abcdefghij", 10, 0, "abcdefghij");
	assert_cut("abcdefghij", 7, 0, "abc…hij");
	assert_cut("abcdefghij", 7, 1, "ab...ij");
	assert_cut("abcdefghij", 1, 0, "a");
	assert_cut("abcdefghij", 0, 0, "");
	assert_cut("漢漢漢漢漢", 6, 0, "漢…漢");
	assert_cut("漢漢漢漢漢", 5, 0, "漢…漢");
	for (size_t columns = 0; columns < 60; columns++) {
		struct sonde_buf out;
		sonde_buf_init(&out, 1 << 20);
		size_t used = sonde_clean_cut(&out, SAMPLE_HOSTILE "漢字e\xcc\x81" SAMPLE_HOSTILE, columns, 0);
		sonde_buf_append(&out, "", 1);
		assert_true(used <= columns);
		assert_int_equal(sonde_clean_columns((char *)out.data), used);
		assert_harmless((char *)out.data);
		sonde_buf_fini(&out);
	}
}

static void assert_figure(enum sonde_unit unit, struct sonde_cell cell, int ascii, const char *text)
{
	struct sonde_buf out;
	sonde_buf_init(&out, 1 << 10);
	sonde_figure(&out, unit, &cell, ascii);
	sonde_buf_append(&out, "", 1);
	assert_string_equal((char *)out.data, text);
	sonde_buf_fini(&out);
}

static void figures_are_scaled(void **state)
{
	(void)state;
	assert_figure(SONDE_UNIT_NS, sonde_cell_int(0), 0, "0 ns");
	assert_figure(SONDE_UNIT_NS, sonde_cell_int(999), 0, "999 ns");
	assert_figure(SONDE_UNIT_NS, sonde_cell_int(12345), 0, "12.3 µs");
	assert_figure(SONDE_UNIT_NS, sonde_cell_int(12345), 1, "12.3 us");
	assert_figure(SONDE_UNIT_NS, sonde_cell_int(999999), 0, "1.00 ms");
	assert_figure(SONDE_UNIT_NS, sonde_cell_int(1190000000), 0, "1.19 s");
	assert_figure(SONDE_UNIT_NS, sonde_cell_int(750000000000), 0, "12.5 min");
	assert_figure(SONDE_UNIT_NS, sonde_cell_real(-1500, 0), 0, "-1.50 µs");
	assert_figure(SONDE_UNIT_BYTES, sonde_cell_int(4200000), 0, "4.20 MB");
	assert_figure(SONDE_UNIT_BYTES, sonde_cell_int(7), 0, "7 B");
	assert_figure(SONDE_UNIT_RATIO, sonde_cell_real(0.278, 0.051), 0, "27.8 ±5.1 %");
	assert_figure(SONDE_UNIT_RATIO, sonde_cell_real(0.278, 0.051), 1, "27.8 +-5.1 %");
	assert_figure(SONDE_UNIT_RATIO, sonde_cell_real(0.0001, 0), 0, "<0.1 %");
	assert_figure(SONDE_UNIT_NS, sonde_cell_real(1.19e9, 5e7), 0, "1.19 ±0.05 s");
	assert_figure(SONDE_UNIT_COUNT, sonde_cell_int(1234567), 0, "1,234,567");
	assert_figure(SONDE_UNIT_FACTOR, sonde_cell_real(1.25, 0), 0, "1.25×");
	assert_figure(SONDE_UNIT_JOULES, sonde_cell_real(0, 0), 0, "0 µJ");
	assert_figure(SONDE_UNIT_JOULES, sonde_cell_real(0.0125, 0), 0, "12.5 mJ");
	assert_figure(SONDE_UNIT_JOULES, sonde_cell_real(1250, 0), 0, "1.25 kJ");
	assert_figure(SONDE_UNIT_GRAMS, sonde_cell_real(0.0046, 0), 0, "4.60 mg");
	assert_figure(SONDE_UNIT_GRAMS, sonde_cell_real(2e-6, 0), 1, "2 ug");
	assert_figure(SONDE_UNIT_HZ, sonde_cell_real(997, 0), 0, "997 Hz");
	assert_figure(SONDE_UNIT_ADDRESS, sonde_cell_int(0xbeef), 0, "0xbeef");
	assert_figure(SONDE_UNIT_ID, sonde_cell_int(4194303), 0, "4194303");
	assert_figure(SONDE_UNIT_NUMBER, sonde_cell_int(4194303), 0, "4,194,303");
	assert_figure(SONDE_UNIT_NS, sonde_cell_absent("why"), 1, "-");
	assert_figure(SONDE_UNIT_NUMBER, sonde_cell_real(0.0 / 0.0, 0), 1, "-");
}

static void json_values_round_trip(void **state)
{
	(void)state;
	const double reals[] = {0.1, 1.0 / 3, 1e300, 5e-324, -2.5, 123456789012345680.0};
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
		char text[64] = "";
		FILE *out = fmemopen(text, sizeof text, "w");
		struct sonde_json json;
		sonde_json_init(&json, out, 0);
		sonde_json_real(&json, reals[i]);
		fclose(out);
		assert_true(strtod(text, NULL) == reals[i]);
	}
}

static void json_escapes_everything(void **state)
{
	(void)state;
	char text[400] = "";
	FILE *out = fmemopen(text, sizeof text, "w");
	struct sonde_json json;
	sonde_json_init(&json, out, 0);
	sonde_json_object(&json);
	sonde_json_put_text(&json, "a\"\\", "\b\f\n\r\t\x01\x1f\x7f</é\xff\xe2\x80\xa8");
	sonde_json_put_real(&json, "nan", 0.0 / 0.0);
	sonde_json_put_real(&json, "inf", 1.0 / 0.0);
	sonde_json_put_uint(&json, "max", UINT64_MAX);
	sonde_json_key(&json, "list");
	sonde_json_array(&json);
	sonde_json_int(&json, -1);
	sonde_json_bool(&json, 1);
	sonde_json_text(&json, NULL);
	sonde_json_object(&json);
	sonde_json_end(&json);
	sonde_json_end(&json);
	sonde_json_end(&json);
	fclose(out);
	assert_string_equal(text,
			    "{\"a\\\"\\\\\":\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u003c/é\xef\xbf\xbd\\u2028\","
			    "\"nan\":null,\"inf\":null,\"max\":18446744073709551615,\"list\":[-1,true,null,{}]}\n");
}

static void text_fits_every_width(void **state)
{
	(void)state;
	for (int width = SONDE_TEXT_WIDTH_MIN; width < 200; width++) {
		for (int ascii = 0; ascii < 2; ascii++) {
			char *text = sample_as("text", &(struct sonde_format_options){.width = width, .ascii = ascii});
			assert_harmless(text);
			for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
				*end = 0;
				if (sonde_clean_columns(line) > (size_t)width)
					fail_msg("%zu columns, not %d: %s", sonde_clean_columns(line), width, line);
				for (char *at = line; ascii && *at; at++)
					assert_true((unsigned char)*at < 0x7f);
			}
			free(text);
		}
	}
}

/* Also the line below a table about hidden columns. */
static void many_columns_fit_every_width(void **state)
{
	(void)state;
	struct sonde_column columns[24];
	char titles[24][16];
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	for (int i = 0; i < 24; i++) {
		snprintf(titles[i], sizeof titles[i], "column %d", i);
		columns[i] = (struct sonde_column){titles[i], titles[i], SONDE_UNIT_COUNT, SONDE_BASIS_ESTIMATED, 0, i};
	}
	struct sonde_section *section = sonde_report_table(report, "wide", "Wide", columns, 24);
	struct sonde_cell *cells = sonde_report_row(report, section);
	for (int i = 0; i < 24; i++)
		cells[i] = sonde_cell_int(1000000);
	report->title = report->path = "";
	for (int width = SONDE_TEXT_WIDTH_MIN; width < 250; width++) {
		char *text = rendered("text", report, &(struct sonde_format_options){.width = width});
		assert_has(text, "columns hidden:");
		for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			if (sonde_clean_columns(line) > (size_t)width)
				fail_msg("%zu columns, not %d: %s", sonde_clean_columns(line), width, line);
		}
		free(text);
	}
	sonde_report_free(report);
}

/* A name that stands for a rule is whole at 80 columns, and a column of detail is left out before it is a stump. */
static void names_of_rules_are_whole(void **state)
{
	(void)state;
	static const struct sonde_column columns[] = {
	    {.key = "severity", .title = "severity"},
	    {.key = "rule", .title = "rule"},
	    {.key = "finding", .title = "finding", .detail = 1},
	    {.key = "subject", .title = "where", .wide = 1},
	    {.key = "limiter", .title = "limited by", .detail = 2},
	};
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *section = sonde_report_table(report, "findings", "Findings", columns, 5);
	struct sonde_cell *cells = sonde_report_row(report, section);
	cells[0] = sonde_cell_text("critical");
	cells[1] = sonde_cell_text("interpreter-lock");
	cells[2] = sonde_cell_text("Threads are ready to run and wait without a CPU of their own");
	cells[3] = sonde_cell_text("the lock of the interpreter, which one thread of a process can have at a time");
	cells[4] = sonde_cell_text("synchronisation");
	report->title = report->path = "";
	for (int width = 80; width < 130; width++) {
		char *text = rendered("text", report, &(struct sonde_format_options){.width = width});
		assert_has(text, "interpreter-lock");
		assert_has(text, "critical");
		assert_true(strstr(text, "synchronisation") || strstr(text, "columns hidden:"));
		free(text);
	}
	sonde_report_free(report);
}

static void text_is_as_expected(void **state)
{
	(void)state;
	char *text = sample_as("text", &plain);
	assert_string_equal(text,
			    "./app --size 3\n"
			    "  app.sonde\n"
			    "  Recorded 4 s of 2 threads.\n"
			    "! 12 samples were lost: ring full.\n"
			    "\n"
			    "Functions by self time\n"
			    "  Shares are of 4 s of CPU time.\n"
			    "  function                     module        self        share  samples     peak\n"
			    "  hot_loop                     app         2.40 s  60.0 ±5.1 %    2,400  4.20 MB\n"
			    "  memcpy                       libc.so.6   1.20 s       30.0 %    1,200        –\n"
			    "  =ev\\x1b[31mil…;\\xff\\u{202e}  app         380 ms        9.5 %      380        –\n"
			    "  a_function_wi…of_a_terminal  app        10.0 ms        0.2 %       10        –\n"
			    "  漢字                         app        10.0 ms        0.2 %       10        –\n"
			    "  (3 more rows)\n"
			    "  self, share: estimated\n"
			    "  peak: modelled\n"
			    "\n"
			    "Call tree\n"
			    "   share      total       self  CPU time\n"
			    " 100.0 %     4.00 s    10.0 ms  main (app)\n"
			    "  60.0 %     2.40 s     2.40 s  ├─hot_loop (app)\n"
			    "  30.0 %     1.20 s       0 ns  ├─mid (app)\n"
			    "  30.0 %     1.20 s     1.20 s  │ memcpy (libc.so.6)\n"
			    "   9.5 %     380 ms     380 ms  ├─=ev\\x1b[31mil<script>|`\"\\n;\\xff\\u{202e} (app)\n"
			    "   0.2 %    10.0 ms       0 ns  └─(1 more)\n");
	free(text);
}

static void text_colours_only_when_asked(void **state)
{
	(void)state;
	char *text = sample_as("text", &(struct sonde_format_options){.color = 1});
	assert_has(text, "\033[33m! 12 samples");
	assert_has_not(text, "ev\033");
	free(text);
}

static void json_report_is_exact(void **state)
{
	(void)state;
	char *text = sample_as("json", &plain);
	assert_harmless(text);
	assert_has(text, "\"schema\": \"sonde-report\"");
	assert_has(text, "\"version\": 1,");
	assert_has(text, "\"function\": \"=ev\\u001b[31mil\\u003cscript>|`\\\"\\n;\xef\xbf\xbd");
	assert_has(text, "\"self_ns\": 2400000000");
	assert_has(text, "\"peak_b\": null");
	assert_has(text, "\"peak_b\": \"the heap was not recorded\"");
	assert_has(text, "\"self_share\": 0.051");
	assert_has(text, "\"parent\": null");
	free(text);
}

static void json_has_advice_with_its_note(void **state)
{
	struct sonde_report *report;
	(void)state;
	assert_int_equal(sonde_report_new(&report), 0);
	sonde_report_note(report, NULL, 0, "record with --heap");
	sonde_report_advise(report, NULL, SONDE_ACTION_RECORD, "--heap");
	sonde_report_note(report, NULL, 1, "5 lost");
	char *text = rendered("json", report, &plain);
	assert_has(text, "\"action\": {\n    \"kind\": \"record\",\n    \"text\": \"--heap\"\n   }");
	assert_null(strstr(strstr(text, "5 lost"), "action"));
	free(text);
	sonde_report_free(report);
}

static void csv_is_tidy(void **state)
{
	(void)state;
	char *text = sample_as("csv", &plain);
	assert_harmless(text);
	assert_has(text, "section,about,warning,text\r\n");
	assert_has(text, "notes,report,1,12 samples were lost: ring full.\r\n");
	assert_has(text, "section,function,module,self_ns,self_share,self_share_plus_minus,samples,peak_b\r\n");
	assert_has(text, "functions,hot_loop,app,2400000000,0.6,0.051,2400,4200000\r\n");
	assert_has(text, "functions,memcpy,libc.so.6,1200000000,0.3,,1200,\r\n");
	assert_has(text, "functions,\"'=ev\\x1b[31mil<script>|`\"\"\\n;\\xff\\u{202e}\",app,380000000,");
	assert_has(text, "calltree,1,0,1,main,app,,0,10000000,4000000000,4000\r\n");
	free(text);
}

static void csv_of_one_section_is_that_table(void **state)
{
	(void)state;
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	sample_functions(report);
	char *text = rendered("csv", report, &plain);
	assert_int_equal(strncmp(text, "function,module,self_ns,", 24), 0);
	assert_has_not(text, "Shares");
	free(text);
	sonde_report_free(report);
}

static void openmetrics_has_a_gauge_a_column(void **state)
{
	(void)state;
	char *text = sample_as("openmetrics", &plain);
	assert_harmless(text);
	assert_has(text, "# TYPE sonde_report info\n");
	assert_has(text, "\nsonde_report_info{command=\"./app --size 3\",recording=\"app.sonde\"} 1\n");
	assert_has(text, "# TYPE sonde_functions_self_seconds gauge\n# UNIT sonde_functions_self_seconds seconds\n"
			 "# HELP sonde_functions_self_seconds Functions by self time: self, estimated\n"
			 "sonde_functions_self_seconds{function=\"hot_loop\",module=\"app\"} 2.400000000\n"
			 "sonde_functions_self_seconds{function=\"memcpy\",module=\"libc.so.6\"} 1.200000000\n");
	assert_has(text, "\nsonde_functions_self_share_ratio{function=\"memcpy\",module=\"libc.so.6\"} 0.3\n");
	assert_has(text,
		   "\nsonde_functions_self_share_plus_minus_ratio{function=\"hot_loop\",module=\"app\"} 0.051\n#");
	assert_has(text, "\nsonde_functions_samples{function=\"memcpy\",module=\"libc.so.6\"} 1200\n");
	assert_has(text, "\nsonde_functions_peak_bytes{function=\"hot_loop\",module=\"app\"} 4200000\n#");
	assert_has(text, "{function=\"=ev\\\\x1b[31mil<script>|`\\\"\\\\n;\\\\xff\\\\u{202e}\",module=\"app\"} 380\n");
	assert_has_not(text, "calltree");
	assert_string_equal(text + strlen(text) - 7, "\n# EOF\n");
	free(text);
}

/* Two rows may have the same labels, a section may occur twice, and a table may have no figures. */
static void openmetrics_tells_rows_apart(void **state)
{
	(void)state;
	static const struct sonde_column words[] = {{.key = "check", .title = "check"}};
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	sample_functions(report);
	struct sonde_section *functions = report->first;
	sonde_report_row(report, functions);
	memcpy(&functions->table.cells[5 * functions->table.column_count], functions->table.cells,
	       functions->table.column_count * sizeof *functions->table.cells);
	sample_functions(report);
	struct sonde_section *checks = sonde_report_table(report, "doctor", "Checks", words, 1);
	sonde_report_row(report, checks)[0] = sonde_cell_text("clock");
	char *text = rendered("openmetrics", report, &plain);
	assert_has(text, "\nsonde_functions_samples{function=\"hot_loop\",module=\"app\"} 2400\n");
	assert_has(text, "\nsonde_functions_samples{function=\"hot_loop\",module=\"app\",row=\"6\"} 2400\n");
	assert_null(strstr(strstr(text, "# TYPE sonde_functions_samples ") + 1, "# TYPE sonde_functions_samples "));
	assert_has(text,
		   "# TYPE sonde_doctor info\n# HELP sonde_doctor Checks\nsonde_doctor_info{check=\"clock\"} 1\n");
	free(text);
	sonde_report_free(report);
}

static void markdown_is_escaped(void **state)
{
	(void)state;
	char *text = sample_as("md", &plain);
	assert_harmless(text);
	assert_has(text, "| function | module | self (estimated) |");
	assert_has(text, "| hot\\_loop | app | 2.40 s | 60.0 ±5.1 % | 2,400 | 4.20 MB |\n");
	assert_has(text, "=ev\\\\x1b\\[31mil&lt;script&gt;\\|\\`");
	assert_has(text, "- **Warning:** 12 samples were lost");
	free(text);
}

/* What people read "<0.1 %" for. */
static void figures_of_markdown_are_escaped(void **state)
{
	(void)state;
	static const struct sonde_column share = {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0};
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *section = sonde_report_table(report, "shares", "Shares", &share, 1);
	*sonde_report_row(report, section) = sonde_cell_real(0.0001, 0);
	char *text = rendered("md", report, &plain);
	assert_has(text, "| &lt;0.1 % |\n");
	free(text);
	sonde_report_free(report);
}

static void svg_shows_frames_and_escapes_them(void **state)
{
	(void)state;
	char *text = sample_as("svg", &plain);
	assert_has(text, "<title>hot_loop (app)\ntotal 2.40 s, 60.0 %\nself 2.40 s, 60.0 %</title>");
	assert_has(text, "data-x=\"0\" data-w=\"600000000\" data-d=\"2\" data-n=\"hot_loop\"");
	assert_has(text, "data-x=\"600000000\" data-w=\"300000000\" data-d=\"3\" data-n=\"memcpy\"");
	assert_has(text, "=ev\\x1b[31mil&lt;script&gt;|`&quot;\\n;\\xff\\u{202e}");
	assert_has_not(text, "il<script>");
	assert_has(text, "prefers-color-scheme: dark");
	free(text);
}

/* A chain as deep as the stack of a runaway recursion, with a sibling at every level. */
static void deep_trees_are_drawn(void **state)
{
	(void)state;
	enum { DEPTH = 20000 };
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *section = sonde_report_tree(report, "calltree", "Tree", SONDE_UNIT_NS, "CPU time");
	struct sonde_tree_node *above = section->tree.root = sample_node(report, "", "", 0, 3 * DEPTH);
	for (uint64_t i = 1; i < DEPTH; i++) {
		above->child = sample_node(report, "deep", "", 0, 3 * DEPTH - i);
		above->child->next = sample_node(report, "beside", "", 1, 1);
		above = above->child;
	}
	above->self = above->total;
	for (size_t i = 0; i < sonde_format_count; i++) {
		FILE *out = sonde_formats[i]->render ? fopen("/dev/null", "w") : NULL;
		int rc = out ? sonde_formats[i]->render(report, &plain, out) : 0;
		assert_true(!rc || rc == -ENOTSUP); /* html, in a build without the page */
		assert_true(!out || !fclose(out));
	}
	char *text = rendered("svg", report, &plain);
	assert_has(text, " frames narrower than 0.1 pixel are not shown.");
	free(text);
	sonde_report_free(report);
}

static void a_flame_graph_needs_a_tree(void **state)
{
	(void)state;
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	sample_functions(report);
	FILE *out = fopen("/dev/null", "w");
	assert_int_equal(sonde_format_find("svg")->render(report, &plain, out), -ENODATA);
	fclose(out);
	sonde_report_free(report);
}

static void an_empty_report_is_fine(void **state)
{
	(void)state;
	struct sonde_report *report = NULL;
	assert_int_equal(sonde_report_new(&report), 0);
	for (size_t i = 0; i < sonde_format_count; i++) {
		if (!sonde_formats[i]->render || sonde_formats[i]->section)
			continue;
		free(rendered(sonde_formats[i]->name, report, &plain));
	}
	sonde_report_free(report);
}

static void every_row_is_complete(void **state)
{
	(void)state;
	assert_null(sonde_format_find("nothing"));
	for (size_t i = 0; i < sonde_format_count; i++) {
		const struct sonde_format *format = sonde_formats[i];
		assert_ptr_equal(sonde_format_find(format->name), format);
		assert_int_equal(format->extension[0], '.');
		assert_true(strlen(format->title) > 10);
		assert_true(!format->render != !format->export);
	}
}

/* Leaves the sample in every report format in `folder`. */
static int leave(const char *folder)
{
	for (size_t i = 0; i < sonde_format_count; i++) {
		char path[4096];
		const struct sonde_format *format = sonde_formats[i];
		if (!format->render)
			continue;
		snprintf(path, sizeof path, "%s/report%s", folder, format->extension);
		FILE *out = fopen(path, "w");
		if (!out)
			return 1;
		struct sonde_report *report = sample_report();
		int rc = format->render(report, &plain, out);
		sonde_report_free(report);
		if (fclose(out) || (rc && rc != -ENOTSUP)) /* html, in a build without the page */
			return 1;
	}
	return 0;
}

/* The part that tells functions apart is dropped last. */
static void names_of_functions_survive(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t columns;
		const char *cut;
	} rows[] = {
	    {"main", 4, "main"},
	    {"unsigned int burn<unsigned int>(unsigned int, double)", 60,
	     "unsigned int burn<unsigned int>(unsigned int, double)"},
	    {"unsigned int burn<unsigned int>(unsigned int, double)", 40, "unsigned int burn<unsigned int>(…)"},
	    {"unsigned int burn<unsigned int>(unsigned int, double)", 24, "burn<unsigned int>(…)"},
	    {"unsigned int burn<unsigned int>(unsigned int, double)", 12, "burn<…>(…)"},
	    {"std::map<int, std::less<int>>::insert(std::pair<int, int>&&)", 40,
	     "std::map<int, std::less<int>>::insert(…)"},
	    {"std::map<int, std::less<int>>::insert(std::pair<int, int>&&)", 24, "std::map<…>::insert(…)"},
	    {"std::map<int, std::less<int>>::insert(std::pair<int, int>&&)", 14, "…::insert(…)"},
	    {"(anonymous namespace)::Widget::paint(QPainter*) const", 40, "(anonymous namespace)::Widget::paint(…)"},
	    {"Matrix::operator()(unsigned int, unsigned int) const", 24, "Matrix::operator()(…)"},
	    {"bool operator< <char>(Text<char> const&, Text<char> const&)", 20, "operator< <char>(…)"},
	    {"Node::operator new(unsigned long)", 24, "Node::operator new(…)"},
	    {"f(int)::{lambda(int)#1}::operator()(int) const", 24, "…::operator()(…)"},
	    {"sqlite3VdbeExecuteAllOfTheProgram", 13, "sqlite…rogram"},
	    {"(((<<<>>>)))::(", 6, NULL},
	    {"operator", 3, NULL},
	    {"a>b->c(", 4, NULL},
	};
	struct sonde_buf out;
	sonde_buf_init(&out, 4096);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		sonde_buf_clear(&out);
		size_t used = sonde_shorten_name(&out, rows[i].name, rows[i].columns, 0);
		assert_int_equal(sonde_buf_append(&out, "", 1), 0);
		if (rows[i].cut)
			assert_string_equal((const char *)out.data, rows[i].cut);
		assert_int_equal(used, sonde_clean_columns((const char *)out.data));
		assert_in_range(used, 0, rows[i].columns);
	}
	sonde_buf_fini(&out);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_cleaned),
	    cmocka_unit_test(long_names_lose_their_middle),
	    cmocka_unit_test(figures_are_scaled),
	    cmocka_unit_test(json_values_round_trip),
	    cmocka_unit_test(json_escapes_everything),
	    cmocka_unit_test(text_fits_every_width),
	    cmocka_unit_test(many_columns_fit_every_width),
	    cmocka_unit_test(names_of_rules_are_whole),
	    cmocka_unit_test(text_is_as_expected),
	    cmocka_unit_test(text_colours_only_when_asked),
	    cmocka_unit_test(json_report_is_exact),
	    cmocka_unit_test(json_has_advice_with_its_note),
	    cmocka_unit_test(csv_is_tidy),
	    cmocka_unit_test(csv_of_one_section_is_that_table),
	    cmocka_unit_test(openmetrics_has_a_gauge_a_column),
	    cmocka_unit_test(openmetrics_tells_rows_apart),
	    cmocka_unit_test(markdown_is_escaped),
	    cmocka_unit_test(figures_of_markdown_are_escaped),
	    cmocka_unit_test(an_empty_report_is_fine),
	    cmocka_unit_test(svg_shows_frames_and_escapes_them),
	    cmocka_unit_test(deep_trees_are_drawn),
	    cmocka_unit_test(a_flame_graph_needs_a_tree),
	    cmocka_unit_test(every_row_is_complete),
	    cmocka_unit_test(names_of_functions_survive),
	};
	if (argc > 1)
		return leave(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
