/* test_flop.c: the section of FLOP and bytes: library calls and the program's own reports are separate; sizes;
 * coverage. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/work/flop_reports.h"
#include "analyze/work/work.h"
#include "analyze_fixture.h"
#include "sections.h"

/* A call of a library, from at_ns on. */
static void call(struct recording *r, uint32_t thread, uint32_t site, uint64_t at_ns, uint64_t dur_ns, int size)
{
	char text[64];
	snprintf(text, sizeof text, "m=%d n=%d k=%d", size, size, size);
	recording_begin(r, thread, site, at_ns);
	recording_arg_text(r, thread, at_ns + dur_ns - 2, "size", text);
	recording_work(r, thread, at_ns + dur_ns - 1, 2. * size * size * size, 24. * size * size, 0);
	recording_end(r, thread, at_ns + dur_ns);
}

static void sample(struct recording *r, uint32_t thread, uint64_t time_ns)
{
	recording_sample(r, (struct recording_sample){.time_ns = time_ns, .thread = thread, .weight_ns = MS});
}

/* Two threads; five calls of dgemm, one inside a zone that reports the same work itself; one that failed. */
static void record(int chunk_rows)
{
	struct recording r;
	recording_open(&r, path);
	r.chunk_rows = (size_t)chunk_rows;
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "main", START);
	recording_thread(&r, 1, 101, "other", START);
	uint32_t dgemm = recording_site(&r, SONDE_SITE_ZONE, "dgemm", "blas");
	uint32_t dpotrf = recording_site(&r, SONDE_SITE_ZONE, "dpotrf", "lapack");
	uint32_t own = recording_site(&r, SONDE_SITE_ZONE, "own", NULL);
	uint32_t idle = recording_site(&r, SONDE_SITE_ZONE, "idle", NULL);
	for (uint64_t i = 0; i < 3; i++)
		call(&r, 1, dgemm, START + i * 10 * MS, 5 * MS, 64);
	call(&r, 1, dgemm, START + 30 * MS, 5 * MS, 10);
	recording_begin(&r, 1, dpotrf, START + 40 * MS);
	recording_arg_text(&r, 1, START + 40 * MS + 1, "size", "n=9");
	recording_end(&r, 1, START + 40 * MS + 5000);
	recording_begin(&r, 2, idle, START);
	recording_end(&r, 2, START + 20 * MS);
	recording_begin(&r, 2, own, START + 50 * MS);
	recording_work(&r, 2, START + 51 * MS, 1e6, 0, 3);
	call(&r, 2, dgemm, START + 60 * MS, 5 * MS, 64);
	recording_end(&r, 2, START + 70 * MS);
	for (uint64_t ms = 0; ms < 100; ms++) /* all of main, and what lies behind the 50th ms of the other */
		sample(&r, 1, START + ms * MS + MS / 2);
	for (uint64_t ms = 50; ms < 100; ms++)
		sample(&r, 2, START + ms * MS + MS / 2);
	recording_close(&r, START + 100 * MS, 0);
}

static void check(const struct sonde_section *t)
{
	double flop = 4 * 2. * 64 * 64 * 64 + 2000;
	assert_int_equal(sections_int(t, "zone", "dgemm", "calls"), 5);
	assert_int_equal(sections_int(t, "zone", "dgemm", "total_ns"), 25 * MS);
	assert_near(sections_real(t, "zone", "dgemm", "flop"), flop, 0);
	assert_near(sections_real(t, "zone", "dgemm", "flop_per_sec"), flop / 0.025, 1e-3);
	assert_near(sections_real(t, "zone", "dgemm", "bytes"), 4 * 24. * 64 * 64 + 2400, 0);
	assert_near(sections_real(t, "zone", "dgemm", "flop_per_call_median"), 2. * 64 * 64 * 64, 0);
	assert_near(sections_real(t, "zone", "dgemm", "commonest_size_share"), 0.8, 1e-12);
	assert_string_equal(sections_cell(t, sections_row(t, "zone", "dgemm"), "commonest_size")->text,
			    "m=64 n=64 k=64");
	assert_string_equal(sections_cell(t, sections_row(t, "zone", "dgemm"), "counted_by")->text, "library call");
	/* failed: a call without FLOP, which is no 0 */
	assert_int_equal(sections_int(t, "zone", "dpotrf", "calls"), 1);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "dpotrf"), "flop")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "dpotrf"), "flop_per_byte")->kind, SONDE_CELL_ABSENT);
	assert_true(sections_noted(t->notes, "1 library call failed"));
	assert_true(sections_noted(t->notes, "1 call took less than 10 µs"));
	/* as the program reported it, and not added to the library's */
	assert_near(sections_real(t, "zone", "own", "flop"), 1e6, 0);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "own"), "bytes")->kind, SONDE_CELL_ABSENT);
	assert_int_equal(sections_cell(t, sections_row(t, "zone", "own"), "flop_per_byte")->kind, SONDE_CELL_ABSENT);
	assert_near(sections_real(t, "zone", "(all library calls)", "flop"), flop, 0);
	assert_int_equal(sections_int(t, "zone", "(all library calls)", "calls"), 6);
	assert_true(sections_noted(t->notes, "they are not added"));
	assert_null(sections_row(t, "zone", "idle"));
	/* 4 × 5 ms and 20 ms of 150 */
	assert_true(sections_noted(t->notes, "took 0.040 s and 26.7 % of sampled CPU time"));
}

