/* test_analyze.c: passes over samples and switches give the known answers of synthetic recordings. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>

#include "analyze/cpu/samples.h"
#include "analyze/selection.h"
#include "analyze/statistics/stats.h"
#include "analyze_fixture.h"
#include "sections.h"

static void split_is_exact(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t main_node = recording_call(&r, 0, 1, "main", 10);
	uint32_t a = recording_call(&r, main_node, 1, "hot", 5), b = recording_call(&r, main_node, 1, "warm", 6);
	uint32_t c = recording_call(&r, b, 1, "cool", 7);
	samples_add(&r, a, 600, 0);
	samples_add(&r, b, 300, 0);
	samples_add(&r, c, 100, 0);
	recording_close(&r, START + 2000 * MS, 0);
	struct sections s = sections_of(path, "functions modules", NULL);
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_near(sections_real(t, "function", "hot", "self_share"), 0.6, 1e-12);
	assert_near(sections_real(t, "function", "warm", "self_share"), 0.3, 1e-12);
	assert_near(sections_real(t, "function", "cool", "self_share"), 0.1, 1e-12);
	assert_near(sections_real(t, "function", "warm", "total_share"), 0.4, 1e-12);
	assert_near(sections_real(t, "function", "main", "self_share"), 0, 0);
	assert_near(sections_real(t, "function", "main", "total_share"), 1, 0);
	assert_int_equal(sections_int(t, "function", "hot", "self_ns"), 600 * MS);
	assert_int_equal(sections_int(t, "function", "hot", "samples"), 600);
	assert_int_equal(t->table.row_count, 4);
	assert_ptr_equal(sections_row(t, "function", "hot"), t->table.cells); /* sorted by self time */
	assert_string_equal(sections_cell(t, t->table.cells, "module")->text, "prog");
	assert_true(sections_noted(t->notes, "1.000 s of sampled CPU time (1000 samples)"));
	t = sections_get(&s, "modules");
	assert_near(sections_real(t, "module", "prog", "self_share"), 1, 0);
	assert_near(sections_real(t, "module", "prog", "total_share"), 1, 0);
	sections_free(&s);
}

static void order_and_limit(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t main_node = recording_call(&r, 0, 1, "main", 10);
	samples_add(&r, recording_call(&r, main_node, 1, "zeta", 1), 30, 0);
	samples_add(&r, recording_call(&r, main_node, 1, "alpha", 1), 20, 0);
	recording_close(&r, START + 100 * MS, 0);
	static const struct {
		enum sonde_sort sort;
		const char *first;
	} rows[] = {{SONDE_SORT_SELF, "zeta"}, {SONDE_SORT_TOTAL, "main"}, {SONDE_SORT_NAME, "alpha"}};
	for (size_t i = 0; i < 3; i++) {
		struct sonde_pass_options options = {.sort = rows[i].sort, .limit = 1};
		struct sections s = sections_of(path, "functions", &options);
		const struct sonde_section *t = sections_get(&s, "functions");
		assert_int_equal(t->table.row_count, 1);
		assert_int_equal(t->table.omitted, 2);
		assert_string_equal(sections_cell(t, t->table.cells, "function")->text, rows[i].first);
		sections_free(&s);
	}
}

/* Functions with the same times are listed by name, not in the order in which they were recorded. */
static void equal_times_are_in_order_of_names(void **state)
{
	(void)state;
	static const char *const names[] = {"gamma", "alpha", "delta", "beta"};
	struct recording r;
	simple_open(&r);
	for (size_t i = 0; i < 4; i++)
		samples_add(&r, recording_call(&r, 0, 1, names[i], 1), 10, 0);
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "functions", NULL);
	const struct sonde_section *t = sections_get(&s, "functions");
	static const char *const sorted[] = {"alpha", "beta", "delta", "gamma"};
	assert_int_equal(t->table.row_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(sections_cell(t, t->table.cells + i * t->table.column_count, "function")->text,
				    sorted[i]);
	sections_free(&s);
}

