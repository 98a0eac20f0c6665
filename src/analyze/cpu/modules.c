/* modules.c: self and total CPU time of programs, libraries and the kernel. A module that occurs several times on a
 * stack counts once in its total. */
#include "analyze/cpu/by_function.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { SELF, TOTAL, SELF_NS, TOTAL_NS, SAMPLES, MODULE, PATH, BUILD_ID, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SELF] = {"self_share", "self", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL] = {"total_share", "total", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SELF_NS] = {"self_ns", "self time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_NS] = {"total_ns", "total time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [PATH] = {"path", "path", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 3},
    [BUILD_ID] = {"build_id", "build-id", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 7},
};

struct fold {
	const struct sonde_samples *samples;
	struct sonde_function_weight *rows; /* by module id; 0 = [kernel], if the kernel was not sampled */
	uint32_t *active;
	size_t count;
};

static void visit_module(void *state, const struct sonde_visit *visit)
{
	struct fold *fold = state;
	if (!visit->frame || visit->frame->module >= fold->count)
		return;
	uint32_t id = visit->frame->module;
	if (visit->leaving) {
		fold->active[id]--;
		return;
	}
	if (fold->active[id]++ == 0)
		sonde_weight_add(&fold->rows[id].total, visit->total);
	sonde_weight_add(&fold->rows[id].self, visit->self);
	sonde_weight_add(&fold->rows[0].self, visit->kernel);
	sonde_weight_add(&fold->rows[0].total, visit->kernel);
}

static int compare(const void *left, const void *right, void *state)
{
	const struct fold *fold = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sonde_function_weight *x = &fold->rows[a], *y = &fold->rows[b];
	uint64_t x_ns = x->self.ns, y_ns = y->self.ns;
	if (fold->samples->options.sort == SONDE_SORT_TOTAL && x->total.ns != y->total.ns) {
		x_ns = x->total.ns;
		y_ns = y->total.ns;
	}
	return x_ns != y_ns ? (x_ns < y_ns ? 1 : -1) : (a > b) - (a < b);
}

static void row_add(const struct fold *fold, uint32_t id, struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_module *module = sonde_session_module(fold->samples->session, id);
	const struct sonde_function_weight *weight = &fold->rows[id];
	row[SELF] = sonde_samples_share(fold->samples, weight->self.ns);
	row[TOTAL] = sonde_samples_share(fold->samples, weight->total.ns);
	row[SELF_NS] = sonde_cell_int(weight->self.ns);
	row[TOTAL_NS] = sonde_cell_int(weight->total.ns);
	row[SAMPLES] = sonde_cell_int(weight->self.count);
	row[MODULE] = sonde_cell_text(module ? module->name : SONDE_KERNEL_NAME);
	row[PATH] = sonde_cell_text(module ? module->path : "");
	row[BUILD_ID] = sonde_cell_text(module ? module->build_id : "");
}

static int table_fill(struct fold *fold, uint32_t *ids, struct sonde_report *report)
{
	size_t limit = fold->samples->options.limit ? fold->samples->options.limit : DEFAULT_ROWS, count = 0;
	struct sonde_section *section = sonde_report_table(report, "modules", "Modules by self time", columns, COLUMNS);
	int rc = sonde_samples_walk(fold->samples, visit_module, fold);
	if (rc == 0 && fold->samples->kernel) {
		sonde_weight_add(&fold->rows[0].self, fold->samples->kernel[0]);
		sonde_weight_add(&fold->rows[0].total, fold->samples->kernel[0]);
	}
	for (uint32_t id = 0; id < fold->count; id++)
		if (sonde_weight_is_any(fold->rows[id].total))
			ids[count++] = id;
	qsort_r(ids, count, sizeof *ids, compare, fold);
	for (size_t i = 0; rc == 0 && i < count && i < limit; i++)
		row_add(fold, ids[i], report, section);
	if (rc < 0)
		return rc;
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_samples_note_shares(fold->samples, report, section);
	sonde_samples_note_missing(fold->samples, report, section);
	return 0;
}

static int modules_finish(void *state, struct sonde_report *report)
{
	struct sonde_samples *samples = state;
	struct fold fold = {.samples = samples, .count = sonde_session_module_count(samples->session) + 1};
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, "modules", "Modules");
	int rc = sonde_samples_fold(samples);
	if (rc < 0)
		return rc;
	fold.rows = calloc(fold.count, sizeof *fold.rows);
	fold.active = calloc(fold.count, sizeof *fold.active);
	uint32_t *ids = malloc(fold.count * sizeof *ids);
	rc = fold.rows && fold.active && ids ? table_fill(&fold, ids, report)
					     : sonde_error(ENOMEM, "out of memory for %zu modules", fold.count);
	free(fold.rows);
	free(fold.active);
	free(ids);
	return rc;
}

const struct sonde_pass sonde_pass_modules = {
    .name = "modules",
    .needs = SONDE_NEEDS(CPU),
    .has = sonde_has_samples,
    .title = "CPU time of every program, library and the kernel",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = modules_finish,
    .end = sonde_samples_end,
};
