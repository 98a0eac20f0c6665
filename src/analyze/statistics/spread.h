/* spread.h: mean, spread and outliers of repeated runs. */
#ifndef SONDE_ANALYZE_STATISTICS_SPREAD_H
#define SONDE_ANALYZE_STATISTICS_SPREAD_H

#include <stddef.h>

struct sonde_spread {
	size_t count;
	double mean, std; /* std is 0 for fewer than two values */
	/* half width of the mean's 95 % interval by Student's t; 0 = unknown: fewer than two values */
	double half;
	double min, max, median;
	double mad; /* median absolute deviation; 0 = all values equal, or too few to detect outliers */
};

/* Sorts `values`. */
void sonde_spread_of(struct sonde_spread *out, double *values, size_t count);

/* Modified z-score: |0.6745 (x − median) ÷ MAD| > 3.5 (Iglewicz and Hoaglin, How to Detect and Handle Outliers,
 * 1993). */
int sonde_spread_is_outlier(const struct sonde_spread *spread, double value);

/* Two-sided 95 % quantile of Student's t. 0 degrees of freedom: 0. */
double sonde_spread_t95(size_t freedom);

#endif
