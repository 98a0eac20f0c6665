/* test_diff_tree.c: two call trees with a known difference: paths in both, paths in one, and the limit on how many
 * are kept. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/diff/diff.h"
#include "recording.h"
#include "sections.h"
#include "util/error.h"

#define MS 1000000ull

enum { DEEP = 30000 };

/* Samples of 1 ms on main → work → leaf, main → work, main → gone or new. */
struct made {
	const char *path, *other;
	unsigned leaf, work, others, stackless, deep;
};

static void make(const struct made *made)
{
	struct recording recording;
	uint64_t time_ns = RECORDING_START_NS + MS;
	recording_open(&recording, made->path);
	uint32_t process = recording_process(&recording, 10, 0, "app", RECORDING_START_NS);
	uint32_t thread = recording_thread(&recording, process, 10, "app", RECORDING_START_NS);
	uint32_t module = recording_module(&recording, "/usr/bin/app", 0);
	uint32_t main = recording_call(&recording, 0, module, "main", 1);
	uint32_t work = recording_call(&recording, main, module, "work", 2);
	uint32_t nodes[] = {recording_call(&recording, work, module, "leaf", 3), work,
			    recording_call(&recording, main, module, made->other, 4), 0, main};
	unsigned counts[] = {made->leaf, made->work, made->others, made->stackless, 0};
	for (unsigned i = 0; i < made->deep; i++)
		nodes[4] = recording_call(&recording, nodes[4], module, "again", 5);
	counts[4] = made->deep ? 1 : 0;
	for (int i = 0; i < 5; i++)
		for (unsigned k = 0; k < counts[i]; k++, time_ns += MS)
			recording_sample(&recording, (struct recording_sample){time_ns, thread, nodes[i], MS, 0});
	recording_process_end(&recording, process, time_ns, time_ns - RECORDING_START_NS, 0);
	recording_close(&recording, time_ns, 0);
}

static int compare(struct sonde_diff *diff, const struct sonde_diff_options *options, const struct made *baseline,
		   const struct made *candidate)
{
	make(baseline);
	make(candidate);
	*diff = (struct sonde_diff){.options = options};
	assert_int_equal(sonde_session_open(&diff->baseline, baseline->path, NULL), 0);
	assert_int_equal(sonde_session_open(&diff->candidate, candidate->path, NULL), 0);
	assert_int_equal(sonde_report_new(&diff->report), 0);
	return sonde_diff_run(diff);
}

static void done(struct sonde_diff *diff)
{
	unlink(sonde_session_path(diff->baseline));
	unlink(sonde_session_path(diff->candidate));
	sonde_report_free(diff->report);
	sonde_session_close(diff->baseline);
	sonde_session_close(diff->candidate);
}

static const struct sonde_section *tree_of(const struct sonde_diff *diff)
{
	return sections_get(&(struct sections){diff->candidate, diff->report}, "diff-calltree");
}

static const struct made before = {"tree-a.sonde", "gone", 60, 20, 20, 7, 0};
static const struct made after = {"tree-b.sonde", "new", 30, 20, 50, 0, 0};