static void calls_and_reports_are_apart(void **state)
{
	(void)state;
	static const int rows[] = {1, 3, 1000}; /* a call's events may be in two chunks */
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		record(rows[i]);
		struct sections s = sections_of(path, "flop summary", NULL);
		check(sections_get(&s, "flop"));
		const struct sonde_section *summary = sections_get(&s, "summary");
		double flop = 4 * 2. * 64 * 64 * 64 + 2000;
		assert_near(sections_real(summary, "metric", "compute.estimated_flops", "value"), flop, 0);
		assert_near(sections_real(summary, "metric", "compute.flops_per_second", "value"), flop / 0.1, 1e-3);
		sections_free(&s);
	}
}

static void a_part_is_of_its_calls(void **state)
{
	(void)state;
	struct sonde_pass_options options = {
	    .selection.from_ns = START, .selection.to_ns = START + 20 * MS, .requested = 1};
	record(1000);
	struct sections s = sections_of(path, "flop", &options);
	const struct sonde_section *t = sections_get(&s, "flop");
	assert_int_equal(sections_int(t, "zone", "dgemm", "calls"), 2);
	assert_near(sections_real(t, "zone", "dgemm", "flop"), 2 * 2. * 64 * 64 * 64, 0);
	assert_null(sections_row(t, "zone", "own"));
	sections_free(&s);
}

static void nothing_counted_is_not_zero(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "main", START);
	recording_begin(&r, 1, recording_site(&r, SONDE_SITE_ZONE, "own", NULL), START);
	recording_arg_text(&r, 1, START + 1, "size", "m=3 n=4");
	recording_end(&r, 1, START + MS);
	recording_close(&r, START + 2 * MS, 0);
	struct sonde_pass_options options = {.requested = 1};
	struct sections s = sections_of(path, "flop summary", &options);
	assert_true(sections_noted(sections_get(&s, "flop")->notes, "no FLOP or bytes were counted"));
	const struct sonde_section *summary = sections_get(&s, "summary");
	const struct sonde_cell *row = sections_row(summary, "metric", "compute.estimated_flops");
	assert_int_equal(sections_cell(summary, row, "value")->kind, SONDE_CELL_ABSENT);
	sections_free(&s);
}

/* The first three of five calls are kept, and all five are in the sums. */
static void reports_beyond_the_most_are_counted_alone(void **state)
{
	struct sonde_session *session;
	struct sonde_works works;
	struct sonde_flop_reports reports;
	(void)state;
	record(1000);
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	assert_int_equal(sonde_works_read(&works, session, 3), 0);
	assert_int_equal(sonde_flop_reports_read(&reports, session, 3), 0);
	assert_int_equal(works.count, 3);
	assert_int_equal(works.beyond, 3);
	assert_int_equal(reports.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(works.works[i].time_ns, reports.row[i].time_ns);
	assert_int_equal(sonde_flop_sums_of(&reports, 1).reports, 5);
	assert_near(sonde_flop_sums_of(&reports, 1).flop, 4 * 2. * 64 * 64 * 64 + 2000, 0);
	assert_near(sonde_flop_sums_of(&reports, 0).flop, 1e6, 0);
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	sonde_works_note(&works, report, NULL);
	assert_true(sections_noted(report->notes, "3 reports of work beyond the first 3"));
	sonde_report_free(report);
	sonde_works_fini(&works);
	sonde_flop_reports_fini(&reports);
	sonde_session_close(session);
}

/* Hardware counted twice as much as the library calls did, or could not count. */
static struct sections counted(double flop, const char *sections, const struct sonde_pass_options *options, int calls)
{
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "prog", START);
	recording_thread(&r, 1, 100, "main", START);
	if (calls)
		call(&r, 1, recording_site(&r, SONDE_SITE_ZONE, "dgemm", "blas"), START, 5 * MS, 10);
	if (flop > 0)
		recording_point(&r, START + 100 * MS, recording_series(&r, SONDE_METRIC_FLOP, 1, 0, ""), (int64_t)flop);
	recording_source(&r, "flop", flop > 0 ? SONDE_SOURCE_ON : SONDE_SOURCE_UNAVAILABLE, "",
			 flop > 0 ? "" : "no counters", 0);
	recording_close(&r, START + 100 * MS, 0);
	return sections_of(path, sections, options);
}

