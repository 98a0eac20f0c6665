/* compare.c: compares figures of several recordings per side, run against run, for all tables of that comparison
 * (diff/runs.h). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/runs.h"
#include "analyze/statistics/spread.h"
#include "util/error.h"

int sonde_diff_compare(struct sonde_diff_compared *out, const struct sonde_diff_runs *runs,
		       double (*get)(const struct sonde_diff_recording *run, const void *context), const void *context,
		       int as_difference)
{
	size_t most = runs->count[SONDE_DIFF_BASELINE] + runs->count[SONDE_DIFF_CANDIDATE], known[SONDE_DIFF_SIDES];
	double *values = calloc(2 * most + 1, sizeof *values), *at = values;
	struct sonde_spread spread;
	int code = values ? 0 : sonde_error(ENOMEM, "out of memory for %zu runs", most);
	for (int side = 0; !code && side < SONDE_DIFF_SIDES; side++) {
		known[side] = 0;
		for (size_t i = 0; i < runs->count[side]; i++) {
			double value = get(&runs->run[side][i], context);
			if (!isnan(value))
				at[known[side]++] = value;
		}
		memcpy(values + most, at, known[side] * sizeof *at);
		sonde_spread_of(&spread, values + most, known[side]);
		out->median[side] = known[side] ? spread.median : NAN;
		at += known[side];
	}
	/* Values that are not all positive are compared by their difference. */
	for (size_t i = 0; !code && as_difference && i < known[0] + known[1]; i++)
		values[i] -= 2;
	if (!code && sonde_change_unpaired(&out->change, values, known[0], values + known[0], known[1]))
		code = sonde_error(ENOMEM, "out of memory for %zu runs", most);
	free(values);
	return code;
}

static const struct sonde_diff_figures *figures_of(const struct sonde_diff_recording *run, enum sonde_diff_kind kind)
{
	return kind == SONDE_DIFF_ZONES        ? &run->zones
	       : kind == SONDE_DIFF_ITERATIONS ? &run->iterations
					       : &run->functions;
}

static int by_name(const void *left, const void *right)
{
	const struct sonde_diff_figure *a = left, *b = right;
	int order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->module, b->module);
}

int sonde_diff_names(struct sonde_diff_figures *out, const struct sonde_diff_runs *runs, enum sonde_diff_kind kind)
{
	size_t count = 0;
	*out = (struct sonde_diff_figures){0};
	for (int side = 0; side < SONDE_DIFF_SIDES; side++)
		for (size_t i = 0; i < runs->count[side]; i++) {
			const struct sonde_diff_figures *from = figures_of(&runs->run[side][i], kind);
			for (size_t k = 0; k < from->count; k++)
				if (sonde_diff_figure_put(out, &from->row[k]))
					return -ENOMEM;
		}
	if (out->count)
		qsort(out->row, out->count, sizeof *out->row, by_name);
	for (size_t i = 0; i < out->count; i++)
		if (!count || by_name(&out->row[count - 1], &out->row[i]))
			out->row[count++] = out->row[i];
	out->count = count;
	return 0;
}

/* Of all ways to choose the ranks of one side, only two are as extreme: all lowest and all highest. */
double sonde_diff_least_p(size_t baseline, size_t candidate)
{
	double choices = 1;
	for (size_t i = 1; i <= candidate; i++)
		choices *= (double)(baseline + i) / (double)i;
	return choices > 2 ? 2 / choices : 1;
}
