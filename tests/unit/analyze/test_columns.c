/* test_columns.c: cells by column names that the compiler checks (tests/unit/meson.build has names that it must
 * reject). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/columns.h"

static struct sonde_section *table_of(struct sonde_report *report, const char *id, const struct sonde_column *columns,
				      size_t count)
{
	struct sonde_section *section = sonde_report_table(report, id, id, columns, count);
	assert_non_null(section);
	return section;
}

/* In whatever order the section has them; what it does not have, and what is absent, reads as NAN or "". */
static void cells(void **state)
{
	static const struct sonde_column empty[] = {{.key = SONDE_COLUMN_KEY(waits, kind)}};
	static const struct sonde_column columns[] = {{.key = SONDE_COLUMN_KEY(waits, mean_ns), .unit = SONDE_UNIT_NS},
						      {.key = "other", .unit = SONDE_UNIT_BYTES},
						      {.key = SONDE_COLUMN_KEY(waits, kind), .unit = SONDE_UNIT_TEXT}};
	struct sonde_report *report;
	struct sonde_columns read;
	(void)state;
	assert_int_equal(sonde_report_new(&report), 0);
	table_of(report, "waits", empty, 1); /* without rows: the next one of the name is meant */
	struct sonde_section *section = table_of(report, "waits", columns, 3);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[0] = sonde_cell_int(17);
	row[1] = sonde_cell_int(4096);
	row[2] = sonde_cell_label("asleep", SONDE_WAIT_SLEEP); /* whatever the text */
	row = sonde_report_row(report, section);
	row[0] = sonde_cell_absent("not measured");
	row[2] = sonde_cell_absent("not known");
	row = sonde_report_row(report, section);
	row[2] = sonde_cell_text("sleep");
	sonde_columns_read(&read, report);
	const struct sonde_columns_waits *waits = &read.waits;
	assert_int_equal(waits->of.rows, 3);
	assert_true(sonde_column_ns(waits, 0, mean_ns) == 17);
	assert_true(sonde_column_label(waits, 0, kind) == SONDE_WAIT_SLEEP);
	assert_string_equal(sonde_column_label_text(waits, 0, kind), "asleep");
	assert_true(isnan(sonde_column_count(waits, 0, calls)));
	assert_string_equal(sonde_column_text(waits, 0, function), "");
	assert_true(isnan(sonde_column_ns(waits, 1, mean_ns)));
	assert_int_equal((int)sonde_column_label(waits, 1, kind), -1);
	assert_string_equal(sonde_column_label_text(waits, 1, kind), "");
	assert_int_equal((int)sonde_column_label(waits, 2, kind), -1); /* a text that stands for nothing */
	assert_true(isnan(sonde_column_ns(waits, 3, mean_ns)));
	assert_int_equal((int)sonde_column_label(waits, 3, kind), -1);
	assert_int_equal(read.locks.of.rows, 0);
	assert_true(isnan(sonde_column_ns(&read.locks, 0, waited_ns)));
	sonde_report_free(report);
}

static void summary_rows(void **state)
{
	static const struct sonde_column columns[] = {
	    {.key = SONDE_COLUMN_KEY(summary, metric), .unit = SONDE_UNIT_TEXT},
	    {.key = SONDE_COLUMN_KEY(summary, value), .unit = SONDE_UNIT_NUMBER}};
	struct sonde_report *report;
	struct sonde_columns read;
	(void)state;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *section = table_of(report, "summary", columns, 2);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[0] = sonde_cell_text("timing.cpu_time_s");
	row[1] = sonde_cell_real(1.5, 0);
	row = sonde_report_row(report, section);
	row[0] = sonde_cell_text("timing.stolen_time_s");
	row[1] = sonde_cell_absent("not measured");
	sonde_columns_read(&read, report);
	assert_string_equal(SONDE_SUMMARY_KEY(timing, cpu_time_s), "timing.cpu_time_s");
	assert_true(sonde_summary_value(&read, timing, cpu_time_s) == 1.5);
	assert_true(isnan(sonde_summary_value(&read, timing, stolen_time_s)));
	assert_true(isnan(sonde_summary_value(&read, timing, wall_time_s)));
	sonde_report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cells),
	    cmocka_unit_test(summary_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
