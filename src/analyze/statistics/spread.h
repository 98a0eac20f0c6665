/* spread.h: what the values of repeated runs have in common. */
#ifndef SONDE_ANALYZE_STATISTICS_SPREAD_H
#define SONDE_ANALYZE_STATISTICS_SPREAD_H

#include <stddef.h>

struct sonde_spread {
	size_t count;
	double mean, std; /* std 0 for fewer than two values */
	double half;      /* of the 95 % interval of the mean, by Student's t; 0 = not known: fewer than two values */
	double min, max, median;
	double
	    mad; /* median of the distances from the median; 0 = values are equal, or too few to call one an outlier */
};

/* Sorts `values`. */
void sonde_spread_of(struct sonde_spread *out, double *values, size_t count);

/* By the modified z-score, |0.6745 (x − median) ÷ MAD| > 3.5 (Iglewicz and Hoaglin, How to Detect and Handle Outliers,
 * 1993). */
int sonde_spread_is_outlier(const struct sonde_spread *spread, double value);

/* The value that Student's t exceeds on either side together in 5 % of cases. 0 degrees of freedom: 0. */
double sonde_spread_t95(size_t freedom);

#endif
