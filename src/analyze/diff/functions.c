/* functions.c: compares CPU time by function.
 *
 * Shares are tested, because two runs rarely take the same total time: a test of two proportions with effective sample
 * sizes (Kish), with p-values corrected for all functions tested (Benjamini and Hochberg). The interval of a difference
 * combines the intervals of both shares, using the wider side of each interval: the result is at least as wide as
 * Newcombe's (Statist. Med. 17, 1998, method 10). Two functions are the same if their names and the names of their
 * modules are equal. Addresses are not compared, so functions without a name are one row per module, unless both
 * recordings have the same build-id.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/by_function.h"
#include "analyze/diff/diff.h"
#include "analyze/diff/figures.h"
#include "analyze/statistics/stats.h"
#include "util/array.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20, LEAST_SAMPLES = 30 };
enum { CHANGE, BASE_SHARE, SHARE, BASE_NS, NS, CHANGE_NS, P, FUNCTION, MODULE, TOTAL_CHANGE, TOTAL_P, COLUMNS };
enum { BASELINE, CANDIDATE, SIDES };

#define SURE_P 0.01
#define COMMON_LEAST 0.1 /* least share of CPU time in common functions for versions of one program */

static const struct sonde_column columns[COLUMNS] = {
    [CHANGE] = {"share_change", "change", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [BASE_SHARE] = {"baseline_share", "baseline share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 4},
    [SHARE] = {"candidate_share", "candidate share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 4},
    [BASE_NS] = {"baseline_ns", "baseline", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [NS] = {"candidate_ns", "candidate", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CHANGE_NS] = {"change_s", "change in s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 3},
    [P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 0},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [TOTAL_CHANGE] = {"total_share_change", "with callees", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 5},
    [TOTAL_P] = {"total_p", "p with callees", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 5},
};

/* A function of either recording, or of both. */
struct row {
	const char *name, *module;
	uint64_t ns[SIDES], samples[SIDES];
	uint64_t total_ns[SIDES], total_samples[SIDES]; /* including callees */
	double change, half, p;
	double total_change, total_half, total_p;
	int is_requested, total_is_requested;
	int is_joined; /* merged from several rows, whose totals share samples */
};

struct table {
	struct row *rows;
	size_t count, cap;
	double n[SIDES];
	uint64_t all_ns[SIDES];     /* CPU time with a stack: the denominator of the shares */
	uint64_t without_ns[SIDES]; /* CPU time without a stack */
};

static const char *build_id_of(const struct sonde_session *session, const struct sonde_function *function)
{
	const struct sonde_module *module = function ? sonde_session_module(session, function->module) : NULL;
	return module ? module->build_id : "";
}

/* True if the other recording has a module of this name with a different or missing build-id; always if it has
 * several. */
static int is_other_build(const struct sonde_session *other, const char *name, const char *build_id)
{
	for (uint32_t id = 1; other && id <= sonde_session_module_count(other); id++) {
		const struct sonde_module *module = sonde_session_module(other, id);
		if (!strcmp(module->name, name) && strcmp(module->build_id, build_id) != 0)
			return 1;
	}
	return !other || !*build_id;
}

static int row_put(struct table *table, const struct row *row)
{
	if (SONDE_ARRAY_RESERVE(table->rows, table->cap, table->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu functions", table->count + 1);
	table->rows[table->count++] = *row;
	return 0;
}

/* Reads the folded samples of one recording as rows of one side. */
static int side_read(struct table *table, int side, struct sonde_session *session, const struct sonde_session *other)
{
	static const struct sonde_pass_options all;
	struct sonde_samples samples;
	struct sonde_function_weight *weights = NULL;
	struct sonde_cursor *cursor = NULL;
	const struct sonde_batch *batch;
	size_t count = 0;
	int got = 1, code = sonde_samples_init(&samples, session, &all);
	code = code ? code : sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SAMPLES);
	/* unreadable chunks are noted for the whole comparison */
	while (!code && (got = sonde_cursor_next(cursor, &batch)) != 0)
		code = got > 0 ? sonde_samples_feed(&samples, batch) : got == -ENOMEM ? got : 0;
	sonde_cursor_close(cursor);
	code = code ? code : sonde_samples_fold(&samples);
	code = code ? code : sonde_by_function(&samples, &weights, &count);
	for (uint32_t id = 0; !code && id < count; id++) {
		const struct sonde_function *function = sonde_session_function(session, id);
		struct row row = {.name = sonde_function_name(session, id),
				  .module = sonde_function_module(session, id)};
		row.ns[side] = weights[id].self.ns;
		row.samples[side] = weights[id].self.count;
		row.total_ns[side] = weights[id].total.ns;
		row.total_samples[side] = weights[id].total.count;
		if (function && function->unnamed && is_other_build(other, row.module, build_id_of(session, function)))
			row.name = "(unnamed)";
		if (row.total_ns[side])
			code = row_put(table, &row);
	}
	if (!code) {
		table->all_ns[side] = samples.all.ns - samples.self[0].ns;
		table->n[side] = sonde_stats_effective_n((double)table->all_ns[side], samples.square);
		table->without_ns[side] = samples.self[0].ns;
	}
	free(weights);
	sonde_samples_fini(&samples);
	return code;
}

static int by_name(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->module, b->module);
}

/* Merges rows of the same function. */
static void join(struct table *table)
{
	size_t count = 0;
	qsort(table->rows, table->count, sizeof *table->rows, by_name);
	for (size_t i = 0; i < table->count; i++) {
		struct row *last = count ? &table->rows[count - 1] : NULL;
		if (!last || by_name(last, &table->rows[i])) {
			table->rows[count++] = table->rows[i];
			continue;
		}
		for (int side = 0; side < SIDES; side++) {
			last->is_joined |= last->total_ns[side] && table->rows[i].total_ns[side];
			last->ns[side] += table->rows[i].ns[side];
			last->samples[side] += table->rows[i].samples[side];
			last->total_ns[side] += table->rows[i].total_ns[side];
			last->total_samples[side] += table->rows[i].total_samples[side];
		}
	}
	table->count = count;
}

/* Two-sided p-value for the difference of two shares. */
static double p_of(const double share[SIDES], const double n[SIDES])
{
	double both = (share[BASELINE] * n[BASELINE] + share[CANDIDATE] * n[CANDIDATE]) / (n[BASELINE] + n[CANDIDATE]);
	double error = sqrt(both * (1 - both) * (1 / n[BASELINE] + 1 / n[CANDIDATE]));
	return error > 0 ? erfc(fabs(share[CANDIDATE] - share[BASELINE]) / error / sqrt(2)) : 1;
}

/* Returns the change of a share, of self time or including callees. Sets half its interval, and its uncorrected
 * p-value. */
static double change_of(const struct table *table, const uint64_t ns[SIDES], double *half_out, double *p)
{
	double share[SIDES], half[SIDES];
	for (int side = 0; side < SIDES; side++) {
		share[side] = (double)ns[side] / (double)table->all_ns[side];
		half[side] = sonde_stats_share_half(share[side], table->n[side]);
	}
	*half_out = hypot(half[BASELINE], half[CANDIDATE]);
	*p = p_of(share, table->n);
	return share[CANDIDATE] - share[BASELINE];
}

/* Self times are corrected together, and totals are corrected together. */
static int test(struct table *table)
{
	double *p = calloc(2 * table->count + 1, sizeof *p), *total_p = p ? p + table->count : NULL;
	size_t requested = 0, total_requested = 0;
	if (!p)
		return sonde_error(ENOMEM, "out of memory for %zu functions", table->count);
	for (size_t i = 0; i < table->count; i++) {
		struct row *row = &table->rows[i];
		row->change = change_of(table, row->ns, &row->half, &row->p);
		row->total_change = change_of(table, row->total_ns, &row->total_half, &row->total_p);
		row->is_requested = row->samples[BASELINE] + row->samples[CANDIDATE] >= LEAST_SAMPLES;
		row->total_is_requested =
		    !row->is_joined && row->total_samples[BASELINE] + row->total_samples[CANDIDATE] >= LEAST_SAMPLES;
		if (row->is_requested)
			p[requested++] = row->p;
		if (row->total_is_requested)
			total_p[total_requested++] = row->total_p;
	}
	int code = sonde_change_correct(p, requested) || sonde_change_correct(total_p, total_requested)
		       ? sonde_error(ENOMEM, "out of memory for %zu functions", requested)
		       : 0;
	requested = total_requested = 0;
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].is_requested)
			table->rows[i].p = p[requested++];
		if (table->rows[i].total_is_requested)
			table->rows[i].total_p = total_p[total_requested++];
	}
	free(p);
	return code;
}

static int is_sure(const struct row *row)
{
	return row->is_requested && row->p < SURE_P;
}

/* A function that only calls others is shown if its share including callees changed. */
static int is_shown(const struct row *row)
{
	return row->ns[BASELINE] || row->ns[CANDIDATE] || (row->total_is_requested && row->total_p < SURE_P);
}

/* Significant changes first. */
static int by_change(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	double x = fabs(a->change), y = fabs(b->change);
	if (is_sure(a) != is_sure(b))
		return is_sure(b) - is_sure(a);
	if (x <= 0 && y <= 0) {
		x = fabs(a->total_change);
		y = fabs(b->total_change);
	}
	return x < y ? 1 : x > y ? -1 : by_name(a, b);
}

static int row_add(struct sonde_diff *diff, struct sonde_section *section, const struct table *table,
		   const struct row *row)
{
	struct sonde_cell *cells = sonde_report_row(diff->report, section);
	cells[CHANGE] = sonde_cell_real(row->change, row->half);
	cells[BASE_SHARE] = sonde_cell_real((double)row->ns[BASELINE] / (double)table->all_ns[BASELINE], 0);
	cells[SHARE] = sonde_cell_real((double)row->ns[CANDIDATE] / (double)table->all_ns[CANDIDATE], 0);
	cells[BASE_NS] = sonde_cell_int(row->ns[BASELINE]);
	cells[NS] = sonde_cell_int(row->ns[CANDIDATE]);
	cells[CHANGE_NS] = sonde_cell_real(((double)row->ns[CANDIDATE] - (double)row->ns[BASELINE]) / 1e9, 0);
	cells[P] = row->is_requested ? sonde_cell_real(row->p, 0) : sonde_cell_absent("fewer than 30 samples in both");
	cells[FUNCTION] = sonde_cell_text(row->name);
	cells[MODULE] = sonde_cell_text(row->module);
	cells[TOTAL_CHANGE] = cells[TOTAL_P] = sonde_cell_absent("several unnamed functions share samples");
	if (!row->is_joined) {
		cells[TOTAL_CHANGE] = sonde_cell_real(row->total_change, row->total_half);
		cells[TOTAL_P] = row->total_is_requested ? sonde_cell_real(row->total_p, 0)
							 : sonde_cell_absent("fewer than 30 samples in both");
	}
	return 0;
}

/* Finds the pair of modules that holds most of the time in functions with the same name on both sides; "" = none.
 * Unnamed functions do not count. */
static int find_renamed(struct sonde_diff *diff, struct table *table)
{
	double common = 0;
	uint64_t most_ns = 0;
	const struct row *of[SIDES] = {0};
	qsort(table->rows, table->count, sizeof *table->rows, by_name);
	for (size_t i = 0; i + 1 < table->count; i++) {
		const struct row *a = &table->rows[i], *b = a + 1;
		const struct row *candidate = a->ns[CANDIDATE] ? a : b, *baseline = candidate == a ? b : a;
		if (strcmp(a->name, b->name) != 0 || *a->name == '(' || *a->name == '[' || !baseline->ns[BASELINE] ||
		    !candidate->ns[CANDIDATE])
			continue;
		common += (double)candidate->ns[CANDIDATE] / (double)table->all_ns[CANDIDATE];
		if (candidate->ns[CANDIDATE] <= most_ns)
			continue;
		most_ns = candidate->ns[CANDIDATE];
		of[BASELINE] = baseline;
		of[CANDIDATE] = candidate;
	}
	if (common < COMMON_LEAST)
		return 0;
	diff->renamed = sonde_report_text(
	    diff->report,
	    "functions with %.1f %% of the candidate's CPU time have the same names, but are in %s and in %s",
	    100 * common, of[CANDIDATE]->module, of[BASELINE]->module);
	return 0;
}

/* Programs with almost nothing in common are not two versions of one. */
static int check_common(struct sonde_diff *diff, struct table *table, struct sonde_section *section)
{
	double common = 0;
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].ns[BASELINE] && table->rows[i].ns[CANDIDATE])
			common += (double)table->rows[i].ns[CANDIDATE] / (double)table->all_ns[CANDIDATE];
	if (common >= COMMON_LEAST)
		return 0;
	diff->is_comparable = 0;
	diff->is_other_program = 1;
	diff->common_share = common;
	int code = find_renamed(diff, table);
	if (code || diff->renamed) {
		if (!code)
			sonde_report_note(diff->report, section, 1, "%s", diff->renamed);
		return code;
	}
	sonde_report_note(
	    diff->report, section, 1,
	    "different programs, not comparable: shared functions have %.1f %% of the candidate's CPU time",
	    100 * common);
	return 0;
}