/* main → fib → fib → fib → leaf: fib's total is the whole, once. */
static void recursion_counts_once(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t node = recording_call(&r, 0, 1, "main", 10);
	for (uint32_t i = 0; i < 3; i++)
		node = recording_call(&r, node, 1, "fib", 20 + i);
	samples_add(&r, node, 40, 0);
	samples_add(&r, recording_call(&r, node, 1, "leaf", 3), 60, 0);
	recording_close(&r, START + 200 * MS, 0);
	struct sonde_pass_options options = {.focus = "fib"};
	struct sections s = sections_of(path, "functions callers calltree", &options);
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_int_equal(sections_int(t, "function", "fib", "total_ns"), 100 * MS);
	assert_int_equal(sections_int(t, "function", "fib", "self_ns"), 40 * MS);
	t = sections_get(&s, "callers");
	assert_int_equal(t->notes->action.kind, SONDE_ACTION_NONE); /* a function was asked for */
	assert_int_equal(t->table.row_count, 3);
	assert_int_equal(sections_int(t, "relation", "caller", "total_ns"), 100 * MS);
	assert_string_equal(sections_cell(t, sections_row(t, "relation", "caller"), "function")->text, "main");
	assert_int_equal(sections_int(t, "relation", "self", "total_ns"), 40 * MS);
	assert_int_equal(sections_int(t, "relation", "callee", "total_ns"), 60 * MS);
	assert_string_equal(sections_cell(t, sections_row(t, "relation", "callee"), "function")->text, "leaf");
	const struct sonde_tree_node *n = sections_get(&s, "calltree")->tree.root;
	assert_int_equal(n->total, 100 * MS);
	static const char *const names[] = {"main", "fib", "fib", "fib", "leaf"};
	for (size_t i = 0; i < 5; i++) {
		n = n->child;
		assert_non_null(n);
		assert_null(n->next);
		assert_string_equal(n->name, names[i]);
		assert_int_equal(n->total, i == 4 ? 60 * MS : 100 * MS);
		assert_int_equal(n->self, i == 3 ? 40 * MS : i == 4 ? 60 * MS : 0);
	}
	sections_free(&s);
}

/* Shows the hottest function, and names the option that chooses another. */
static void callers_of_the_hottest(void **state)
{
	struct recording r;
	(void)state;
	simple_open(&r);
	samples_add(&r, recording_call(&r, recording_call(&r, 0, 1, "main", 10), 1, "hot", 20), 40, 0);
	recording_close(&r, START + 200 * MS, 0);
	const struct sonde_pass_options options = {.requested = 1};
	struct sections s = sections_of(path, "callers", &options);
	const struct sonde_action *action = &sections_get(&s, "callers")->notes->action;
	assert_int_equal(action->kind, SONDE_ACTION_FUNCTION);
	assert_string_equal(action->text, "--focus NAME");
	sections_free(&s);
}

/* f(x) { g(); h(); } seen from h twice: f's caller and callee under indirect recursion f → g → f → h. */
static void callers_add_up_under_recursion(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t node = recording_call(&r, 0, 1, "main", 1);
	uint32_t f = recording_call(&r, node, 1, "f", 1), g = recording_call(&r, f, 1, "g", 1);
	uint32_t h = recording_call(&r, recording_call(&r, g, 1, "f", 2), 1, "h", 1);
	samples_add(&r, g, 10, 0);
	samples_add(&r, h, 30, 0);
	samples_add(&r, f, 5, 0);
	samples_add(&r, recording_call(&r, 0, 1, "f", 3), 5, 0);
	recording_close(&r, START + 200 * MS, 0);
	struct sonde_pass_options options = {.focus = "f", .requested = 1};
	struct sections s = sections_of(path, "callers", &options);
	const struct sonde_section *t = sections_get(&s, "callers");
	uint64_t callers_ns = 0, remainder_ns = 0;
	for (size_t i = 0; i < t->table.row_count; i++) {
		const struct sonde_cell *row = t->table.cells + i * t->table.column_count;
		uint64_t ns = sections_cell(t, row, "total_ns")->integer;
		int caller = strcmp(sections_cell(t, row, "relation")->text, "caller") == 0;
		*(caller ? &callers_ns : &remainder_ns) += ns;
	}
	assert_int_equal(callers_ns, 50 * MS);
	assert_int_equal(remainder_ns, 50 * MS);
	assert_int_equal(sections_int(t, "function", "main", "total_ns"), 45 * MS);
	assert_int_equal(sections_int(t, "function", "(root)", "total_ns"), 5 * MS);
	assert_int_equal(sections_int(t, "function", "g", "total_ns"), 10 * MS);
	assert_int_equal(sections_int(t, "function", "h", "total_ns"), 30 * MS);
	assert_int_equal(sections_int(t, "relation", "self", "total_ns"), 10 * MS);
	sections_free(&s);
	options.focus = "nowhere";
	s = sections_of(path, "callers lines", &options);
	assert_true(sections_noted(sections_get(&s, "callers")->notes, "nowhere"));
	assert_true(sections_noted(sections_get(&s, "lines")->notes, "nowhere"));
	sections_free(&s);
}

