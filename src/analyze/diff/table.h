/* table.h: a row for each metric of two sides: medians, shift with its interval, verdict; of recordings, and of
 * results of `sonde bench`. */
#ifndef SONDE_ANALYZE_DIFF_TABLE_H
#define SONDE_ANALYZE_DIFF_TABLE_H

#include "analyze/statistics/shift.h"
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

/* `title` is borrowed. NULL = out of memory. */
struct sonde_section *sonde_diff_table(struct sonde_report *report, const char *id, const char *title);

/* One side and the other: how many values, and their medians; `why`: of a side without any. */
struct sonde_diff_pair {
	size_t count[2]; /* baseline, candidate */
	double median[2];
	double scale; /* that medians are divided by */
	const char *why;
};
void sonde_diff_cells(struct sonde_cell *row, const struct sonde_diff_pair *pair);

/* Speed-up, its interval, and p. */
void sonde_diff_shift_cells(struct sonde_cell *row, const struct sonde_shift *shift);

/* The keys that every comparison says at the top of its JSON: verdict, speedup, ci95_low, ci95_high, p, metric,
 * comparable. `metric`: NULL = nothing was. 0 or -ENOMEM. */
int sonde_diff_facts(struct sonde_report *report, enum sonde_verdict verdict, const struct sonde_shift *shift,
		     const char *metric, int is_comparable);

#endif