static int note_without(struct sonde_diff *diff, const struct table *table, struct sonde_section *section)
{
	if (!table->without_ns[BASELINE] && !table->without_ns[CANDIDATE])
		return 0;
	sonde_report_note(diff->report, section, 1,
			  "CPU time without a stack is not included: baseline %.1f %%, candidate %.1f %%",
			  100 * sonde_stats_share((double)table->without_ns[BASELINE],
						  (double)(table->without_ns[BASELINE] + table->all_ns[BASELINE])),
			  100 * sonde_stats_share((double)table->without_ns[CANDIDATE],
						  (double)(table->without_ns[CANDIDATE] + table->all_ns[CANDIDATE])));
	return 0;
}

static int table_fill(struct sonde_diff *diff, struct table *table)
{
	struct sonde_section *section =
	    sonde_report_table(diff->report, "diff-functions", "Functions by change of CPU share", columns, COLUMNS);
	size_t limit = diff->options->limit ? diff->options->limit : DEFAULT_ROWS;
	int code = 0;
	size_t shown = 0;
	qsort(table->rows, table->count, sizeof *table->rows, by_change);
	for (size_t i = 0; !code && i < table->count; i++)
		if (is_shown(&table->rows[i]) && shown++ < limit)
			code = row_add(diff, section, table, &table->rows[i]);
	if (code)
		return code;
	section->table.omitted = shown > limit ? shown - limit : 0;
	code = check_common(diff, table, section);
	code = code ? code : note_without(diff, table, section);
	if (!code)
		sonde_report_note(
		    diff->report, section, 0,
		    "change: candidate − baseline, with its 95 %% interval; run-to-run variation is not included");
	return code;
}

