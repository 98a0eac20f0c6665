/* stats.h: formulas shared by several passes, with their sources. */
#ifndef SONDE_ANALYZE_STATISTICS_STATS_H
#define SONDE_ANALYZE_STATISTICS_STATS_H

#include <stdint.h>

/* Kish's effective size of a weighted sample: (Σw)² ÷ Σw² (Kish, Survey Sampling, 1965). 0 if it is empty. */
double sonde_stats_effective_n(double sum, double sum_of_squares);

/* Half width of the 95 % interval of a proportion seen in n samples: the larger distance from the proportion to the
 * bounds of Wilson's score interval (Wilson 1927), so that share ± half covers it, even near 0 and 1 and for few
 * samples, where the textbook formula 1.96·√(p(1−p)/n) would give 0. 0 if n is 0: unknown. */
double sonde_stats_share_half(double share, double n);

/* Mean and variance in one pass, mergeable: Welford 1962; Chan, Golub and LeVeque 1979. */
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

/* The minimum number of values for a quantile q to differ from the maximum: a fraction 1 − q of the values must lie
 * above it. */
uint64_t sonde_stats_quantile_needs(double quantile);

/* part ÷ whole, or 0 if whole is 0. */
static inline double sonde_stats_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

#endif
