/* table.h: one row per metric of two sides: medians, change with its interval, verdict; for recordings, and for results
 * of `sonde bench`. */
#ifndef SONDE_ANALYZE_DIFF_TABLE_H
#define SONDE_ANALYZE_DIFF_TABLE_H

#include "analyze/statistics/change.h"
#include "report/report.h"

enum sonde_diff_column {
	SONDE_COMPARED_METRIC,
	SONDE_COMPARED_BASE_COUNT,
	SONDE_COMPARED_COUNT,
	SONDE_COMPARED_BEFORE,
	SONDE_COMPARED_AFTER,
	SONDE_COMPARED_UNIT,
	SONDE_COMPARED_SPEEDUP,
	SONDE_COMPARED_LOW,
	SONDE_COMPARED_HIGH,
	SONDE_COMPARED_P,
	SONDE_COMPARED_VERDICT,
	SONDE_COMPARED_COLUMNS
};

/* `title` is borrowed. NULL if out of memory. */
struct sonde_section *sonde_diff_table(struct sonde_report *report, const char *id, const char *title);

/* The number of values of each side, and their medians; `why`: for a side without values. */
struct sonde_diff_pair {
	size_t count[2]; /* baseline, candidate */
	double median[2];
	double scale; /* divisor for medians */
	const char *why;
};
void sonde_diff_cells(struct sonde_cell *row, const struct sonde_diff_pair *pair);

/* Speed-up, its interval, and p. */
void sonde_diff_change_cells(struct sonde_cell *row, const struct sonde_change *change);

/* Adds the keys at the top of every comparison's JSON: verdict, speedup, ci95_low, ci95_high, p, metric, comparable.
 * `metric`: NULL = none was compared. 0 or -ENOMEM. */
void sonde_diff_facts(struct sonde_report *report, enum sonde_verdict verdict, const struct sonde_change *change,
		      const char *metric, int is_comparable);

#endif