/* One address of outer() holds code of inner(), inlined through middle(). */
static void inlined_functions_are_functions(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	const struct recording_place places[] = {
	    {"inner", "a.c", 3, 0}, {"middle", "a.c", 13, 0}, {"outer", "a.c", 23, 0x5000}};
	recording_symbol(&r, 1, 0x5010, places, 3);
	recording_symbol(&r, 1, 0x5020, places + 2, 1);
	samples_add(&r, recording_node(&r, 0, 1, 0x5010), 70, 0);
	samples_add(&r, recording_node(&r, 0, 1, 0x5020), 30, 0);
	recording_close(&r, START + 200 * MS, 0);
	struct sonde_pass_options options = {.focus = "outer"};
	struct sections s = sections_of(path, "functions calltree lines", &options);
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_int_equal(sections_int(t, "function", "inner", "self_ns"), 70 * MS);
	assert_int_equal(sections_int(t, "function", "middle", "self_ns"), 0);
	assert_int_equal(sections_int(t, "function", "middle", "total_ns"), 70 * MS);
	assert_int_equal(sections_int(t, "function", "outer", "self_ns"), 30 * MS);
	assert_int_equal(sections_int(t, "function", "outer", "total_ns"), 100 * MS);
	const struct sonde_tree_node *n = sections_get(&s, "calltree")->tree.root->child;
	assert_string_equal(n->name, "outer");
	assert_string_equal(n->child->name, "middle");
	assert_string_equal(n->child->child->name, "inner");
	t = sections_get(&s, "lines");
	assert_int_equal(t->table.row_count, 1); /* both addresses are line 23 */
	assert_int_equal(sections_cell(t, t->table.cells, "line")->integer, 23);
	assert_int_equal(sections_cell(t, t->table.cells, "self_ns")->integer, 30 * MS);
	assert_int_equal(sections_cell(t, t->table.cells, "total_ns")->integer, 100 * MS);
	sections_free(&s);
}

static void lines_show_the_source(void **state)
{
	(void)state;
	char source[80];
	snprintf(source, sizeof source, "%s.c", path);
	FILE *file = fopen(source, "w");
	assert_non_null(file);
	for (int i = 1; i <= 20; i++)
		fprintf(file, "text of line %d\n", i);
	fclose(file);
	/* Recordings of tests begin at 1700000000: newer source files are not shown. */
	assert_int_equal(utime(source, &(struct utimbuf){1600000000, 1600000000}), 0);
	struct recording r;
	simple_open(&r);
	for (uint32_t line = 5; line <= 11; line += 6) {
		recording_symbol(&r, 1, 0x5000 + line, &(struct recording_place){"f", source, line, 0x5000}, 1);
		samples_add(&r, recording_node(&r, 0, 1, 0x5000 + line), (int)line, 0);
	}
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "lines", NULL); /* the hottest function */
	const struct sonde_section *t = sections_get(&s, "lines");
	static const uint64_t lines[] = {3, 4, 5, 6, 7, 9, 10, 11, 12, 13};
	assert_int_equal(t->table.row_count, 10);
	for (size_t i = 0; i < 10; i++) {
		const struct sonde_cell *row = t->table.cells + i * t->table.column_count;
		char text[32];
		snprintf(text, sizeof text, "text of line %d", (int)lines[i]);
		assert_int_equal(sections_cell(t, row, "line")->integer, lines[i]);
		assert_string_equal(sections_cell(t, row, "source")->text, text);
	}
	assert_int_equal(sections_int(t, "source", "text of line 11", "samples"), 11);
	assert_int_equal(sections_cell(t, sections_row(t, "source", "text of line 10"), "samples")->kind,
			 SONDE_CELL_ABSENT);
	sections_free(&s);
	unlink(source);
}

static void broken_stacks_are_counted(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t f = recording_call(&r, 0, 1, "f", 1);
	samples_add(&r, f, 90, SONDE_STACK_COMPLETE);
	samples_add(&r, f, 5, SONDE_STACK_FRAME_POINTER);
	samples_add(&r, f, 4, SONDE_STACK_TRUNCATED);
	samples_add(&r, 0, 1, SONDE_STACK_NO_USER);
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "summary functions calltree", NULL);
	assert_true(sections_noted(s.report->notes, "100 samples, 95.0 % complete stacks"));
	assert_true(sections_noted(s.report->notes, "4 stacks (4.0 %) are incomplete: stack copy too short"));
	assert_true(sections_noted(s.report->notes, "1 stack (1.0 %) is incomplete: no user registers"));
	assert_true(sections_noted(sections_get(&s, "calltree")->notes, "5 of 100 stacks"));
	assert_true(sections_noted(sections_get(&s, "functions")->notes, "unsampled: 0.001 s (1.0 % of the 100 %)"));
	assert_near(sections_real(sections_get(&s, "functions"), "function", "f", "self_share"), 0.99, 1e-12);
	assert_int_equal(sections_get(&s, "calltree")->tree.root->self, MS);
	sections_free(&s);
}

