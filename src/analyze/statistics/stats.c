/* stats.c: formulas shared by several passes. */
#include "analyze/statistics/stats.h"

#include <math.h>

#define Z95 1.959963984540054 /* the normal distribution's 97.5 % point */

double sonde_stats_effective_n(double sum, double sum_of_squares)
{
	return sum_of_squares > 0 ? sum * sum / sum_of_squares : 0;
}

double sonde_stats_share_half(double share, double n)
{
	if (n <= 0)
		return 0;
	double scale = 1 + Z95 * Z95 / n;
	double center = (share + Z95 * Z95 / (2 * n)) / scale;
	double half = Z95 * sqrt(share * (1 - share) / n + Z95 * Z95 / (4 * n * n)) / scale;
	return half + fabs(center - share);
}

void sonde_moments_merge(struct sonde_moments *moments, const struct sonde_moments *other)
{
	uint64_t count = moments->count + other->count;
	if (other->count == 0)
		return;
	double delta = other->mean - moments->mean, part = (double)other->count / (double)count;
	moments->m2 += other->m2 + delta * delta * (double)moments->count * part;
	moments->mean += delta * part;
	moments->count = count;
}

double sonde_moments_std(const struct sonde_moments *moments)
{
	return moments->count > 1 ? sqrt(moments->m2 / (double)(moments->count - 1)) : 0;
}

uint64_t sonde_stats_quantile_needs(double quantile)
{
	return (uint64_t)llround(1 / (1 - quantile));
}
