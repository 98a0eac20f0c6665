/* change.h: by how much two sets of measurements differ, and how certain that is.
 *
 * Assumes only that the values are independent: medians of averages and differences (Hodges and Lehmann, Estimates of
 * Location Based on Rank Tests, 1963) and rank tests (Wilcoxon; Mann and Whitney), exact for small sets, with ties.
 * Sets of positive values are compared by ratio, others by difference.
 */
#ifndef SONDE_ANALYZE_STATISTICS_CHANGE_H
#define SONDE_ANALYZE_STATISTICS_CHANGE_H

#include <stddef.h>

enum sonde_verdict {
	SONDE_VERDICT_INCONCLUSIVE = 0,
	SONDE_VERDICT_UNCHANGED, /* the whole interval is within the margin */
	SONDE_VERDICT_IMPROVED,
	SONDE_VERDICT_REGRESSED,
};

/* Two sessions on the same machine can differ by this much without any cause, so runs that were not interleaved get no
 * verdict on smaller changes. */
#define SONDE_CHANGE_DRIFT 0.05

struct sonde_change {
	size_t baseline, candidate; /* number of values */
	int is_ratio;
	/* Baseline ÷ candidate, so above 1 the candidate's values are lower; otherwise baseline − candidate. `low` and
	 * `high` are the 95 % interval, which is infinite (from 0 for a ratio) if there are too few values. */
	double by, low, high;
	double p; /* two-sided p-value of "no change"; 1 if there is too little data */
};

/* Compares pairs: values at the same index were measured next to each other. Uses signed ranks of their differences.
 * -ENOMEM. */
int sonde_change_paired(struct sonde_change *out, const double *baseline, const double *candidate, size_t pairs);

/* Compares independent values. Uses ranks over both sets. -ENOMEM. */
int sonde_change_unpaired(struct sonde_change *out, const double *baseline, size_t baseline_count,
			  const double *candidate, size_t candidate_count);

/* Adjusts the p-values of simultaneous tests in place, so that below q at most a fraction q of the discoveries is false
 * (Benjamini and Hochberg, Controlling the False Discovery Rate, 1995). -ENOMEM. */
int sonde_change_correct(double *p, size_t count);

/* `margin`: the largest change that does not matter, as a fraction (0.01) for a ratio, or in the values' unit for a
 * difference. Lower values are better; improved and regressed require p < 0.01 and a change beyond the margin. */
enum sonde_verdict sonde_change_verdict(const struct sonde_change *change, double margin);

/* Why a verdict is inconclusive, in a sentence; "" if it is conclusive. `what`: what was measured, such as "runs". */
struct sonde_change_why {
	char text[128];
};
struct sonde_change_why sonde_change_why(const struct sonde_change *change, double margin, const char *what);

/* "improved" */
const char *sonde_verdict_name(enum sonde_verdict verdict);

/* A ratio baseline ÷ candidate in words: "1.225× faster", "2.292× slower". */
struct sonde_change_words {
	char text[48];
};
struct sonde_change_words sonde_change_words(double ratio);

#endif