/* Every reason for which a stack ends is a sentence of the summary. */
static void every_incomplete_stack_has_its_reason(void **state)
{
	(void)state;
	for (unsigned status = 0; status < SONDE_STACK_STATUS_COUNT; status++) {
		if (sonde_stack_is_complete(status) || !sonde_sample_counts((uint8_t)status))
			continue;
		struct recording r;
		simple_open(&r);
		uint32_t f = recording_call(&r, 0, 1, "f", 1);
		samples_add(&r, f, 9, SONDE_STACK_COMPLETE);
		samples_add(&r, f, 1, (uint8_t)status);
		recording_close(&r, START + 200 * MS, 0);
		struct sections s = sections_of(path, "summary", NULL);
		char note[160];
		snprintf(note, sizeof note, "1 stack (10.0 %%) is incomplete: %s", sonde_samples_status_text(status));
		assert_string_not_equal(sonde_samples_status_text(status), "unknown reason");
		assert_true(sections_noted(s.report->notes, note));
		sections_free(&s);
	}
}

static void kernel_is_shown(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t kernel = recording_module(&r, "[kernel]", SONDE_MODULE_KERNEL);
	uint32_t f = recording_call(&r, 0, 1, "f", 1);
	samples_add(&r, f, 50, 0);
	samples_add(&r, f, 20, SONDE_SAMPLE_KERNEL);                                     /* no kernel frames */
	samples_add(&r, recording_node(&r, f, kernel, 0x9000), 10, SONDE_SAMPLE_KERNEL); /* unnamed ones */
	samples_add(&r, recording_call(&r, f, kernel, "sys_read", 1), 20, SONDE_SAMPLE_KERNEL);
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "functions calltree", NULL);
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_int_equal(sections_int(t, "function", "f", "self_ns"), 50 * MS);
	assert_int_equal(sections_int(t, "function", "f", "total_ns"), 100 * MS);
	assert_int_equal(sections_int(t, "function", "[kernel]", "self_ns"), 30 * MS);
	assert_int_equal(sections_int(t, "function", "[kernel]", "total_ns"), 30 * MS);
	assert_int_equal(sections_int(t, "function", "sys_read", "self_ns"), 20 * MS);
	const struct sonde_tree_node *n = sections_get(&s, "calltree")->tree.root->child;
	assert_string_equal(n->child->name, "[kernel]");
	assert_int_equal(n->child->total, 30 * MS);
	assert_string_equal(n->child->next->name, "sys_read");
	sections_free(&s);
}

/* Measured kernel time is the row [kernel] of each table: it is part of the 100 %, but is no sample. */
static void kernel_time_that_was_measured_is_a_row(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	recording_source(&r, "cpu", SONDE_SOURCE_LIMITED, "perf events", "anything", 1000);
	samples_add(&r, recording_call(&r, 0, 1, "f", 1), 25, 0);
	recording_sample(
	    &r, (struct recording_sample){START + 90 * MS, 1, 0, 75 * MS, SONDE_STACK_MEASURED | SONDE_SAMPLE_KERNEL});
	recording_close(&r, START + 100 * MS, 0);
	struct sonde_pass_options options = {.requested = 1};
	struct sections s = sections_of(path, "functions modules calltree threads summary", &options);
	static const char *const ids[] = {"functions", "modules", "calltree", "threads"};
	for (size_t i = 0; i < 4; i++)
		assert_true(sections_noted(sections_get(&s, ids[i])->notes,
					   "100 % = 0.100 s of CPU time (25 samples, and 0.075 s "
					   "in the kernel from CPU clocks)"));
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_near(sections_real(t, "function", "[kernel]", "self_share"), 0.75, 1e-12);
	assert_int_equal(sections_int(t, "function", "[kernel]", "samples"), 0);
	assert_near(sections_real(t, "function", "f", "self_share"), 0.25, 1e-12);
	/* The error of a share of 100 samples: as for this many samples. */
	assert_near(sections_cell(t, sections_row(t, "function", "f"), "self_share")->plus_minus,
		    sonde_stats_share_half(0.25, 100), 1e-9);
	assert_near(sections_real(sections_get(&s, "modules"), "module", "[kernel]", "self_share"), 0.75, 1e-12);
	const struct sonde_tree_node *root = sections_get(&s, "calltree")->tree.root;
	assert_string_equal(root->child->name, "[kernel]");
	assert_int_equal(root->child->total, 75 * MS);
	assert_int_equal(root->total, 100 * MS);
	t = sections_get(&s, "summary");
	assert_int_equal(sections_int(t, "metric", "samples.count", "value"), 25);
	assert_near(sections_real(t, "metric", "samples.cpu_time_s", "value"), 0.1, 1e-9);
	assert_near(sections_real(t, "metric", "samples.not_sampled_s", "value"), 0, 0);
	assert_near(sections_real(t, "metric", "samples.kernel_measured_s", "value"), 0.075, 1e-9);
	sections_free(&s);
}

