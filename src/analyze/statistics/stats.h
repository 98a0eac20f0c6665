/* stats.h: the few formulas that several passes use, with their sources. */
#ifndef SONDE_ANALYZE_STATISTICS_STATS_H
#define SONDE_ANALYZE_STATISTICS_STATS_H

#include <stdint.h>

/* Kish's effective size of a weighted sample: (Σw)² ÷ Σw² (Kish, Survey Sampling, 1965). 0 when there is none. */
double sonde_stats_effective_n(double sum, double sum_of_squares);

/* Half width of a 95 % interval of a share seen in n samples: the larger of the two distances from the share to the
 * bounds of Wilson's score interval (Wilson 1927), so that share ± half covers it, also near 0 and 1 and for few
 * samples, where the textbook formula 1.96·√(p(1−p)/n) would give 0. 0 when n is 0: not known. */
double sonde_stats_share_half(double share, double n);

/* Mean and variance in one pass, and merged: Welford 1962; Chan, Golub and LeVeque 1979. */
struct sonde_moments {
	uint64_t count;
	double mean;
	double m2; /* Σ (x − mean)² */
};

static inline void sonde_moments_add(struct sonde_moments *moments, double x)
{
	double delta = x - moments->mean;
	moments->count++;
	moments->mean += delta / (double)moments->count;
	moments->m2 += delta * (x - moments->mean);
}

void sonde_moments_merge(struct sonde_moments *moments, const struct sonde_moments *other);

/* Sample standard deviation, √(Σ(x − mean)² ÷ (n − 1)); 0 for fewer than two values. */
double sonde_moments_std(const struct sonde_moments *moments);

/* The fewest values of which a quantile is more than the maximum in disguise: one in (1 − q) lies above it. */
uint64_t sonde_stats_quantile_needs(double quantile);

/* part ÷ whole, 0 when whole is 0. */
static inline double sonde_stats_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

#endif
