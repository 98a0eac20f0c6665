/* test_try_zones.c: zones of an attempt are saved in the journal unchanged, and compared with known answers. */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze_fixture.h"
#include "cli/try/zones.h"
#include "report/report.h"
#include "util/error.h"
#include "util/json.h"

enum { RUNS = 10 };

static struct sonde_try_zone zone(const char *name, uint64_t calls_before, uint64_t calls_after)
{
	struct sonde_try_zone zone = {.name = strdup(name), .calls = {calls_after, calls_before}};
	for (int side = 0; side < SONDE_SIDES; side++)
		zone.ns[side] = calloc(RUNS + 1, sizeof **zone.ns);
	return zone;
}

/* "half" takes half as long in every run, "same" is the same, "gone" is in no run after, "rare" only in some. */
static struct sonde_try_zones made(int has_baseline)
{
	struct sonde_try_zones zones = {.runs = RUNS, .has_baseline = has_baseline, .count = 4};
	zones.zone = calloc(4, sizeof *zones.zone);
	zones.zone[0] = zone("half", 200, 100);
	zones.zone[1] = zone("same", 30, 30);
	zones.zone[2] = zone("gone", 10, 0);
	zones.zone[3] = zone("rare", 20, 10);
	for (int run = 0; run < RUNS; run++) {
		zones.zone[0].ns[SONDE_BASELINE][run] = 2e6 + 2000 * run;
		zones.zone[0].ns[SONDE_CANDIDATE][run] = 1e6 + 1000 * run;
		zones.zone[1].ns[SONDE_BASELINE][run] = zones.zone[1].ns[SONDE_CANDIDATE][run] = 5e6 + 7 * run;
		zones.zone[2].ns[SONDE_BASELINE][run] = 1000;
		zones.zone[3].ns[SONDE_BASELINE][run] = run % 2 ? 0 : 1000;
		zones.zone[3].ns[SONDE_CANDIDATE][run] = 500;
	}
	return zones;
}

static struct sonde_try_zones written_and_read(const struct sonde_try_zones *zones)
{
	struct sonde_try_zones back;
	struct sonde_json json;
	char *text = NULL;
	size_t text_b;
	FILE *out = open_memstream(&text, &text_b);
	sonde_json_init(&json, out, 0);
	sonde_json_object(&json);
	sonde_try_zones_put(&json, zones);
	sonde_json_end(&json);
	fclose(out);
	json_t *root = json_loadb(text, text_b, 0, NULL);
	assert_non_null(root);
	assert_int_equal(sonde_try_zones_read(&back, json_object_get(root, "zones")), 0);
	json_decref(root);
	free(text);
	return back;
}

static void the_journal_has_them_as_they_were(void **state)
{
	struct sonde_try_zones zones = made(1), back = written_and_read(&zones);
	(void)state;
	assert_int_equal(back.count, 4);
	assert_int_equal(back.runs, RUNS);
	assert_true(back.has_baseline);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(back.zone[i].name, zones.zone[i].name);
		for (int side = 0; side < SONDE_SIDES; side++) {
			assert_int_equal(back.zone[i].calls[side], zones.zone[i].calls[side]);
			assert_memory_equal(back.zone[i].ns[side], zones.zone[i].ns[side], RUNS * sizeof(double));
		}
	}
	sonde_try_zones_fini(&zones);
	sonde_try_zones_fini(&back);
	zones = (struct sonde_try_zones){0}; /* not requested: nothing is written */
	back = (struct sonde_try_zones){.runs = 1};
	assert_int_equal(sonde_try_zones_read(&back, NULL), 0);
	assert_int_equal(back.runs, 0);
}

static void damaged_ones_are_refused(void **state)
{
	static const char *const texts[] = {"{\"runs\":0,\"zones\":[]}", "{\"runs\":9000000000,\"zones\":[]}",
					    "{\"runs\":2,\"zones\":[{\"baseline_ns\":[1,2]}]}",
					    "{\"runs\":\"2\",\"zones\":[]}"};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sonde_try_zones zones;
		json_t *root = json_loads(texts[i], 0, NULL);
		assert_non_null(root);
		assert_true(sonde_try_zones_read(&zones, root) < 0);
		json_decref(root);
	}
}

static size_t row_of(const struct sonde_section *section, const char *name)
{
	for (size_t i = 0; i < section->table.row_count; i++)
		if (!strcmp(sonde_report_cell_text(section, i, "zone"), name))
			return i;
	fail_msg("no zone %s", name);
	return 0;
}

