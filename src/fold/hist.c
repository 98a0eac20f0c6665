/* hist.c: quantiles of a log-linear histogram.
 *
 * Uses the nearest rank over the buckets, so the answer is within half a bucket of a recorded value.
 */
#include "fold/hist.h"

static uint64_t hist_rank(uint64_t count, double quantile)
{
	if (!(quantile > 0))
		return 1;
	if (quantile >= 1)
		return count;
	double exact = quantile * (double)count;
	uint64_t rank = (uint64_t)exact;
	if ((double)rank < exact)
		rank++;
	if (rank < 1)
		return 1;
	return rank > count ? count : rank;
}

uint64_t sonde_hist_quantile(const uint64_t *hits, uint64_t count, uint64_t min, uint64_t max, double quantile)
{
	if (!count)
		return 0;
	uint64_t rank = hist_rank(count, quantile);
	if (rank == count)
		return max;
	if (rank == 1)
		return min;
	uint64_t seen = 0;
	for (uint32_t bucket = 0; bucket < SONDE_HIST_BUCKETS; bucket++) {
		seen += hits[bucket];
		if (seen < rank)
			continue;
		uint64_t value = sonde_hist_value(bucket);
		if (value < min)
			return min;
		return value > max ? max : value;
	}
	return max;
}
