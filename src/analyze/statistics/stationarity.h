/* stationarity.h: tests whether a series of durations is stationary: where its warm-up ends, and its level after
 * that. */
#ifndef SONDE_ANALYZE_STATISTICS_STATIONARITY_H
#define SONDE_ANALYZE_STATISTICS_STATIONARITY_H

#include <stddef.h>
#include <stdint.h>

enum { SONDE_STATIONARITY_LEAST = 20 }; /* minimum number of values for a verdict */

enum sonde_stationarity_verdict {
	SONDE_STATIONARITY_TOO_FEW = 0,
	SONDE_STATIONARITY_YES,
	SONDE_STATIONARITY_DRIFTS,
	SONDE_STATIONARITY_JUMPS, /* the level changes too late for a warm-up */
};

struct sonde_stationarity {
	enum sonde_stationarity_verdict verdict;
	size_t warm_up;    /* values before the stationary part; 0 unless the verdict is YES */
	size_t count;      /* number of values that `mean` and `drift` cover: all of them unless the verdict is YES */
	double mean;       /* mean of these values */
	double half;       /* half width of the mean's 95 % interval; 0 = unknown */
	double drift;      /* rise of a fitted line from start to end, as a fraction of the mean */
	size_t changes_at; /* JUMPS: position of the largest change of level */
	double change;     /* JUMPS: its size, as a fraction of the mean before it */
};

/* `tests`: number of series tested together, whose false alarms add up. -ENOMEM. */
int sonde_stationarity_check(struct sonde_stationarity *out, const double *values, size_t count, size_t tests);

#endif
