/* sample_report.h: a small report with every kind of cell, hostile names and a tree: what the report formats are tested
 * on. The self times of the functions sum to SAMPLE_TOTAL_NS. */
#ifndef SONDE_TESTS_SAMPLE_REPORT_H
#define SONDE_TESTS_SAMPLE_REPORT_H

#include "report/report.h"

#define SAMPLE_TOTAL_NS UINT64_C(4000000000)
#define SAMPLE_HOSTILE "=ev\033[31mil<script>|`\"\n;\xff\xe2\x80\xae"

static struct sonde_tree_node *sample_node(struct sonde_report *report, const char *name, const char *module,
					   uint64_t self, uint64_t total)
{
	struct sonde_tree_node *node = sonde_arena_alloc(&report->arena, sizeof *node);
	*node = (struct sonde_tree_node){
	    .name = name, .module = module, .file = "", .self = self, .total = total, .count = total / 1000000};
	return node;
}

static void sample_tree(struct sonde_report *report)
{
	struct sonde_section *section = sonde_report_tree(report, "calltree", "Call tree", SONDE_UNIT_NS, "CPU time");
	struct sonde_tree_node *root = sample_node(report, "", "", 0, SAMPLE_TOTAL_NS);
	struct sonde_tree_node *main_node = sample_node(report, "main", "app", 10000000, SAMPLE_TOTAL_NS);
	struct sonde_tree_node *hot = sample_node(report, "hot_loop", "app", 2400000000, 2400000000);
	struct sonde_tree_node *mid = sample_node(report, "mid", "app", 0, 1200000000);
	struct sonde_tree_node *copy = sample_node(report, "memcpy", "libc.so.6", 1200000000, 1200000000);
	struct sonde_tree_node *evil = sample_node(report, SAMPLE_HOSTILE, "app", 380000000, 380000000);
	struct sonde_tree_node *small = sample_node(report, "tiny", "app", 10000000, 10000000);
	root->child = main_node;
	main_node->child = hot;
	hot->next = mid;
	mid->child = copy;
	mid->next = evil;
	evil->next = small;
	section->tree.root = root;
}

static void sample_functions(struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
	    {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
	    {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
	    {"self_ns", "self", SONDE_UNIT_NS, SONDE_BASIS_ESTIMATED, 0, 0},
	    {"self_share", "share", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
	    {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
	    {"peak_b", "peak", SONDE_UNIT_BYTES, SONDE_BASIS_MODELLED, 0, 0},
	};
	static const struct {
		const char *name, *module;
		uint64_t self_ns;
	} rows[] = {
	    {"hot_loop", "app", 2400000000},
	    {"memcpy", "libc.so.6", 1200000000},
	    {SAMPLE_HOSTILE, "app", 380000000},
	    {"a_function_with_a_name_that_is_much_longer_than_the_line_of_a_terminal", "app", 10000000},
	    {"\xe6\xbc\xa2\xe5\xad\x97", "app", 10000000}, /* two wide characters */
	};
	struct sonde_section *section = sonde_report_table(report, "functions", "Functions by self time", columns, 6);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sonde_cell *cells = sonde_report_row(report, section);
		double share = (double)rows[i].self_ns / (double)SAMPLE_TOTAL_NS;
		cells[0] = sonde_cell_text(rows[i].name);
		cells[1] = sonde_cell_text(rows[i].module);
		cells[2] = sonde_cell_int(rows[i].self_ns);
		cells[3] = sonde_cell_real(share, i == 0 ? 0.051 : 0);
		cells[4] = sonde_cell_int(rows[i].self_ns / 1000000);
		cells[5] = i == 0 ? sonde_cell_int(4200000) : sonde_cell_absent("the heap was not recorded");
	}
	section->table.omitted = 3;
	sonde_report_note(report, section, 0, "Shares are of 4 s of CPU time.");
}

static struct sonde_report *sample_report(void)
{
	struct sonde_report *report = NULL;
	if (sonde_report_new(&report))
		return NULL;
	report->title = "./app --size 3";
	report->path = "app.sonde";
	sonde_report_note(report, NULL, 0, "Recorded 4 s of 2 threads.");
	sonde_report_note(report, NULL, 1, "12 samples were lost: ring full.");
	sample_functions(report);
	sample_tree(report);
	return report;
}

#endif