static void expect(const struct sonde_section *section, const char *name, double improvement, const char *verdict)
{
	size_t row = row_of(section, name);
	const struct sonde_cell *by = sonde_report_cell(section, row, "improvement");
	assert_string_equal(sonde_report_cell_text(section, row, "verdict"), verdict);
	if (*verdict)
		assert_true(by->real > improvement - 1e-9 && by->real < improvement + 1e-9);
	else
		assert_int_equal(by->kind, SONDE_CELL_ABSENT);
}

static void zones_are_compared(void **state)
{
	struct sonde_report *report;
	struct sonde_try_zones zones = made(1);
	(void)state;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *section = sonde_try_zones_section(report);
	assert_int_equal(sonde_try_zones_rows(report, section, 3, &zones, NULL, 0.01), 0);
	assert_int_equal(section->table.row_count, 4);
	expect(section, "half", 0.5, "improved");
	expect(section, "same", 0, "unchanged");
	expect(section, "gone", 0, "");
	expect(section, "rare", 0, ""); /* it is 0 in some runs: no share */
	size_t row = row_of(section, "half");
	assert_int_equal(sonde_report_cell(section, row, "attempt")->integer, 3);
	assert_int_equal(sonde_report_cell(section, row, "before_ns")->integer, 2009000);
	assert_int_equal(sonde_report_cell(section, row, "after_ns")->integer, 1004500);
	assert_true(sonde_report_cell(section, row, "calls_before")->real == 20);
	assert_int_equal(sonde_report_cell(section, row_of(section, "gone"), "after_ns")->kind, SONDE_CELL_ABSENT);
	sonde_report_free(report);
	sonde_try_zones_fini(&zones);
}

/* Of another time: the baseline's own runs, and no verdict on less than machines drift. */
static void runs_of_another_time_are_compared_with_care(void **state)
{
	struct sonde_report *report;
	struct sonde_try_zones before = made(0), zones = made(0);
	(void)state;
	for (int run = 0; run < RUNS; run++) {
		before.zone[0].ns[SONDE_CANDIDATE][run] = 2e6 + 2000 * run;
		before.zone[1].ns[SONDE_CANDIDATE][run] = 5.1e6 + 7 * run; /* 2 % more */
	}
	before.zone[2].calls[SONDE_CANDIDATE] = 10;
	free(before.zone[3].name);
	before.zone[3].name = strdup("before only");
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *section = sonde_try_zones_section(report);
	assert_int_equal(sonde_try_zones_rows(report, section, 1, &zones, &before, 0.01), 0);
	size_t half = row_of(section, "half"), same = row_of(section, "same");
	assert_string_equal(sonde_report_cell_text(section, half, "verdict"), "improved");
	assert_true(sonde_report_cell(section, half, "improvement")->real > 0.49);
	assert_true(sonde_report_cell(section, half, "improvement")->real < 0.51);
	assert_string_equal(sonde_report_cell_text(section, same, "verdict"), "unchanged");
	expect(section, "before only", 0, "");
	sonde_report_free(report);
	sonde_try_zones_fini(&zones);
	sonde_try_zones_fini(&before);
}

/* Zones of a run that lacks some would seem shorter. */
static void recordings_that_lack_zones_are_refused(void **state)
{
	static const struct {
		const char *lost;
		int status, is_cut;
		const char *why;
	} cases[] = {
	    {NULL, 0, 0, NULL},
	    {"cpu", 0, 0, NULL}, /* samples are not zones */
	    {"zones", 0, 0, "lost 7 events of zones"},
	    {NULL, 3 << 8, 0, "exit code 3"},
	    {NULL, 11, 0, "signal 11"},
	    {NULL, 0, 1, "is incomplete"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sonde_session *session;
		struct recording r;
		simple_open(&r);
		if (cases[i].lost)
			recording_lost(&r, cases[i].lost, "ring full", 7);
		recording_flush(&r);
		if (cases[i].is_cut)
			recording_abandon(&r);
		else
			recording_close(&r, START + 500 * MS, cases[i].status);
		assert_int_equal(sonde_session_open(&session, path, NULL), 0);
		assert_int_equal(sonde_try_zones_check(session), cases[i].why ? -EIO : 0);
		if (cases[i].why)
			assert_non_null(strstr(sonde_error_text(), cases[i].why));
		sonde_session_close(session);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_journal_has_them_as_they_were),
	    cmocka_unit_test(damaged_ones_are_refused),
	    cmocka_unit_test(zones_are_compared),
	    cmocka_unit_test(runs_of_another_time_are_compared_with_care),
	    cmocka_unit_test(recordings_that_lack_zones_are_refused),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
