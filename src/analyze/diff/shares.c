/* shares.c: compares shares of CPU time by function, run against run.
 *
 * The samples of single runs are not tested, however many: a function's share varies more between runs than its samples
 * suggest. Shares are compared by difference. A function without samples in a run has a share of 0 there.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/runs.h"
#include "util/error.h"

#define SURE_P 0.01
/* A function is tested if its self or total share reaches this in any run: testing smaller ones would only raise the
 * corrected p-values of the others. */
#define LEAST_SHARE 0.002
#define COMMON_LEAST 0.1

enum { DEFAULT_ROWS = 20 };
enum { CHANGE, LOW, HIGH, BASE_SHARE, SHARE, P, FUNCTION, MODULE, TOTAL_CHANGE, TOTAL_P, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [CHANGE] = {"share_change", "change", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 0},
    [LOW] = {"ci95_low", "95 % from", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [HIGH] = {"ci95_high", "to", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 1},
    [BASE_SHARE] = {"baseline_share", "baseline share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {"candidate_share", "candidate share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [P] = {"p", "p", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 0},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
    [TOTAL_CHANGE] = {"total_share_change", "with callees", SONDE_UNIT_RATIO, SONDE_BASIS_ESTIMATED, 0, 4},
    [TOTAL_P] = {"total_p", "p with callees", SONDE_UNIT_NUMBER, SONDE_BASIS_ESTIMATED, 0, 4},
};

struct requested {
	const struct sonde_diff_figure *name;
	enum sonde_diff_value value;
};

struct function {
	const struct sonde_diff_figure *name;
	struct sonde_diff_compared self, total;
	int is_seen; /* occurs in some run of both sides */
};

static double share_of(const struct sonde_diff_recording *run, const void *context)
{
	const struct requested *requested = context;
	const struct sonde_diff_figure *figure =
	    sonde_diff_figure_find(&run->functions, requested->name->name, requested->name->module);
	if (figure)
		return figure->value[requested->value];
	return run->sampled_ns > 0 ? 0 : NAN;
}

static int by_change(const void *left, const void *right)
{
	const struct function *a = left, *b = right;
	int sure = (b->self.change.p < SURE_P) - (a->self.change.p < SURE_P);
	double x = fabs(a->self.change.by), y = fabs(b->self.change.by);
	return sure ? sure : (x < y) - (x > y);
}

static double most_of(const struct sonde_diff_runs *runs, const struct sonde_diff_figure *name,
		      enum sonde_diff_value value, int side)
{
	struct requested requested = {name, value};
	double most = 0;
	for (size_t i = 0; i < runs->count[side]; i++) {
		double share = share_of(&runs->run[side][i], &requested);
		most = share > most ? share : most;
	}
	return most;
}

/* Selects the functions to test; -ENOMEM. */
static int functions_compare(struct function *out, size_t *count, const struct sonde_diff_runs *runs,
			     const struct sonde_diff_figures *names)
{
	int code = 0;
	*count = 0;
	for (size_t i = 0; !code && i < names->count; i++) {
		struct function *function = &out[*count];
		const struct sonde_diff_figure *name = &names->row[i];
		struct requested self = {name, SONDE_DIFF_SELF}, total = {name, SONDE_DIFF_TOTAL};
		double before = most_of(runs, name, SONDE_DIFF_TOTAL, 0),
		       after = most_of(runs, name, SONDE_DIFF_TOTAL, 1);
		if (before < LEAST_SHARE && after < LEAST_SHARE)
			continue;
		*function = (struct function){.name = name, .is_seen = before > 0 && after > 0};
		code = sonde_diff_compare(&function->self, runs, share_of, &self, 1);
		code = code ? code : sonde_diff_compare(&function->total, runs, share_of, &total, 1);
		*count += 1;
	}
	return code;
}

/* Self shares are corrected together, and shares including callees are corrected together. */
static int correct(struct function *functions, size_t count)
{
	double *p = calloc(2 * count + 1, sizeof *p);
	for (size_t i = 0; p && i < count; i++) {
		p[i] = functions[i].self.change.p;
		p[count + i] = functions[i].total.change.p;
	}
	int code = !p || sonde_change_correct(p, count) || sonde_change_correct(p + count, count)
		       ? sonde_error(ENOMEM, "out of memory for %zu functions", count)
		       : 0;
	for (size_t i = 0; !code && i < count; i++) {
		functions[i].self.change.p = p[i];
		functions[i].total.change.p = p[count + i];
	}
	free(p);
	return code;
}

static int row_add(struct sonde_diff_runs *runs, struct sonde_section *section, const struct function *function)
{
	const struct sonde_change *self = &function->self.change;
	struct sonde_cell *row = sonde_report_row(runs->report, section);
	const char *name = sonde_report_text(runs->report, "%s", function->name->name);
	const char *module = sonde_report_text(runs->report, "%s", function->name->module);
	row[CHANGE] = sonde_cell_real(-self->by, 0); /* stored as baseline − candidate */
	row[LOW] = row[HIGH] = sonde_cell_absent("too few runs");
	if (isfinite(self->high)) {
		row[LOW] = sonde_cell_real(-self->high, 0);
		row[HIGH] = sonde_cell_real(-self->low, 0);
	}
	row[BASE_SHARE] = sonde_cell_real(function->self.median[0], 0);
	row[SHARE] = sonde_cell_real(function->self.median[1], 0);
	row[P] = sonde_cell_real(self->p, 0);
	row[FUNCTION] = sonde_cell_text(name);
	row[MODULE] = sonde_cell_text(module);
	row[TOTAL_CHANGE] = row[TOTAL_P] = sonde_cell_absent("unnamed functions share samples");
	if (strcmp(function->name->name, "(unnamed)") != 0) {
		row[TOTAL_CHANGE] = sonde_cell_real(-function->total.change.by, 0);
		row[TOTAL_P] = sonde_cell_real(function->total.change.p, 0);
	}
	return 0;
}

/* Programs with almost nothing in common are not two versions of one. */
static int check_common(struct sonde_diff_runs *runs, struct sonde_section *section, const struct function *functions,
			size_t count)
{
	double common = 0;
	for (size_t i = 0; i < count; i++)
		common += functions[i].is_seen ? functions[i].self.median[1] : 0;
	if (common >= COMMON_LEAST)
		return 0;
	runs->is_comparable = 0;
	runs->is_other_program = 1;
	runs->common_share = common;
	sonde_report_note(
	    runs->report, section, 1,
	    "different programs, not comparable: shared functions have %.1f %% of the candidate's CPU time",
	    100 * common);
	return 0;
}

static int put_table(struct sonde_diff_runs *runs, const struct function *functions, size_t count)
{
	size_t limit = runs->options->limit ? runs->options->limit : DEFAULT_ROWS;
	struct sonde_section *section =
	    sonde_report_table(runs->report, "diff-functions", "Functions by change of CPU share", columns, COLUMNS);
	int code = 0;
	for (size_t i = 0; !code && i < count && i < limit; i++)
		code = row_add(runs, section, &functions[i]);
	if (code)
		return code;
	section->table.omitted = count > limit ? count - limit : 0;
	code = check_common(runs, section, functions, count);
	if (!code)
		sonde_report_note(runs->report, section, 0,
				  "change: candidate − baseline, by runs; p is corrected for all functions with "
				  "%.1f %% in some run",
				  100 * LEAST_SHARE);
	return code;
}

int sonde_diff_shares_table(struct sonde_diff_runs *runs)
{
	struct sonde_diff_figures names;
	size_t count = 0, sampled[SONDE_DIFF_SIDES] = {0};
	int code = sonde_diff_names(&names, runs, SONDE_DIFF_FUNCTIONS);
	struct function *functions = calloc(names.count + 1, sizeof *functions);
	for (int side = 0; side < SONDE_DIFF_SIDES; side++)
		for (size_t i = 0; i < runs->count[side]; i++)
			sampled[side] += runs->run[side][i].sampled_ns > 0;
	if (!code && !functions)
		code = sonde_error(ENOMEM, "out of memory for %zu functions", names.count);
	if (!code && sampled[0] && sampled[1]) {
		code = functions_compare(functions, &count, runs, &names);
		code = code ? code : correct(functions, count);
		qsort(functions, count, sizeof *functions, by_change);
		code = code ? code : put_table(runs, functions, count);
	}
	free(functions);
	free(names.row);
	return code;
}
