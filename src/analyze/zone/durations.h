/* durations.h: statistics of a set of durations: exact count, sum, min, max and standard deviation, and percentiles
 * from a histogram (fold/hist.h: within 0.39 %). */
#ifndef SONDE_ANALYZE_ZONE_DURATIONS_H
#define SONDE_ANALYZE_ZONE_DURATIONS_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "fold/hist.h"
#include "report/report.h"

/* Zeroed = empty. The sums are of differences from the first value, which avoids cancellation if all values are similar
 * (shifted data, Chan, Golub and LeVeque 1983). */
struct sonde_durations {
	uint64_t count, min, max;
	double shift, sum, squares;
	uint64_t *hits; /* SONDE_HIST_BUCKETS, or NULL */
};

/* -ENOMEM if the histogram cannot be allocated. */
static inline int sonde_durations_add(struct sonde_durations *durations, uint64_t value)
{
	if (__builtin_expect(!durations->hits, 0)) {
		durations->hits = calloc(SONDE_HIST_BUCKETS, sizeof *durations->hits);
		if (!durations->hits)
			return -ENOMEM;
		durations->shift = (double)value;
		durations->min = value;
	}
	double shifted = (double)value - durations->shift;
	durations->count++;
	durations->sum += shifted;
	durations->squares += shifted * shifted;
	durations->min = value < durations->min ? value : durations->min;
	durations->max = value > durations->max ? value : durations->max;
	durations->hits[sonde_hist_bucket(value)]++;
	return 0;
}

/* Adds `count` values, with the sums in registers; -ENOMEM as above. */
int sonde_durations_add_all(struct sonde_durations *durations, const uint64_t *values, size_t count);

/* Adds `other`, which is consumed: only fini may follow. */
void sonde_durations_merge(struct sonde_durations *durations, struct sonde_durations *other);
void sonde_durations_fini(struct sonde_durations *durations);
double sonde_durations_mean(const struct sonde_durations *durations);

/* A percentile in ns; without values the cell is absent and has the reason. */
struct sonde_cell sonde_durations_quantile(const struct sonde_durations *durations, double quantile);

/* Fills the seven cells mean, std, min, p50, p95, p99, max. */
enum { SONDE_DURATION_CELLS = 7 };
void sonde_durations_cells(const struct sonde_durations *durations, struct sonde_cell *cells);

/* The columns of these cells, for a table's initialiser. */
#define SONDE_DURATION_COLUMNS(first)                                                 \
	[first] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},     \
	[(first) + 1] = {"std_ns", "std", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3}, \
	[(first) + 2] = {"min_ns", "min", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3}, \
	[(first) + 3] = {"p50_ns", "p50", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2}, \
	[(first) + 4] = {"p95_ns", "p95", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2}, \
	[(first) + 5] = {"p99_ns", "p99", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0}, \
	[(first) + 6] = {"max_ns", "max", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0}

/* Notes how percentiles are computed, and if `fewest` values are too few for the 99th. */
void sonde_durations_note(uint64_t fewest, struct sonde_report *report, struct sonde_section *section);

#endif