static void the_processor_counts_the_run(void **state)
{
	(void)state;
	struct sonde_pass_options options = {.requested = 1};
	struct sections s = counted(4000, "flop roofline", &options, 1);
	const struct sonde_section *t = sections_get(&s, "flop");
	assert_near(sections_real(t, "zone", "(whole run)", "flop"), 4000, 0);
	assert_near(sections_real(t, "zone", "(whole run)", "flop_per_sec"), 40000, 1e-6);
	assert_string_equal(sections_cell(t, sections_row(t, "zone", "(whole run)"), "counted_by")->text, "processor");
	assert_true(sections_noted(t->notes, "4000 in the whole run (user code), 50.0 % of them"));
	/* of no zone: no point of a roofline */
	assert_null(sections_row(sections_get(&s, "roofline"), "zone", "(whole run)"));
	assert_true(sections_noted(sections_get(&s, "roofline")->notes, "4000 in the whole run"));
	sections_free(&s);
	s = counted(4000, "flop", &options, 0);
	t = sections_get(&s, "flop");
	assert_near(sections_real(t, "zone", "(whole run)", "flop"), 4000, 0);
	assert_true(sections_noted(t->notes, "no zone or library call has"));
	sections_free(&s);
}

static void counters_that_are_not_there_say_why(void **state)
{
	(void)state;
	struct sonde_pass_options options = {.requested = 1};
	struct sections s = counted(0, "flop roofline", &options, 1);
	assert_null(sections_row(sections_get(&s, "flop"), "zone", "(whole run)"));
	assert_true(sections_noted(sections_get(&s, "flop")->notes, "unknown: no counters"));
	assert_true(sections_noted(sections_get(&s, "roofline")->notes, "unknown: no counters"));
	sections_free(&s);
}

static enum sonde_basis basis_of(const struct sonde_section *section, const char *key)
{
	for (size_t i = 0; i < section->table.column_count; i++)
		if (!strcmp(section->table.columns[i].key, key))
			return section->table.columns[i].basis;
	fail();
	return SONDE_BASIS_MEASURED;
}

/* Bytes that the program reports are not modelled; a library's are, and next to reported ones a note says which. */
static void bytes_are_of_whom_they_are(void **state)
{
	static const char *const keys[] = {"bytes", "bytes_per_sec", "flop_per_byte"};
	(void)state;
	for (int is_mixed = 0; is_mixed < 2; is_mixed++) {
		struct recording r;
		simple_open(&r);
		uint32_t own = recording_site(&r, SONDE_SITE_ZONE, "own", NULL);
		uint32_t dgemm = recording_site(&r, SONDE_SITE_ZONE, "dgemm", "blas");
		recording_begin(&r, 1, own, START + 10 * MS);
		recording_work(&r, 1, START + 11 * MS, 1e6, 2e6, 3);
		recording_end(&r, 1, START + 20 * MS);
		if (is_mixed)
			call(&r, 1, dgemm, START + 30 * MS, 5 * MS, 64);
		recording_close(&r, START + 50 * MS, 0);
		struct sections s = sections_of(path, "flop", &(struct sonde_pass_options){.requested = 1});
		const struct sonde_section *t = sections_get(&s, "flop");
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			assert_int_equal(basis_of(t, keys[i]), is_mixed ? SONDE_BASIS_MODELLED : SONDE_BASIS_MEASURED);
		assert_near(sections_real(t, "zone", "own", "bytes"), 2e6, 0);
		assert_int_equal(sections_noted(t->notes, "only library calls' bytes are modelled"), is_mixed);
		sections_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_and_reports_are_apart),  cmocka_unit_test(a_part_is_of_its_calls),
	    cmocka_unit_test(nothing_counted_is_not_zero),  cmocka_unit_test(reports_beyond_the_most_are_counted_alone),
	    cmocka_unit_test(the_processor_counts_the_run), cmocka_unit_test(counters_that_are_not_there_say_why),
	    cmocka_unit_test(bytes_are_of_whom_they_are),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