static void paths_are_laid_over_each_other(void **state)
{
	static const struct sonde_diff_options options = {.margin = 0.01, .sections = "diff-calltree"};
	static const struct {
		const char *name;
		unsigned level, ns[2], self[2];
	} rows[] = {
	    {"all", 0, {100, 100}, {0, 0}},  {"main", 1, {100, 100}, {0, 0}}, {"work", 2, {80, 50}, {20, 20}},
	    {"leaf", 3, {60, 30}, {60, 30}}, {"new", 2, {0, 50}, {0, 50}},    {"gone", 2, {20, 0}, {20, 0}},
	};
	struct sonde_diff diff;
	(void)state;
	assert_int_equal(compare(&diff, &options, &before, &after), 0);
	const struct sonde_section *section = tree_of(&diff);
	assert_int_equal(section->table.row_count, sizeof rows / sizeof *rows);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double change = (rows[i].ns[1] - (double)rows[i].ns[0]) / 1000;
		assert_string_equal(sonde_report_cell_text(section, i, "function"), rows[i].name);
		assert_int_equal(sonde_report_cell(section, i, "level")->integer, rows[i].level);
		assert_int_equal(sonde_report_cell(section, i, "baseline_ns")->integer, rows[i].ns[0] * MS);
		assert_int_equal(sonde_report_cell(section, i, "candidate_ns")->integer, rows[i].ns[1] * MS);
		assert_int_equal(sonde_report_cell(section, i, "baseline_self_ns")->integer, rows[i].self[0] * MS);
		assert_int_equal(sonde_report_cell(section, i, "candidate_self_ns")->integer, rows[i].self[1] * MS);
		assert_true(fabs(sonde_report_cell(section, i, "change_s")->real - change) < 1e-12);
		assert_true(fabs(sonde_report_cell(section, i, "share_change")->real - change * 10) < 1e-12);
	}
	/* 60 of 100 and 30 of 100: Wilson's half widths, the wider side, put together. */
	assert_true(fabs(sonde_report_cell(section, 3, "share_change")->plus_minus - 0.139) < 0.003);
	assert_true(fabs(sonde_report_cell(section, 3, "change_s")->plus_minus - 0.0139) < 0.0003);
	/* Selected alone, but the facts are those of the whole. */
	assert_ptr_equal(diff.report->first, section);
	assert_ptr_equal(diff.report->last, section);
	assert_string_equal(diff.report->facts->key, "verdict");
	done(&diff);
}

static void the_smallest_are_left_out(void **state)
{
	static const struct sonde_diff_options options = {.limit = 4, .sections = "diff,diff-calltree"};
	static const char *const kept[] = {"all", "main", "work", "leaf"};
	struct sonde_diff diff;
	(void)state;
	assert_int_equal(compare(&diff, &options, &before, &after), 0);
	const struct sonde_section *section = tree_of(&diff);
	assert_int_equal(section->table.row_count, 4);
	assert_int_equal(section->table.omitted, 2);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(sonde_report_cell_text(section, i, "function"), kept[i]);
	assert_string_equal(diff.report->first->id, "diff");
	done(&diff);
}

static void it_is_there_when_it_is_asked_for(void **state)
{
	static const struct sonde_diff_options options = {.margin = 0.01};
	struct sonde_diff diff;
	(void)state;
	assert_int_equal(compare(&diff, &options, &before, &after), 0);
	for (const struct sonde_section *at = diff.report->first; at; at = at->next)
		assert_string_not_equal(at->id, "diff-calltree");
	done(&diff);
}

static void deep_stacks_are_walked(void **state)
{
	static const struct sonde_diff_options options = {.limit = 1000000, .sections = "diff-calltree"};
	const struct made deep = {"tree-b.sonde", "new", 30, 20, 50, 0, DEEP};
	struct sonde_diff diff;
	(void)state;
	assert_int_equal(compare(&diff, &options, &before, &deep), 0);
	const struct sonde_section *section = tree_of(&diff);
	assert_int_equal(section->table.row_count, 6 + DEEP);
	assert_int_equal(sonde_report_cell(section, 5 + DEEP, "level")->integer, DEEP + 1);
	done(&diff);
}

static void other_sections_are_refused(void **state)
{
	static const char *const bad[] = {"", ",", "diff,", "diff-function", "calltree", "diff,nothing"};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(sonde_diff_check_sections(bad[i]), -EINVAL);
		assert_non_null(strstr(sonde_error_text(), "diff-calltree"));
	}
	assert_int_equal(sonde_diff_check_sections(NULL), 0);
	assert_int_equal(sonde_diff_check_sections("diff-zones,diff"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths_are_laid_over_each_other),   cmocka_unit_test(the_smallest_are_left_out),
	    cmocka_unit_test(it_is_there_when_it_is_asked_for), cmocka_unit_test(deep_stacks_are_walked),
	    cmocka_unit_test(other_sections_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
