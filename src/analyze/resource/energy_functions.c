/* energy_functions.c: estimates each function's share of the processes' energy, by sampled CPU time
 * (resource/energy_rates.h). */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/cpu/by_function.h"
#include "analyze/resource/energy_rates.h"
#include "analyze/marks.h"
#include "util/error.h"

#define ID "energy-functions"
#define TITLE "Energy by function"

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
	struct sonde_energy_rates rates;
};

static int functions_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct energy_functions *functions = state;
	int rc = sonde_samples_init(&functions->samples, session, options);
	return rc ? rc : sonde_energy_rates_init(&functions->rates, session);
}

static void functions_end(void *state)
{
	struct energy_functions *functions = state;
	sonde_samples_fini(&functions->samples);
	sonde_energy_rates_fini(&functions->rates);
}

static uint32_t functions_wants(const void *state)
{
	const struct energy_functions *functions = state;
	int has_energy = sonde_energy_points_has(&functions->rates.points);
	return has_energy ? 1u << SONDE_CHUNK_SERIES | 1u << SONDE_CHUNK_SAMPLES : 0;
}

static int functions_feed(void *state, const struct sonde_batch *batch)
{
	struct energy_functions *functions = state;
	return batch->type == SONDE_CHUNK_SERIES ? sonde_energy_points_feed(&functions->rates.points, batch)
						 : sonde_samples_feed(&functions->samples, batch);
}

static int compare(const void *left, const void *right, void *state)
{
	const struct sonde_function_weight *rows = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t of_a = rows[a].self.ns, of_b = rows[b].self.ns;
	return of_a != of_b ? (of_a < of_b ? 1 : -1) : (a > b) - (a < b);
}

static void row_add(const struct energy_functions *functions, const struct sonde_function_weight *weight, uint32_t id,
		    struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_energy_rates *rates = &functions->rates;
	const struct sonde_session *session = functions->samples.session;
	struct sonde_cell *row = sonde_report_row(report, section);
	uint64_t self_ns = weight->self.ns;
	row[SELF] = sonde_energy_rates_cell(rates, SONDE_ENERGY_LIKELY, self_ns);
	row[SELF_LOW] = sonde_energy_rates_cell(rates, SONDE_ENERGY_LOW, self_ns);
	row[SELF_HIGH] = sonde_energy_rates_cell(rates, SONDE_ENERGY_HIGH, self_ns);
	row[TOTAL] = sonde_energy_rates_cell(rates, SONDE_ENERGY_LIKELY, weight->total.ns);
	row[SELF_NS] = sonde_cell_int(self_ns);
	row[FUNCTION] = sonde_cell_text(sonde_function_name(session, id));
	row[MODULE] = sonde_cell_text(sonde_function_module(session, id));
}

static int table_fill(const struct energy_functions *functions, struct sonde_function_weight *rows, size_t count,
		      struct sonde_report *report)
{
	size_t limit = functions->samples.options.limit ? functions->samples.options.limit : DEFAULT_ROWS;
	size_t id_count = 0, too_short = 0;
	uint32_t *ids = malloc((count + 1) * sizeof *ids);
	const struct sonde_column *own = sonde_energy_columns(&functions->rates.sums, report, columns, COLUMNS);
	struct sonde_section *section = sonde_report_table(report, ID, TITLE, own, COLUMNS);
	int rc = ids ? 0 : sonde_error(ENOMEM, "out of memory for energy by function");
	for (uint32_t id = 0; ids && id < count; id++) {
		if (rows[id].self.ns >= SONDE_ENERGY_LEAST_CPU_NS)
			ids[id_count++] = id;
		else
			too_short += sonde_weight_is_any(rows[id].self) != 0 ? 1u : 0u;
	}
	if (ids)
		qsort_r(ids, id_count, sizeof *ids, compare, rows);
	for (size_t i = 0; rc == 0 && i < id_count && i < limit; i++)
		row_add(functions, &rows[ids[i]], ids[i], report, section);
	if (rc == 0)
		section->table.omitted = id_count > limit ? id_count - limit : 0;
	free(ids);
	if (!rc)
		sonde_energy_rates_notes(&functions->rates, "function", too_short, report, section);
	return rc;
}

static int functions_finish(void *state, struct sonde_report *report)
{
	struct energy_functions *functions = state;
	struct sonde_samples *samples = &functions->samples;
	const char *why;
	struct sonde_function_weight *rows;
	size_t count;
	if (!sonde_energy_points_has(&functions->rates.points))
		return sonde_pass_nothing(&samples->options, report, ID, TITLE,
					  "energy was not recorded: sonde record --energy");
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, ID, TITLE);
	int rc = sonde_energy_rates_finish(&functions->rates, &samples->options, &why);
	if (rc)
		return rc;
	if (why)
		return sonde_pass_nothing(&samples->options, report, ID, TITLE, why);
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
    .needs = SONDE_NEEDS(ENERGY),
    .has = sonde_has_energy_and_samples,
    .title = "energy by function: each process's energy, split by CPU time",
    .types = 1u << SONDE_CHUNK_SERIES | 1u << SONDE_CHUNK_SAMPLES,
    .standard = 1,
    .state_b = sizeof(struct energy_functions),
    .begin = functions_begin,
    .wants = functions_wants,
    .feed = functions_feed,
    .finish = functions_finish,
    .end = functions_end,
};
