/* energy_functions.c: what of the processes' energy every function had, by sampled CPU time.
 *
 * Processes have shares of what was measured or modelled (energy_sums.h), which are estimates. Their joules for a
 * second of CPU time, all processes together, times the time that a function was sampled in: a share of an estimate.
 * That one second costs more than another, since it moves data or has wide vectors, is not known.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/by_function.h"
#include "analyze/energy_sums.h"
#include "analyze/marks.h"
#include "analyze/window.h"
#include "analyze/words.h"
#include "util/error.h"

#define ID "energy-functions"
#define TITLE "Energy by function"
#define UJ_A_J 1e6
#define NS_A_S 1e9

enum { DEFAULT_ROWS = 20 };
enum { SELF, SELF_LOW, SELF_HIGH, TOTAL, SELF_NS, FUNCTION, MODULE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [SELF] = {"self_j", "self", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 0},
    [SELF_LOW] = {"self_low_j", "at least", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 1},
    [SELF_HIGH] = {"self_high_j", "at most", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 1},
    [TOTAL] = {"total_j", "total", SONDE_UNIT_JOULES, SONDE_BASIS_ESTIMATED, 0, 0},
    [SELF_NS] = {"self_ns", "self time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [FUNCTION] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
};

struct energy_functions {
	struct sonde_samples samples;
	struct sonde_energy_points points;
	struct sonde_energy_sums sums;
	double j_per_ns[SONDE_ENERGY_CASES]; /* of CPU time of the recorded processes */
};

static int functions_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct energy_functions *functions = calloc(1, sizeof *functions);
	if (!functions)
		return sonde_error(ENOMEM, "out of memory for energy by function");
	*state = functions;
	int rc = sonde_samples_init(&functions->samples, session, options);
	return rc ? rc : sonde_energy_points_init(&functions->points, session);
}

static void functions_end(void *state)
{
	struct energy_functions *functions = state;
	if (!functions)
		return;
	sonde_samples_fini(&functions->samples);
	sonde_energy_points_fini(&functions->points);
	sonde_energy_sums_fini(&functions->sums);
	free(functions);
}

static uint32_t functions_wants(const void *state)
{
	const struct energy_functions *functions = state;
	int has_energy = sonde_energy_points_has(&functions->points);
	return has_energy ? 1u << SONDE_CHUNK_SERIES | 1u << SONDE_CHUNK_SAMPLES : 0;
}

static int functions_feed(void *state, const struct sonde_batch *batch)
{
	struct energy_functions *functions = state;
	return batch->type == SONDE_CHUNK_SERIES ? sonde_energy_points_feed(&functions->points, batch)
						 : sonde_samples_feed(&functions->samples, batch);
}

/* Joules for a ns of CPU time; 0 when no process has a figure. */
static void find_rates(struct energy_functions *functions)
{
	double cpu_ns = 0, uj[SONDE_ENERGY_CASES] = {0};
	for (size_t i = 0; i < functions->sums.share_count; i++) {
		const struct sonde_energy_share *share = &functions->sums.shares[i];
		if (share->too_short)
			continue;
		cpu_ns += share->cpu_ns;
		for (int c = 0; c < SONDE_ENERGY_CASES; c++)
			uj[c] += share->uj[c];
	}
	for (int c = 0; c < SONDE_ENERGY_CASES; c++)
		functions->j_per_ns[c] = cpu_ns > 0 ? uj[c] / UJ_A_J / cpu_ns : 0;
}

static int compare(const void *left, const void *right, void *state)
{
	const struct sonde_function_weight *rows = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t of_a = rows[a].self.ns, of_b = rows[b].self.ns;
	return of_a != of_b ? (of_a < of_b ? 1 : -1) : (a > b) - (a < b);
}