/* Rows other than samples have a weight and do not count as samples. */
static void what_is_no_sample_does_not_count(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t f = recording_call(&r, 0, 1, "f", 1), g = recording_call(&r, 0, 1, "g", 2);
	samples_add(&r, f, 10, 0);
	recording_sample(&r, (struct recording_sample){START + 50 * MS, 1, g, 3 * MS, SONDE_SAMPLE_EXTRA});
	recording_sample(
	    &r, (struct recording_sample){START + 51 * MS, 1, g, 1 * MS, SONDE_STACK_TRUNCATED | SONDE_SAMPLE_EXTRA});
	recording_sample(&r, (struct recording_sample){START + 52 * MS, 1, f, 2 * MS, SONDE_STACK_BORROWED});
	recording_sample(&r, (struct recording_sample){START + 53 * MS, 0, 0, 4 * MS, SONDE_STACK_NOT_SAMPLED});
	recording_close(&r, START + 100 * MS, 0);
	struct sonde_pass_options options = {.requested = 1};
	struct sections s = sections_of(path, "functions threads summary", &options);
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_int_equal(sections_int(t, "function", "f", "samples"), 10);
	assert_int_equal(sections_int(t, "function", "f", "self_ns"), 12 * MS);
	assert_int_equal(sections_int(t, "function", "g", "samples"), 0);
	assert_int_equal(sections_int(t, "function", "g", "self_ns"), 4 * MS);
	assert_true(sections_noted(t->notes, "100 % = 0.020 s of sampled CPU time (10 samples)"));
	t = sections_get(&s, "threads");
	assert_true(sections_noted(t->notes, "0.004 s (20.0 % of the 100 %) belong to unknown threads"));
	t = sections_get(&s, "summary");
	assert_int_equal(sections_int(t, "metric", "samples.count", "value"), 10);
	assert_int_equal(sections_int(t, "metric", "samples.extra", "value"), 2);
	assert_near(sections_real(t, "metric", "samples.cpu_time_s", "value"), 0.02, 1e-9);
	assert_near(sections_real(t, "metric", "samples.not_sampled_s", "value"), 0.004, 1e-9);
	assert_near(sections_real(t, "metric", "samples.complete_percent", "value"), 100 * 11 / 12.0, 1e-9);
	assert_true(sections_noted(s.report->notes, "10 samples and 2 extra, 91.7 % complete stacks"));
	assert_true(sections_noted(s.report->notes, "1 stack (10.0 % of the time) is taken from another thread"));
	sections_free(&s);
}

/* How a function gets its name depends on where its code comes from. */
static void advice_for_unnamed_functions_fits(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t stripped = recording_module(&r, "/bin/sh", 0);
	uint32_t gone = recording_module(&r, "/nonexistent/prog", 0);
	uint32_t generated = recording_module(&r, "[generated code]", SONDE_MODULE_ANONYMOUS);
	samples_add(&r, recording_node(&r, 0, stripped, 0x10), 50, 0);
	samples_add(&r, recording_node(&r, 0, gone, 0x10), 30, 0);
	samples_add(&r, recording_node(&r, 0, generated, 0x10), 20, 0);
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "functions", NULL);
	const struct sonde_note *notes = sections_get(&s, "functions")->notes;
	assert_true(
	    sections_noted(notes, "1 function with 50.0 % of the time is unnamed (module+0x…): add --debuginfod"));
	assert_true(sections_noted(notes, "1 function with 30.0 % of the time is unnamed, in deleted files"));
	assert_true(
	    sections_noted(notes, "1 function with 20.0 % of the time is unnamed, in generated code: let its runtime"));
	sections_free(&s);
	static const char *const said[] = {"its file is gone", "generated code"};
	const uint32_t focus[] = {gone, generated};
	for (size_t i = 0; i < 2; i++) {
		struct sonde_session *session;
		struct sonde_pass_options options = {.requested = 1};
		assert_int_equal(sonde_session_open(&session, path, NULL), 0);
		for (uint32_t id = 1; id <= sonde_session_function_count(session); id++)
			if (sonde_session_function(session, id)->module == focus[i])
				options.focus = sonde_session_function(session, id)->name;
		s = sections_of(path, "lines", &options);
		assert_true(sections_noted(sections_get(&s, "lines")->notes, said[i]));
		sections_free(&s);
		sonde_session_close(session);
	}
}

