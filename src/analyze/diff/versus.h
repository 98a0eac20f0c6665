/* versus.h: compares repeated runs of one command, or interleaved runs of two. */
#ifndef SONDE_ANALYZE_DIFF_VERSUS_H
#define SONDE_ANALYZE_DIFF_VERSUS_H

#include <stddef.h>

#include "analyze/statistics/change.h"
#include "analyze/statistics/spread.h"
#include "analyze/statistics/stationarity.h"
#include "report/report.h"

enum sonde_versus_metric {
#define SONDE_VERSUS(id, key, unit, label, meaning) SONDE_VERSUS_##id,
#include "analyze/diff/versus.def"
#undef SONDE_VERSUS
	SONDE_VERSUS_COUNT
};

struct sonde_versus_row {
	const char *key, *label;
	enum sonde_unit unit;
};

const struct sonde_versus_row *sonde_versus_row(enum sonde_versus_metric metric);

/* True if a change of the metric gets a verdict: metrics that are part of another one are only shown. */
int sonde_versus_is_requested(enum sonde_versus_metric metric);

enum sonde_versus_side { SONDE_CANDIDATE = 0, SONDE_BASELINE, SONDE_SIDES };

/* A run of each side; NAN = unknown. */
struct sonde_versus_pair {
	double value[SONDE_SIDES][SONDE_VERSUS_COUNT]; /* ns, bytes, counts */
	int is_baseline_first;
};

/* Numbers of runs between which repetition stops automatically: with fewer, the width of the interval is a guess, and
 * checking it repeatedly would bias it. */
enum { SONDE_VERSUS_LEAST = 20, SONDE_VERSUS_MOST = 100 };
#define SONDE_VERSUS_PRECISION 0.02

struct sonde_versus {
	const struct sonde_versus_pair *pair; /* owned by the caller, in the order of the runs */
	size_t count;
	int has_baseline;
	/* the two runs of a pair were made at different times and are independent; the shorter side is padded with
	 * NAN */
	int is_unpaired;
	double margin; /* largest change that does not matter, as a fraction */
	/* Set by sonde_versus_evaluate(). */
	struct sonde_spread spread[SONDE_SIDES][SONDE_VERSUS_COUNT];
	struct sonde_change change[SONDE_VERSUS_COUNT];
	enum sonde_verdict verdict[SONDE_VERSUS_COUNT];      /* p corrected for all metrics tested together */
	enum sonde_versus_metric by;                         /* the metric that decides the overall verdict */
	struct sonde_stationarity stationarity[SONDE_SIDES]; /* stationarity of the metric `by` */
};

/* CPU time is the best metric for a command that keeps one core busy, because other programs affect it less; wall time
 * is the best for a command that waits, or runs on several cores. */
enum sonde_versus_metric sonde_versus_main(const struct sonde_versus *versus);

/* Half of the 95 % interval of the main metric, as a fraction: of the change if there is a baseline, else of the mean;
 * infinite with too few runs. -ENOMEM. */
int sonde_versus_precision(double *out, struct sonde_versus *versus);

/* True if no more runs are needed: `runs` if a number was requested, else once the interval is within ± 2 % and half
 * the margin, or after SONDE_VERSUS_MOST. Never depends on the verdict. -ENOMEM. */
int sonde_versus_is_enough(struct sonde_versus *versus, size_t runs);

/* -ENOMEM. */
int sonde_versus_evaluate(struct sonde_versus *versus);

/* For two commands, the verdict of `by`. */
static inline enum sonde_verdict sonde_versus_verdict(const struct sonde_versus *versus)
{
	return versus->verdict[versus->by];
}

#endif
