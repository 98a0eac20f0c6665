/* test_report.c: the result model keeps order, rows and texts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>
#include <cmocka.h>

#include "report/report.h"

static const struct sonde_column columns[] = {
    {"name", "name", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    {"self_ns", "self", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    {"share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
};

static void sections_keep_their_order(void **state)
{
	(void)state;
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	assert_null(report->first);
	struct sonde_section *table = sonde_report_table(report, "functions", "Functions", columns, 3);
	struct sonde_section *tree = sonde_report_tree(report, "calltree", "Call tree", SONDE_UNIT_NS, "CPU time");
	assert_ptr_equal(report->first, table);
	assert_ptr_equal(table->next, tree);
	assert_null(tree->next);
	assert_int_equal(table->kind, SONDE_SECTION_TABLE);
	assert_int_equal(tree->kind, SONDE_SECTION_TREE);
	assert_non_null(tree->tree.root);
	assert_string_equal(tree->tree.root->name, "");
	assert_string_equal(tree->tree.value, "CPU time");
	sonde_report_free(report);
}

static void rows_survive_growth(void **state)
{
	(void)state;
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *table = sonde_report_table(report, "functions", "Functions", columns, 3);
	for (uint64_t i = 0; i < 1000; i++) {
		struct sonde_cell *row = sonde_report_row(report, table);
		for (size_t c = 0; c < 3; c++)
			assert_int_equal(row[c].kind, SONDE_CELL_ABSENT);
		row[0] = sonde_cell_text(sonde_report_text(report, "f%d", (int)i));
		row[1] = sonde_cell_int(i * 7);
		row[2] = sonde_cell_real((double)i / 1000, 0.05);
	}
	assert_int_equal(table->table.row_count, 1000);
	const struct sonde_cell *row = table->table.cells + 3 * 777;
	assert_string_equal(row[0].text, "f777");
	assert_int_equal(row[1].integer, 777 * 7);
	assert_true(row[2].real > 0.7769 && row[2].real < 0.7771);
	assert_true(row[2].plus_minus == 0.05);
	sonde_report_free(report);
}

static void notes_keep_their_order(void **state)
{
	(void)state;
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *table = sonde_report_table(report, "functions", "Functions", columns, 3);
	sonde_report_note(report, table, 0, "of %s", "all");
	sonde_report_note(report, table, 1, "%d lost", 5);
	sonde_report_note(report, NULL, 0, "%0600d", 1);
	assert_string_equal(table->notes->text, "of all");
	assert_int_equal(table->notes->warning, 0);
	assert_string_equal(table->notes->next->text, "5 lost");
	assert_int_equal(table->notes->next->warning, 1);
	assert_null(table->notes->next->next);
	assert_int_equal(strlen(report->notes->text), 600);
	sonde_report_free(report);
}

/* Of the section where there is one, else of the report. */
static void advice_belongs_to_the_last_note(void **state)
{
	(void)state;
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *table = sonde_report_table(report, "functions", "Functions", columns, 3);
	sonde_report_note(report, NULL, 0, "add --heap");
	sonde_report_note(report, table, 0, "of all");
	sonde_report_note(report, table, 0, "another: --focus NAME");
	sonde_report_advise(report, table, SONDE_ACTION_FUNCTION, "--focus NAME");
	sonde_report_advise(report, NULL, SONDE_ACTION_RECORD, "--heap");
	sonde_report_note(report, table, 0, "and so on");
	assert_int_equal(table->notes->action.kind, SONDE_ACTION_NONE);
	assert_int_equal(table->notes->next->action.kind, SONDE_ACTION_FUNCTION);
	assert_string_equal(table->notes->next->action.text, "--focus NAME");
	assert_int_equal(table->notes->next->next->action.kind, SONDE_ACTION_NONE);
	assert_int_equal(report->notes->action.kind, SONDE_ACTION_RECORD);
	assert_string_equal(sonde_action_name(SONDE_ACTION_RECORD), "record");
	sonde_report_free(report);
}

static void sections_and_cells_are_found_by_name(void **state)
{
	(void)state;
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	assert_non_null(sonde_report_tree(report, "calltree", "Call tree", SONDE_UNIT_NS, "CPU time"));
	struct sonde_section *table = sonde_report_table(report, "functions", "Functions", columns, 3);
	struct sonde_cell *row = sonde_report_row(report, table);
	row[0] = sonde_cell_text("f");
	row[1] = sonde_cell_int(7);
	row[2] = sonde_cell_real(0.5, 0);
	assert_ptr_equal(sonde_report_find(report, "functions"), table);
	assert_null(sonde_report_find(report, "calltree"));
	assert_null(sonde_report_find(report, "threads"));
	assert_null(sonde_report_find(NULL, "functions"));
	assert_int_equal(sonde_report_cell_uint(table, 0, "self_ns"), 7);
	assert_int_equal(sonde_report_cell_uint(table, 0, "share"), 0);
	assert_int_equal(sonde_report_cell_uint(table, 0, "name"), 0);
	assert_int_equal(sonde_report_cell_uint(table, 1, "self_ns"), 0);
	assert_int_equal(sonde_report_cell_uint(NULL, 0, "self_ns"), 0);
	assert_string_equal(sonde_report_cell_text(table, 0, "name"), "f");
	assert_string_equal(sonde_report_cell_text(table, 0, "self_ns"), "");
	sonde_report_free(report);
}

/* Called by sanitizers: a failed allocation gives NULL there, too. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* What cannot be added may still be used, and the report says that it is incomplete. */
static void failed_additions_show_in_the_status(void **state)
{
	(void)state;
	const wchar_t no_character[] = {0x7fffffff, 0}; /* printf refuses it */
	struct sonde_report *report;
	assert_int_equal(sonde_report_new(&report), 0);
	struct sonde_section *table = sonde_report_table(report, "functions", "Functions", columns, 3);
	sonde_report_row(report, table)[0] = sonde_cell_text("f");
	assert_int_equal(sonde_report_status(report), 0);
	assert_string_equal(sonde_report_text(report, "%ls", no_character), "");
	assert_int_equal(sonde_report_status(report), -ENOMEM);
	report->is_short = 0;
	table->table.row_count = table->table.row_cap = (size_t)1 << 55;
	sonde_report_row(report, table)[2] = sonde_cell_int(1);
	assert_true(table->table.row_count == (size_t)1 << 55);
	assert_int_equal(sonde_report_status(report), -ENOMEM);
	sonde_report_note(report, table, 0, "advice: %ls", no_character);
	sonde_report_advise(report, table, SONDE_ACTION_RECORD, "--heap");
	sonde_report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sections_keep_their_order),
	    cmocka_unit_test(rows_survive_growth),
	    cmocka_unit_test(notes_keep_their_order),
	    cmocka_unit_test(advice_belongs_to_the_last_note),
	    cmocka_unit_test(sections_and_cells_are_found_by_name),
	    cmocka_unit_test(failed_additions_show_in_the_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