/* Lost time is one heavy sample without a stack: it is part of the 100 %, is in no row, and does not affect the
 * intervals. */
static void lost_time_is_in_no_function(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	uint32_t f = recording_call(&r, 0, 1, "f", 1);
	samples_add(&r, f, 100, 0);
	recording_sample(&r, (struct recording_sample){START + 5000 * MS, 1, 0, 300 * MS, SONDE_STACK_NO_USER});
	recording_close(&r, START + 6000 * MS, 0);
	struct sections s = sections_of(path, "functions calltree modules summary", NULL);
	const struct sonde_section *t = sections_get(&s, "functions");
	assert_near(sections_real(t, "function", "f", "self_share"), 0.25, 1e-12);
	assert_int_equal(t->table.row_count, 1);
	const struct sonde_cell *share = sections_cell(t, sections_row(t, "function", "f"), "self_share");
	assert_near(share->plus_minus, sonde_stats_share_half(0.25, 100), 1e-9);
	static const char *const ids[] = {"functions", "calltree", "modules"};
	for (size_t i = 0; i < 3; i++)
		assert_true(
		    sections_noted(sections_get(&s, ids[i])->notes, "unsampled: 0.300 s (75.0 % of the 100 %)"));
	assert_int_equal(sections_get(&s, "calltree")->tree.root->child->total, 100 * MS);
	assert_near(sections_real(sections_get(&s, "summary"), "metric", "samples.not_sampled_s", "value"), 0.3, 1e-9);
	sections_free(&s);
}

/* Wilson's interval for 10 of 100 is [0.0552, 0.1744] (Newcombe 1998 gives these digits for such cases by formula). */
static void interval_of_a_known_binomial(void **state)
{
	(void)state;
	assert_near(sonde_stats_share_half(0.1, 100), 0.17437 - 0.1, 1e-5);
	assert_near(sonde_stats_share_half(0.5, 100), 0.5 - 0.40383, 1e-5);
	assert_near(sonde_stats_share_half(0, 10), 0.27753, 1e-5);
	assert_near(sonde_stats_share_half(1, 10), 0.27753, 1e-5);
	assert_near(sonde_stats_share_half(0.3, 0), 0, 0);
	assert_near(sonde_stats_effective_n(10, 10), 10, 1e-12); /* equal weights of 1 */
	assert_near(sonde_stats_effective_n(1 + 1 + 2, 1 + 1 + 4), 16.0 / 6, 1e-12);
	struct recording r;
	simple_open(&r);
	samples_add(&r, recording_call(&r, 0, 1, "rare", 1), 10, 0);
	samples_add(&r, recording_call(&r, 0, 1, "often", 1), 90, 0);
	recording_close(&r, START + 200 * MS, 0);
	struct sections s = sections_of(path, "functions", NULL);
	const struct sonde_section *t = sections_get(&s, "functions");
	const struct sonde_cell *cell = sections_cell(t, sections_row(t, "function", "rare"), "self_share");
	assert_near(cell->plus_minus, 0.07437, 1e-5);
	sections_free(&s);
}

static void threads_and_processes_add_up(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "parent", START);
	recording_process(&r, 101, 1, "child", START + 5 * MS);
	recording_thread(&r, 1, 100, "main", START);
	recording_thread(&r, 1, 102, "worker", START);
	recording_thread(&r, 2, 101, "child", START + 5 * MS);
	recording_module(&r, "/usr/bin/prog", 0);
	uint32_t f = recording_call(&r, 0, 1, "f", 1);
	for (uint64_t i = 0; i < 100; i++)
		recording_sample(&r, (struct recording_sample){START + i * MS,
							       i < 50   ? 2u
							       : i < 80 ? 1u
									: 3u,
							       f, i < 50 ? 2 * MS : MS, 0});
	recording_thread_end(&r, 2, START + 90 * MS, 101 * MS);
	recording_thread_end(&r, 3, START + 90 * MS, 21 * MS);
	recording_process_end(&r, 2, START + 95 * MS, 0, 0);
	recording_process_end(&r, 1, START + 95 * MS, 150 * MS, 12 * MS); /* with the child that it waited for */
	recording_close(&r, START + 100 * MS, 0);
	struct sections s = sections_of(path, "threads processes", NULL);
	const struct sonde_section *t = sections_get(&s, "threads");
	assert_int_equal(t->table.row_count, 3);
	assert_int_equal(sections_int(t, "thread", "worker", "sampled_ns"), 100 * MS);
	assert_int_equal(sections_int(t, "thread", "worker", "cpu_ns"), 101 * MS);
	assert_near(sections_real(t, "thread", "worker", "share"), 100.0 / 150, 1e-9);
	assert_ptr_equal(sections_row(t, "thread", "worker"), t->table.cells);
	assert_int_equal(sections_cell(t, sections_row(t, "thread", "main"), "cpu_ns")->kind, SONDE_CELL_ABSENT);
	t = sections_get(&s, "processes");
	assert_int_equal(sections_int(t, "process", "parent", "sampled_ns"), 130 * MS);
	assert_int_equal(sections_int(t, "process", "child", "sampled_ns"), 20 * MS);
	assert_int_equal(sections_int(t, "process", "child", "cpu_ns"), 21 * MS);
	assert_int_equal(sections_int(t, "process", "parent", "cpu_ns"), 101 * MS); /* its own */
	assert_true(sections_noted(t->notes, "not all threads of 1 process were measured"));
	assert_int_equal(sections_int(t, "process", "child", "wall_ns"), 90 * MS);
	assert_string_equal(sections_cell(t, sections_row(t, "process", "child"), "status")->text, "exit 0");
	sections_free(&s);
	s = sections_of(
	    path, "functions",
	    &(struct sonde_pass_options){.selection.from_ns = START + 10 * MS, .selection.to_ns = START + 30 * MS});
	assert_int_equal(sections_int(sections_get(&s, "functions"), "function", "f", "samples"), 20);
	sections_free(&s);
}

