/* versus.h: runs of one command, or of two in turn, and what they say of each other. */
#ifndef SONDE_ANALYZE_DIFF_VERSUS_H
#define SONDE_ANALYZE_DIFF_VERSUS_H

#include <stddef.h>

#include "analyze/statistics/shift.h"
#include "analyze/statistics/spread.h"
#include "analyze/statistics/steady.h"
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

/* Whether its shift gets a verdict: what is a share of another one is shown only. */
int sonde_versus_is_asked(enum sonde_versus_metric metric);

enum sonde_versus_side { SONDE_CANDIDATE = 0, SONDE_BASELINE, SONDE_SIDES };

/* A run of each side; NAN = not known. */
struct sonde_versus_pair {
	double value[SONDE_SIDES][SONDE_VERSUS_COUNT]; /* ns, bytes, counts */
	int is_baseline_first;
};

/* When repeated runs end by themselves: of fewer the width of an interval is a guess, and asked again and again. */
enum { SONDE_VERSUS_LEAST = 20, SONDE_VERSUS_MOST = 100 };
#define SONDE_VERSUS_PRECISION 0.02

struct sonde_versus {
	const struct sonde_versus_pair *pair; /* the caller's, in the order in which they were run */
	size_t count;
	int has_baseline;
	int is_unpaired; /* nothing connects the two of a pair: runs of other times; of the shorter side NAN is left */
	double margin;   /* a share that does not matter */
	/* What follows is made by sonde_versus_judge(). */
	struct sonde_spread spread[SONDE_SIDES][SONDE_VERSUS_COUNT];
	struct sonde_shift shift[SONDE_VERSUS_COUNT];
	enum sonde_verdict verdict[SONDE_VERSUS_COUNT]; /* p corrected for all that are asked together */
	enum sonde_versus_metric by;                    /* the one that the verdict of all goes by */
	struct sonde_steady steady[SONDE_SIDES];        /* of that */
};

/* What a command that keeps one core busy takes is told best by its CPU time, which other programs move less; what
 * waits, or runs on several cores, by wall time. */
enum sonde_versus_metric sonde_versus_main(const struct sonde_versus *versus);

/* Half of the 95 % interval of the main metric, as a share: of the shift where there is a baseline, else of the mean;
 * infinite where there are too few runs to tell. -ENOMEM. */
int sonde_versus_precision(double *out, struct sonde_versus *versus);

/* Whether that is enough: `runs` where a number was asked for, else when the interval is within ± 2 % and half the
 * margin, or after SONDE_VERSUS_MOST. Never because of a verdict. -ENOMEM. */
int sonde_versus_is_enough(struct sonde_versus *versus, size_t runs);

/* -ENOMEM. */
int sonde_versus_judge(struct sonde_versus *versus);

/* Of two, the verdict of `by`. */
static inline enum sonde_verdict sonde_versus_verdict(const struct sonde_versus *versus)
{
	return versus->verdict[versus->by];
}

#endif
