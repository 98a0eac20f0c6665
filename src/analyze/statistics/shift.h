/* shift.h: by how much two sets of measured values differ, and how sure that is.
 *
 * Nothing is assumed of the values but that they are independent: medians of averages and differences (Hodges and
 * Lehmann, Estimates of Location Based on Rank Tests, 1963), tests by ranks (Wilcoxon; Mann and Whitney), exact for
 * small sets, with ties. Values that are all above 0 are compared by their ratio, others by their difference.
 */
#ifndef SONDE_ANALYZE_STATISTICS_SHIFT_H
#define SONDE_ANALYZE_STATISTICS_SHIFT_H

#include <stddef.h>

enum sonde_verdict {
	SONDE_VERDICT_INCONCLUSIVE = 0,
	SONDE_VERDICT_UNCHANGED, /* the interval lies wholly inside the margin */
	SONDE_VERDICT_IMPROVED,
	SONDE_VERDICT_REGRESSED,
};

/* Two sittings at one machine differ by so much without anybody's doing: runs that were not made in turn get no verdict of
 * less. */
#define SONDE_SHIFT_DRIFT 0.05

struct sonde_shift {
	size_t baseline, candidate; /* values */
	int is_ratio;
	/* Baseline ÷ candidate: above 1 the candidate's values are lower; or else baseline − candidate. With its 95 %
	 * interval, which is infinite (from 0 for a ratio) where the values are too few for one. */
	double by, low, high;
	double p; /* of so large a shift where there is none, to either side; 1 where nothing can be said */
};

/* Values at one place of both were measured next to each other: signed ranks of their differences. -ENOMEM. */
int sonde_shift_paired(struct sonde_shift *out, const double *baseline, const double *candidate, size_t pairs);

/* Nothing connects the values: ranks of all together. -ENOMEM. */
int sonde_shift_unpaired(struct sonde_shift *out, const double *baseline, size_t baseline_count,
			 const double *candidate, size_t candidate_count);

/* p-values of questions asked together, in place, so that below q at most a share q of what is found is false
 * (Benjamini and Hochberg, Controlling the False Discovery Rate, 1995). -ENOMEM. */
int sonde_shift_correct(double *p, size_t count);

/* `margin`: what does not matter, as a share (0.01) of a ratio, in the values' unit of a difference. Lower values are
 * better; improved and regressed need p < 0.01 and a shift beyond the margin. */
enum sonde_verdict sonde_shift_verdict(const struct sonde_shift *shift, double margin);

/* "improved" */
const char *sonde_verdict_name(enum sonde_verdict verdict);

#endif
