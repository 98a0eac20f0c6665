/* steady.h: whether a series of durations is steady: where its warm-up ends, and what it is from there on. */
#ifndef SONDE_ANALYZE_STATISTICS_STEADY_H
#define SONDE_ANALYZE_STATISTICS_STEADY_H

#include <stddef.h>
#include <stdint.h>

enum { SONDE_STEADY_LEAST = 20 }; /* values: of fewer nothing is said */

enum sonde_steady_verdict {
	SONDE_STEADY_TOO_FEW = 0,
	SONDE_STEADY_YES,
	SONDE_STEADY_DRIFTS,
	SONDE_STEADY_JUMPS, /* its level changes, too late for a warm-up */
};

struct sonde_steady {
	enum sonde_steady_verdict verdict;
	size_t warm_up;    /* values before the steady part; 0 unless the verdict is YES */
	size_t count;      /* values in the part that `mean` and `drift` are of: all, unless the verdict is YES */
	double mean;       /* of the part */
	double half;       /* half width of its 95 % interval; 0 = not known */
	double drift;      /* of the part: what a line through it rises by from its begin to its end, of the mean */
	size_t changes_at; /* JUMPS: where the level changes the most */
	double change;     /* JUMPS: by how much, of the mean before */
};

/* `tests`: how many series are looked at together, whose false alarms add up. -ENOMEM. */
int sonde_steady_check(struct sonde_steady *out, const double *values, size_t count, size_t tests);

#endif
