/* growth.h: tests whether a series grows persistently, and how fast.
 *
 * Trend: Mann 1945 and Kendall 1975, corrected for ties, with the variance corrected for autocorrelation by Hamed and
 * Rao 1998 (J. Hydrology 204, 182–196), because memory use resembles what it was a moment before. Slope: Theil 1950;
 * its interval: Sen 1968. A random walk also rises for a while: if the residuals behave like one, the total rise must
 * exceed what a walk would produce, given the long-run variance of its steps (Newey and West 1987). And the last third
 * must rise at no less than half the overall rate: something that fills up and then stops is not growing.
 */
#ifndef SONDE_ANALYZE_STATISTICS_GROWTH_H
#define SONDE_ANALYZE_STATISTICS_GROWTH_H

#include <stddef.h>

#define SONDE_GROWTH_MIN 16u /* minimum number of values */
#define SONDE_GROWTH_MAX 128u

struct sonde_growth {
	int grows;
	double slope, low, high; /* per step, with its 95 % interval */
	double confidence;       /* confidence in the trend: 1 − p, one-sided */
};

/* Values at equal time steps. Fewer than SONDE_GROWTH_MIN never grow; of more than SONDE_GROWTH_MAX the last ones
 * count. */
struct sonde_growth sonde_growth_of(const double *values, size_t count);

#endif