static int row_add(const struct energy_functions *functions, const struct sonde_function_weight *weight, uint32_t id,
		   struct sonde_report *report, struct sonde_section *section)
{
	const double *rate = functions->j_per_ns;
	const struct sonde_session *session = functions->samples.session;
	struct sonde_cell *row = sonde_report_row(report, section);
	if (!row)
		return sonde_error(ENOMEM, "out of memory for a row");
	double self_ns = (double)weight->self.ns;
	row[SELF] = sonde_cell_real(self_ns * rate[SONDE_ENERGY_LIKELY], 0);
	row[SELF_LOW] = sonde_cell_real(self_ns * rate[SONDE_ENERGY_LOW], 0);
	row[SELF_HIGH] = sonde_cell_real(self_ns * rate[SONDE_ENERGY_HIGH], 0);
	row[TOTAL] = sonde_cell_real((double)weight->total.ns * rate[SONDE_ENERGY_LIKELY], 0);
	row[SELF_NS] = sonde_cell_int(weight->self.ns);
	row[FUNCTION] = sonde_cell_text(sonde_function_name(session, id));
	row[MODULE] = sonde_cell_text(sonde_function_module(session, id));
	return 0;
}

static int notes_add(const struct energy_functions *functions, struct sonde_report *report,
		     struct sonde_section *section, size_t too_short)
{
	int rc = sonde_report_note(report, section, 0,
				   "shares of an estimate: %.3g J for a second of CPU time, the mean of the recorded "
				   "processes, by the CPU time "
				   "that was sampled in a function",
				   functions->j_per_ns[SONDE_ENERGY_LIKELY] * NS_A_S);
	if (rc == 0 && too_short)
		rc = sonde_report_note(report, section, 0,
				       "%zu function%s with less than 100 ms of CPU time %s too short to measure",
				       too_short, sonde_plural(too_short), sonde_word(too_short, "is", "are"));
	return rc;
}

static int table_fill(const struct energy_functions *functions, struct sonde_function_weight *rows, size_t count,
		      struct sonde_report *report)
{
	size_t limit = functions->samples.options.limit ? functions->samples.options.limit : DEFAULT_ROWS;
	size_t id_count = 0, too_short = 0;
	uint32_t *ids = malloc((count + 1) * sizeof *ids);
	struct sonde_section *section = sonde_report_table(report, ID, TITLE, columns, COLUMNS);
	int rc = ids && section ? 0 : sonde_error(ENOMEM, "out of memory for energy by function");
	for (uint32_t id = 0; ids && id < count; id++) {
		if (rows[id].self.ns >= SONDE_ENERGY_LEAST_CPU_NS)
			ids[id_count++] = id;
		else
			too_short += sonde_weight_is_any(rows[id].self) != 0 ? 1u : 0u;
	}
	if (ids)
		qsort_r(ids, id_count, sizeof *ids, compare, rows);
	for (size_t i = 0; rc == 0 && i < id_count && i < limit; i++)
		rc = row_add(functions, &rows[ids[i]], ids[i], report, section);
	if (rc == 0)
		section->table.omitted = id_count > limit ? id_count - limit : 0;
	free(ids);
	return rc ? rc : notes_add(functions, report, section, too_short);
}

static int functions_finish(void *state, struct sonde_report *report)
{
	struct energy_functions *functions = state;
	struct sonde_samples *samples = &functions->samples;
	struct sonde_window window = sonde_window_of(samples->session, &samples->options);
	struct sonde_function_weight *rows;
	size_t count;
	if (!sonde_energy_points_has(&functions->points))
		return sonde_pass_nothing(&samples->options, report, ID, TITLE,
					  "energy was not recorded: sonde record --energy");
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, ID, TITLE);
	int rc = sonde_energy_points_finish(&functions->points);
	if (rc == 0)
		rc = sonde_energy_sums_init(&functions->sums, &functions->points, window.from_ns, window.to_ns);
	if (rc)
		return rc;
	find_rates(functions);
	if (!functions->sums.is_known || functions->j_per_ns[SONDE_ENERGY_LIKELY] <= 0)
		return sonde_pass_nothing(&samples->options, report, ID, TITLE,
					  *functions->sums.why ? functions->sums.why
							       : "no process has a share of the energy");
	rc = sonde_samples_fold(samples);
	if (rc == 0)
		rc = sonde_by_function(samples, &rows, &count);
	if (rc < 0)
		return rc;
	rc = table_fill(functions, rows, count, report);
	free(rows);
	return rc;
}

const struct sonde_pass sonde_pass_energy_functions = {
    .name = ID,
    .title = "joules of functions: shares of the processes' by CPU time",
    .types = 1u << SONDE_CHUNK_SERIES | 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .begin = functions_begin,
    .wants = functions_wants,
    .feed = functions_feed,
    .finish = functions_finish,
    .end = functions_end,
};
