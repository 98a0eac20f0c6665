/* versus.c: selects the decisive metric, its precision, and the verdicts (diff/versus.h). */
#include "analyze/diff/versus.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define BUSY_LEAST 0.9 /* CPU time ÷ wall time of a command that keeps one core busy */
#define BUSY_MOST 1.05

static const enum sonde_versus_metric requested[] = {SONDE_VERSUS_WALL, SONDE_VERSUS_CPU, SONDE_VERSUS_PEAK_RSS};
enum { REQUESTED = sizeof requested / sizeof *requested };

const struct sonde_versus_row *sonde_versus_row(enum sonde_versus_metric metric)
{
	static const struct sonde_versus_row rows[] = {
#define SONDE_VERSUS(id, key, unit, label, meaning) {key, label, unit},
#include "analyze/diff/versus.def"
#undef SONDE_VERSUS
	};
	return &rows[metric];
}

int sonde_versus_is_requested(enum sonde_versus_metric metric)
{
	for (size_t i = 0; i < REQUESTED; i++)
		if (requested[i] == metric)
			return 1;
	return 0;
}

/* The known values in order; for pairs, an unknown value drops both. */
static size_t values_of(const struct sonde_versus *versus, enum sonde_versus_metric metric, double *candidate,
			double *baseline)
{
	size_t count = 0;
	for (size_t i = 0; i < versus->count; i++) {
		const struct sonde_versus_pair *pair = &versus->pair[i];
		candidate[count] = pair->value[SONDE_CANDIDATE][metric];
		if (baseline)
			baseline[count] = pair->value[SONDE_BASELINE][metric];
		count += isnan(candidate[count]) || (baseline && isnan(baseline[count])) ? 0u : 1u;
	}
	return count;
}

static size_t values_of_side(const struct sonde_versus *versus, enum sonde_versus_side side,
			     enum sonde_versus_metric metric, double *values)
{
	size_t count = 0;
	for (size_t i = 0; i < versus->count; i++) {
		values[count] = versus->pair[i].value[side][metric];
		count += isnan(values[count]) ? 0u : 1u;
	}
	return count;
}

static int is_busy(const struct sonde_versus *versus, enum sonde_versus_side side)
{
	double wall = 0, cpu = 0;
	for (size_t i = 0; i < versus->count; i++) {
		const double *value = versus->pair[i].value[side];
		wall += isnan(value[SONDE_VERSUS_WALL]) ? 0 : value[SONDE_VERSUS_WALL];
		cpu += isnan(value[SONDE_VERSUS_CPU]) ? 0 : value[SONDE_VERSUS_CPU];
	}
	return wall > 0 && cpu >= BUSY_LEAST * wall && cpu <= BUSY_MOST * wall;
}

enum sonde_versus_metric sonde_versus_main(const struct sonde_versus *versus)
{
	int busy = is_busy(versus, SONDE_CANDIDATE) && (!versus->has_baseline || is_busy(versus, SONDE_BASELINE));
	return versus->count && busy ? SONDE_VERSUS_CPU : SONDE_VERSUS_WALL;
}

static int change_of(struct sonde_change *out, const struct sonde_versus *versus, enum sonde_versus_metric metric,
		     double *candidate, double *baseline)
{
	if (versus->is_unpaired)
		return sonde_change_unpaired(out, baseline, values_of_side(versus, SONDE_BASELINE, metric, baseline),
					     candidate, values_of_side(versus, SONDE_CANDIDATE, metric, candidate));
	size_t count = values_of(versus, metric, candidate, baseline);
	return sonde_change_paired(out, baseline, candidate, count);
}

int sonde_versus_precision(double *out, struct sonde_versus *versus)
{
	enum sonde_versus_metric metric = sonde_versus_main(versus);
	double *values = calloc(2 * versus->count + 1, sizeof *values);
	struct sonde_spread spread;
	struct sonde_change change;
	if (!values)
		return -ENOMEM;
	int code = 0;
	if (versus->has_baseline) {
		code = change_of(&change, versus, metric, values, values + versus->count);
		*out = change.is_ratio && change.low > 0 ? log(change.high / change.low) / 2 : INFINITY;
	} else {
		sonde_spread_of(&spread, values, values_of_side(versus, SONDE_CANDIDATE, metric, values));
		*out = spread.count > 1 && spread.mean > 0 ? spread.half / spread.mean : INFINITY;
	}
	free(values);
	return code;
}

int sonde_versus_is_enough(struct sonde_versus *versus, size_t runs)
{
	double precision, wanted = SONDE_VERSUS_PRECISION;
	if (runs || versus->count >= SONDE_VERSUS_MOST)
		return versus->count >= (runs ? runs : SONDE_VERSUS_MOST);
	if (versus->count < SONDE_VERSUS_LEAST)
		return 0;
	if (versus->has_baseline && versus->margin / 2 < wanted)
		wanted = versus->margin / 2;
	int code = sonde_versus_precision(&precision, versus);
	return code ? code : precision <= wanted;
}

static int evaluate_pairs(struct sonde_versus *versus, double *values)
{
	double p[REQUESTED];
	int code = 0;
	for (int i = 0; !code && i < SONDE_VERSUS_COUNT; i++)
		code =
		    change_of(&versus->change[i], versus, (enum sonde_versus_metric)i, values, values + versus->count);
	for (int i = 0; i < REQUESTED; i++)
		p[i] = versus->change[requested[i]].p;
	code = code ? code : sonde_change_correct(p, REQUESTED);
	for (int i = 0; !code && i < REQUESTED; i++) {
		versus->change[requested[i]].p = p[i];
		if (versus->change[requested[i]].is_ratio) /* the margin is a fraction */
			versus->verdict[requested[i]] =
			    sonde_change_verdict(&versus->change[requested[i]], versus->margin);
	}
	return code;
}

int sonde_versus_evaluate(struct sonde_versus *versus)
{
	double *values = calloc(2 * versus->count + 1, sizeof *values);
	int code = values ? 0 : -ENOMEM;
	versus->by = sonde_versus_main(versus);
	for (int side = 0; !code && side <= versus->has_baseline; side++) {
		size_t count = values_of_side(versus, (enum sonde_versus_side)side, versus->by, values);
		code =
		    sonde_stationarity_check(&versus->stationarity[side], values, count, versus->has_baseline ? 2 : 1);
		for (int i = 0; i < SONDE_VERSUS_COUNT; i++) {
			count =
			    values_of_side(versus, (enum sonde_versus_side)side, (enum sonde_versus_metric)i, values);
			sonde_spread_of(&versus->spread[side][i], values, count);
		}
	}
	if (!code && versus->has_baseline)
		code = evaluate_pairs(versus, values);
	free(values);
	return code;
}