/* Functions' samples of the threads that `which` means, of which there are `count`. */
static uint64_t samples_of_threads(const char *which, size_t count, const char *words)
{
	struct sonde_session *session;
	struct sonde_thread_selection selection;
	assert_int_equal(sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1}), 0);
	assert_int_equal(sonde_thread_selection_find(&selection, session, which), 0);
	sonde_session_close(session);
	assert_int_equal(selection.count, count);
	struct sections s =
	    sections_of(path, "functions threads",
			&(struct sonde_pass_options){.selection.thread = selection.threads, .thread_is = words});
	uint64_t samples = sections_int(sections_get(&s, "functions"), "function", "f", "samples");
	assert_int_equal(sections_get(&s, "threads")->table.row_count, count);
	assert_true(sections_noted(s.report->notes, words));
	sections_free(&s);
	free(selection.threads);
	return samples;
}

/* The kernel reuses a number: 101 is a thread of the parent, and after that thread has exited, a process of its own. */
static void threads_are_chosen_by_number_and_name(void **state)
{
	(void)state;
	struct recording r;
	recording_open(&r, path);
	recording_process(&r, 100, 0, "parent", START);
	recording_process(&r, 101, 1, "child", START + 50 * MS);
	recording_thread(&r, 1, 100, "main", START);
	recording_thread(&r, 1, 101, "worker", START);
	recording_thread(&r, 1, 102, "worker", START);
	recording_thread(&r, 2, 101, "102", START + 50 * MS);
	recording_module(&r, "/usr/bin/prog", 0);
	uint32_t f = recording_call(&r, 0, 1, "f", 1);
	for (uint64_t i = 0; i < 100; i++)
		recording_sample(&r, (struct recording_sample){START + i * MS,
							       i < 40   ? 1u
							       : i < 70 ? 2u
							       : i < 90 ? 3u
									: 4u,
							       f, MS, 0});
	recording_close(&r, START + 100 * MS, 0);
	assert_int_equal(samples_of_threads("100", 1, "1 thread with tid 100"), 40);
	assert_int_equal(samples_of_threads("101", 2, "2 threads with tid 101"), 30 + 10);
	assert_int_equal(samples_of_threads("102", 1, "1 thread with tid 102"), 20); /* a number before a name */
	assert_int_equal(samples_of_threads("worker", 2, "2 threads named worker"), 30 + 20);
	struct sonde_session *session;
	struct sonde_thread_selection selection;
	assert_int_equal(sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1}), 0);
	assert_int_equal(sonde_thread_selection_find(&selection, session, "99"), -ESRCH);
	assert_int_equal(sonde_thread_selection_find(&selection, session, "work"), -ESRCH);
	sonde_session_close(session);
}

