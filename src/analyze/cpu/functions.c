/* functions.c: self and total CPU time of every function, as shares with their confidence intervals.
 *
 * If the kernel could not be sampled, its measured time is a single row, [kernel], without samples.
 */
#include "analyze/cpu/by_function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { SELF, TOTAL, SELF_NS, TOTAL_NS, SAMPLES, FUNCTION, MODULE, FILE_NAME, LINE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SELF] = {SONDE_COLUMN_KEY(functions, self_share), "self", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL] = {"total_share", "total", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SELF_NS] = {SONDE_COLUMN_KEY(functions, self_ns), "self time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_NS] = {SONDE_COLUMN_KEY(functions, total_ns), "total time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [SAMPLES] = {SONDE_COLUMN_KEY(functions, samples), "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [FUNCTION] = {SONDE_COLUMN_KEY(functions, function), "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {SONDE_COLUMN_KEY(functions, module), "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
    [LINE] = {"line", "line", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 6},
};

struct order {
	const struct sonde_session *session;
	const struct sonde_function_weight *rows;
	enum sonde_sort sort;
};

static int descending(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare(const void *left, const void *right, void *state)
{
	const struct order *order = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct sonde_function_weight *x = &order->rows[a], *y = &order->rows[b];
	int by = 0;
	if (order->sort == SONDE_SORT_TOTAL)
		by = descending(x->total.ns, y->total.ns);
	else if (order->sort == SONDE_SORT_COUNT)
		by = descending(x->self.count, y->self.count);
	else if (order->sort == SONDE_SORT_NAME)
		by = strcmp(sonde_function_name(order->session, a), sonde_function_name(order->session, b));
	if (by == 0)
		by = descending(x->self.ns, y->self.ns);
	if (by == 0)
		by = descending(x->total.ns, y->total.ns);
	if (by == 0) /* the order of ids depends on the order in which recordings were merged */
		by = strcmp(sonde_function_name(order->session, a), sonde_function_name(order->session, b));
	return by ? by : (a > b) - (a < b);
}

/* Sorted ids of the functions seen. */
static uint32_t *ids_sorted(const struct sonde_samples *samples, const struct sonde_function_weight *rows,
			    size_t row_count, size_t *out_count)
{
	uint32_t *ids = malloc(row_count * sizeof *ids);
	size_t count = 0;
	struct order order = {samples->session, rows, samples->options.sort};
	for (uint32_t id = 0; ids && id < row_count; id++)
		if (sonde_weight_is_any(rows[id].total) || sonde_weight_is_any(rows[id].self))
			ids[count++] = id;
	if (ids)
		qsort_r(ids, count, sizeof *ids, compare, &order);
	*out_count = count;
	return ids;
}

static void row_add(const struct sonde_samples *samples, const struct sonde_function_weight *weight, uint32_t id,
		    struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_cell *row = sonde_report_row(report, section);
	const struct sonde_function *function = sonde_session_function(samples->session, id);
	row[SELF] = sonde_samples_share(samples, weight->self.ns);
	row[TOTAL] = sonde_samples_share(samples, weight->total.ns);
	row[SELF_NS] = sonde_cell_int(weight->self.ns);
	row[TOTAL_NS] = sonde_cell_int(weight->total.ns);
	row[SAMPLES] = sonde_cell_int(weight->self.count);
	row[FUNCTION] = sonde_cell_text(sonde_function_name(samples->session, id));
	row[MODULE] = sonde_cell_text(sonde_function_module(samples->session, id));
	if (function && *function->file)
		row[FILE_NAME] = sonde_cell_text(function->file);
	if (function && function->line)
		row[LINE] = sonde_cell_int(function->line);
}

/* Reasons for unnamed functions, which also tell how to get names. */
enum unnamed { UNNAMED_GENERATED, UNNAMED_GONE, UNNAMED_STRIPPED, UNNAMED_KINDS };

static const char *const advice[UNNAMED_KINDS] = {
    [UNNAMED_GENERATED] =
	(", in generated code: let its runtime write /tmp/perf-PID.map (node --perf-basic-prof, python -X perf, …)"),
    [UNNAMED_GONE] = ", in deleted files: keep the program's files until the report",
    [UNNAMED_STRIPPED] = " (module+0x…): add --debuginfod, or install their debug packages",
};

static enum unnamed kind_of(const struct sonde_session *session, const struct sonde_function *function)
{
	const struct sonde_module *module = sonde_session_module(session, function->module);
	if (module && module->flags & SONDE_MODULE_ANONYMOUS)
		return UNNAMED_GENERATED;
	if (module && *module->path == '/' && access(module->path, F_OK) && errno == ENOENT)
		return UNNAMED_GONE;
	return UNNAMED_STRIPPED;
}

static void note_unnamed(const struct sonde_samples *samples, const struct sonde_function_weight *rows, size_t count,
			 struct sonde_report *report, struct sonde_section *section)
{
	struct {
		uint64_t functions, self_ns;
	} sums[UNNAMED_KINDS] = {0};
	for (uint32_t id = 1; id < count; id++) {
		const struct sonde_function *function = sonde_session_function(samples->session, id);
		if (!function || !function->unnamed || !sonde_weight_is_any(rows[id].total))
			continue;
		enum unnamed kind = kind_of(samples->session, function);
		sums[kind].functions++;
		sums[kind].self_ns += rows[id].self.ns;
	}
	for (int kind = 0; kind < UNNAMED_KINDS; kind++)
		if (sums[kind].functions)
			sonde_report_note(report, section, 0, "%llu function%s with %.1f %% of the time %s unnamed%s",
					  (unsigned long long)sums[kind].functions, sonde_plural(sums[kind].functions),
					  100 * sonde_stats_share((double)sums[kind].self_ns, (double)samples->all.ns),
					  sonde_word(sums[kind].functions, "is", "are"), advice[kind]);
}

static void notes_add(const struct sonde_samples *samples, const struct sonde_function_weight *rows, size_t count,
		      struct sonde_report *report, struct sonde_section *section)
{
	sonde_samples_note_shares(samples, report, section);
	note_unnamed(samples, rows, count, report, section);
	sonde_samples_note_missing(samples, report, section);
}

static int table_fill(const struct sonde_samples *samples, const struct sonde_function_weight *rows, size_t count,
		      struct sonde_report *report)
{
	static const char *const titles[] = {
	    [SONDE_SORT_SELF] = "Functions by self time",    [SONDE_SORT_TOTAL] = "Functions by total time",
	    [SONDE_SORT_COUNT] = "Functions by samples",     [SONDE_SORT_NAME] = "Functions by name",
	    [SONDE_SORT_LATENCY] = "Functions by self time",
	};
	size_t id_count, limit = samples->options.limit ? samples->options.limit : DEFAULT_ROWS;
	uint32_t *ids = ids_sorted(samples, rows, count, &id_count);
	struct sonde_section *section =
	    sonde_report_table(report, "functions", titles[samples->options.sort], columns, COLUMNS);
	int rc = ids ? 0 : sonde_error(ENOMEM, "out of memory for functions");
	for (size_t i = 0; rc == 0 && i < id_count && i < limit; i++)
		row_add(samples, &rows[ids[i]], ids[i], report, section);
	if (rc == 0 && id_count > limit)
		section->table.omitted = id_count - limit;
	free(ids);
	if (rc >= 0)
		notes_add(samples, rows, count, report, section);
	return rc;
}

static int functions_finish(void *state, struct sonde_report *report)
{
	struct sonde_samples *samples = state;
	struct sonde_function_weight *rows;
	size_t count;
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, "functions", "Functions");
	int rc = sonde_samples_fold(samples);
	if (rc == 0)
		rc = sonde_by_function(samples, &rows, &count);
	if (rc < 0)
		return rc;
	rc = table_fill(samples, rows, count, report);
	free(rows);
	return rc;
}

const struct sonde_pass sonde_pass_functions = {
    .name = "functions",
    .needs = SONDE_NEEDS(CPU),
    .has = sonde_has_samples,
    .title = "self and total CPU time of every function",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = functions_finish,
    .end = sonde_samples_end,
};
