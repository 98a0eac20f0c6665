/* callers.c: the callers of one function, and its callees.
 *
 * Every sample with the function on its stack counts once: for the caller of the outermost occurrence, and for what the
 * innermost occurrence was executing (itself or a callee). So callers add up to the function's total, and so do self
 * and callees, even under recursion.
 */
#include "analyze/cpu/by_function.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "util/array.h"
#include "util/error.h"

#define FOCUS "--focus NAME"

enum { DEFAULT_ROWS = 20 };
enum { RELATION, SHARE, TOTAL_NS, SAMPLES, FUNCTION, MODULE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [RELATION] = {"relation", "relation", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {"share", "of the function", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_NS] = {"total_ns", "time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
};

/* State of a node's path, in function ids + 1, so that 0 means none. */
struct place {
	uint32_t last; /* innermost function */
	/* callee of the innermost occurrence of the focus, or the focus itself; 0 = not below the focus */
	uint32_t callee;
};

struct fold {
	const struct sonde_session *session;
	uint32_t focus;
	size_t count;
	struct place *path; /* one entry per location on the path */
	size_t depth, cap;
	struct sonde_weight *callers, *callees; /* by function id + 1; callers 0 = the root */
	int error;
};

static int path_push(struct fold *fold, uint32_t function, struct sonde_weight total)
{
	struct place at = fold->depth ? fold->path[fold->depth - 1] : (struct place){0};
	if (SONDE_ARRAY_RESERVE(fold->path, fold->cap, fold->depth + 1))
		return sonde_error(ENOMEM, "out of memory for a path of %zu calls", fold->depth);
	if (function == fold->focus) {
		if (!at.callee)
			sonde_weight_add(&fold->callers[at.last], total);
		at.callee = function + 1;
	} else if (at.callee && at.last == fold->focus + 1) {
		at.callee = function + 1;
	}
	at.last = function + 1;
	fold->path[fold->depth++] = at;
	return 0;
}

static void visit_call(void *state, const struct sonde_visit *visit)
{
	struct fold *fold = state;
	uint32_t count = visit->frame ? visit->frame->location_count : 0;
	if (fold->error < 0)
		return;
	if (visit->leaving) {
		fold->depth -= count;
		return;
	}
	for (uint32_t i = count; i > 0 && fold->error == 0; i--) {
		uint32_t function = sonde_function_of(fold->session, visit->frame, i - 1);
		fold->error = path_push(fold, function < fold->count ? function : 0, visit->total);
	}
	if (fold->error == 0 && fold->depth && fold->path[fold->depth - 1].callee)
		sonde_weight_add(&fold->callees[fold->path[fold->depth - 1].callee], visit->self);
	if (fold->error < 0 || !sonde_weight_is_any(visit->kernel))
		return;
	fold->error = path_push(fold, 0, visit->kernel);
	if (fold->error < 0)
		return;
	if (fold->path[--fold->depth].callee)
		sonde_weight_add(&fold->callees[fold->path[fold->depth].callee], visit->kernel);
}

static int compare(const void *left, const void *right, void *state)
{
	const struct sonde_weight *rows = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return rows[a].ns != rows[b].ns ? (rows[a].ns < rows[b].ns ? 1 : -1) : (a > b) - (a < b);
}

static void row_add(const struct fold *fold, const char *relation, uint32_t key, const struct sonde_weight *weight,
		    const struct sonde_weight *whole, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	double share = fmin(sonde_stats_share((double)weight->ns, (double)whole->ns), 1);
	row[RELATION] = sonde_cell_text(relation);
	row[SHARE] = sonde_cell_real(share, sonde_stats_share_half(share, (double)whole->count));
	row[TOTAL_NS] = sonde_cell_int(weight->ns);
	row[SAMPLES] = sonde_cell_int(weight->count);
	row[FUNCTION] = sonde_cell_text(key ? sonde_function_name(fold->session, key - 1) : "(root)");
	row[MODULE] = sonde_cell_text(key ? sonde_function_module(fold->session, key - 1) : "");
}

static int rows_add(const struct fold *fold, struct sonde_weight *rows, const struct sonde_weight *whole, size_t limit,
		    struct sonde_report *report, struct sonde_section *section)
{
	uint32_t *keys = malloc((fold->count + 1) * sizeof *keys);
	size_t count = 0;
	int rc = keys ? 0 : sonde_error(ENOMEM, "out of memory for callers");
	for (uint32_t key = 0; keys && key <= fold->count; key++)
		if (sonde_weight_is_any(rows[key]))
			keys[count++] = key;
	if (keys)
		qsort_r(keys, count, sizeof *keys, compare, rows);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++) {
		const char *relation = rows == fold->callers        ? "caller"
				       : keys[i] == fold->focus + 1 ? "self"
								    : "callee";
		row_add(fold, relation, keys[i], &rows[keys[i]], whole, report, section);
	}
	section->table.omitted += count > limit ? count - limit : 0;
	free(keys);
	return rc;
}

static int section_build(struct fold *fold, const struct sonde_samples *samples,
			 const struct sonde_function_weight *functions, struct sonde_report *report)
{
	const struct sonde_weight *whole = &functions[fold->focus].total;
	size_t limit = samples->options.limit ? samples->options.limit : DEFAULT_ROWS;
	const char *name = sonde_function_name(fold->session, fold->focus);
	const char *title = sonde_report_text(report, "Callers and callees of %s", name);
	struct sonde_section *section = sonde_report_table(report, "callers", title, columns, COLUMNS);
	fold->callers = calloc(fold->count + 1, sizeof *fold->callers);
	fold->callees = calloc(fold->count + 1, sizeof *fold->callees);
	if (!fold->callers || !fold->callees)
		return sonde_error(ENOMEM, "out of memory for callers");
	int rc = sonde_samples_walk(samples, visit_call, fold);
	if (rc == 0)
		rc = fold->error;
	if (rc == 0)
		rc = rows_add(fold, fold->callers, whole, limit, report, section);
	if (rc == 0)
		rc = rows_add(fold, fold->callees, whole, limit, report, section);
	if (rc < 0)
		return rc;
	sonde_report_note(
	    report, section, 0, "100 %% = %.3f s, the total of %s (%.1f %% of CPU time); ± is the 95 %% interval%s",
	    (double)whole->ns / 1e9, name, 100 * sonde_stats_share((double)whole->ns, (double)samples->all.ns),
	    samples->options.focus ? "" : "; another function: " FOCUS);
	if (!samples->options.focus)
		sonde_report_advise(report, section, SONDE_ACTION_FUNCTION, FOCUS);
	return 0;
}

static void focus_missing(const struct sonde_samples *samples, struct sonde_report *report)
{
	struct sonde_section *section = sonde_report_table(report, "callers", "Callers and callees", columns, COLUMNS);
	sonde_report_note(report, section, 1, "no sampled stack contains %s%s",
			  samples->options.focus ? "the function " : "a function",
			  samples->options.focus ? samples->options.focus : "");
}

static int callers_finish(void *state, struct sonde_report *report)
{
	struct sonde_samples *samples = state;
	struct sonde_function_weight *functions;
	struct fold fold = {.session = samples->session};
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, "callers", "Callers and callees");
	int rc = sonde_samples_fold(samples);
	if (rc == 0)
		rc = sonde_by_function(samples, &functions, &fold.count);
	if (rc < 0)
		return rc;
	const char *name = samples->options.focus;
	fold.focus = sonde_function_pick(samples->session, functions, fold.count, name);
	int kernel = fold.focus == 0 && name && strcmp(name, SONDE_KERNEL_NAME) == 0 && functions[0].total.ns;
	if (fold.focus || kernel)
		rc = section_build(&fold, samples, functions, report);
	else
		focus_missing(samples, report);
	free(fold.path);
	free(fold.callers);
	free(fold.callees);
	free(functions);
	return rc;
}

const struct sonde_pass sonde_pass_callers = {
    .name = "callers",
    .needs = SONDE_NEEDS(CPU),
    .has = sonde_has_samples,
    .title = "callers and callees of one function (--focus NAME)",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = callers_finish,
    .end = sonde_samples_end,
};