/* Enough data for several workers: their merged answer is the same. */
static void parts_merge_to_the_whole(void **state)
{
	(void)state;
	struct recording r;
	simple_open(&r);
	r.chunk_rows = 20000;
	uint32_t nodes[50], site = recording_site(&r, SONDE_SITE_ZONE, "turn", NULL);
	uint64_t expected[50] = {0}, all = 0, random = 1, zones = 0, longest = 0;
	char name[16];
	for (uint32_t i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "f%u", i);
		nodes[i] = recording_call(&r, i ? nodes[i / 2] : 0, 1, name, 1);
	}
	for (uint64_t i = 0; i < 400000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		uint32_t f = (uint32_t)(random >> 33) % 50;
		uint64_t weight_ns = 1 + (random >> 50);
		expected[f] += weight_ns;
		all += weight_ns;
		recording_sample(&r, (struct recording_sample){START + i * 1000, 1, nodes[f], weight_ns, 0});
		recording_begin(&r, 1, site, START + i * 1000);
		if (i == 399999)
			break; /* never ended */
		recording_end(&r, 1, START + i * 1000 + weight_ns % 1000);
		longest = weight_ns % 1000 > longest ? weight_ns % 1000 : longest;
		zones++;
	}
	recording_close(&r, START + 500000 * 1000, 0);
	struct sections s = sections_of(path, "functions zones", &(struct sonde_pass_options){.limit = 100});
	assert_true(sonde_session_run(s.session)->file_b > 2u << 20);
	const struct sonde_section *t = sections_get(&s, "functions");
	for (uint32_t i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "f%u", i);
		assert_int_equal(sections_int(t, "function", name, "self_ns"), expected[i]);
	}
	assert_int_equal(sections_int(t, "function", "f0", "total_ns"), all);
	t = sections_get(&s, "zones");
	assert_int_equal(sections_int(t, "zone", "turn", "calls"), zones + 1);
	assert_int_equal(sections_int(t, "zone", "turn", "max_ns"), longest);
	assert_true(sections_noted(t->notes, "1 zone never ended"));
	sections_free(&s);
}

/* Chunks of both types alternate: every part gets its share of each. */
static void parts_give_every_event_once(void **state)
{
	(void)state;
	enum { PARTS = 3, CHUNKS = 30, ROWS = 10 };
	struct recording r;
	simple_open(&r);
	r.chunk_rows = ROWS;
	uint32_t f = recording_call(&r, 0, 1, "f", 1), site = recording_site(&r, SONDE_SITE_ZONE, "open", NULL);
	for (uint64_t i = 0; i < CHUNKS * ROWS; i++) {
		recording_sample(&r, (struct recording_sample){START + i, 1, f, 1, 0});
		recording_switch(&r, START + i, 1, SONDE_SWITCH_IN);
		if (i < ROWS + 1)
			recording_begin(&r, 1, site, START + i); /* two chunks, none of them ended */
	}
	recording_close(&r, START + MS, 0);
	struct sonde_session *session;
	assert_int_equal(sonde_session_open(&session, path, NULL), 0);
	size_t zones = 0;
	for (unsigned part = 0; part < PARTS; part++) {
		struct sonde_cursor *cursor;
		const struct sonde_batch *batch;
		size_t samples = 0, switches = 0;
		assert_int_equal(sonde_cursor_open_part(&cursor, session, ~0u, part, PARTS), 0);
		while (sonde_cursor_next(cursor, &batch) == 1) {
			samples += batch->type == SONDE_CHUNK_SAMPLES ? batch->count : 0;
			switches += batch->type == SONDE_CHUNK_SWITCHES ? batch->count : 0;
			zones += batch->type == SONDE_CHUNK_ZONES ? batch->count : 0;
		}
		assert_int_equal(samples, CHUNKS * ROWS / PARTS);
		assert_int_equal(switches, CHUNKS * ROWS / PARTS);
		sonde_cursor_close(cursor);
	}
	assert_int_equal(zones, ROWS + 1);
	sonde_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(split_is_exact),
	    cmocka_unit_test(order_and_limit),
	    cmocka_unit_test(equal_times_are_in_order_of_names),
	    cmocka_unit_test(recursion_counts_once),
	    cmocka_unit_test(callers_of_the_hottest),
	    cmocka_unit_test(callers_add_up_under_recursion),
	    cmocka_unit_test(inlined_functions_are_functions),
	    cmocka_unit_test(lines_show_the_source),
	    cmocka_unit_test(broken_stacks_are_counted),
	    cmocka_unit_test(every_incomplete_stack_has_its_reason),
	    cmocka_unit_test(kernel_is_shown),
	    cmocka_unit_test(kernel_time_that_was_measured_is_a_row),
	    cmocka_unit_test(what_is_no_sample_does_not_count),
	    cmocka_unit_test(advice_for_unnamed_functions_fits),
	    cmocka_unit_test(lost_time_is_in_no_function),
	    cmocka_unit_test(interval_of_a_known_binomial),
	    cmocka_unit_test(threads_and_processes_add_up),
	    cmocka_unit_test(threads_are_chosen_by_number_and_name),
	    cmocka_unit_test(parts_merge_to_the_whole),
	    cmocka_unit_test(parts_give_every_event_once),
	};
	return cmocka_run_group_tests(tests, path_make, path_remove);
}
