/* growth.h: whether a series rises for good, and how fast.
 *
 * Trend: Mann 1945 and Kendall 1975, with ties corrected, and the variance corrected for autocorrelation by Hamed and
 * Rao 1998 (J. Hydrology 204, 182–196): memory at one moment is much like that a moment before. Slope: Theil 1950; its
 * interval: Sen 1968. A random walk rises, too, for a while: where what is left without the trend goes on like one, the
 * whole rise must be larger than a walk would make it, by the long-run variance of its steps (Newey and West 1987).
 * And the last third must rise at half the speed of the whole, at least: what fills up and stops does not grow.
 */
#ifndef SONDE_ANALYZE_STATISTICS_GROWTH_H
#define SONDE_ANALYZE_STATISTICS_GROWTH_H

#include <stddef.h>

#define SONDE_GROWTH_MIN 16u /* values */
#define SONDE_GROWTH_MAX 128u

struct sonde_growth {
	int grows;
	double slope, low, high; /* of a step, with its 95 % interval */
	double confidence;       /* that there is a trend: 1 − p, one-sided */
};

/* Values at equal steps of time. Fewer than SONDE_GROWTH_MIN do not grow; of more than SONDE_GROWTH_MAX the last
 * count. */
struct sonde_growth sonde_growth_of(const double *values, size_t count);

#endif