int sonde_diff_functions(struct sonde_diff *diff)
{
	struct table table = {0};
	int code = side_read(&table, BASELINE, diff->baseline, diff->candidate);
	code = code ? code : side_read(&table, CANDIDATE, diff->candidate, diff->baseline);
	if (!code && table.count && table.all_ns[BASELINE] && table.all_ns[CANDIDATE]) {
		join(&table);
		code = test(&table);
		code = code ? code : table_fill(diff, &table);
	}
	free(table.rows);
	return code;
}

int sonde_diff_functions_of(struct sonde_diff_figures *out, double *sampled_ns, struct sonde_session *session)
{
	struct table table = {0};
	int code = side_read(&table, BASELINE, session, NULL);
	double all = (double)table.all_ns[BASELINE];
	for (size_t i = 0; !code && i < table.count && all > 0; i++) {
		const struct row *row = &table.rows[i];
		struct sonde_diff_figure figure = {.name = row->name, .module = row->module};
		figure.value[SONDE_DIFF_SELF] = (double)row->ns[BASELINE] / all;
		figure.value[SONDE_DIFF_TOTAL] = (double)row->total_ns[BASELINE] / all;
		figure.value[SONDE_DIFF_COUNT] = (double)row->samples[BASELINE];
		figure.value[SONDE_DIFF_MEDIAN] = NAN;
		code = sonde_diff_figure_put(out, &figure);
	}
	*sampled_ns = all;
	free(table.rows);
	return code;
}
