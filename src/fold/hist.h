/* hist.h: a log-linear histogram of 64-bit values (like HdrHistogram's, with 7 sub-bucket bits).
 *
 * Values below 128 are exact; above, each octave has 128 buckets, so a bucket's midpoint is within 1/256 = 0.39 % of
 * every value in it. Histograms merge by addition. The caller owns the buckets.
 */
#ifndef SONDE_FOLD_HIST_H
#define SONDE_FOLD_HIST_H

#include <stdint.h>

#define SONDE_HIST_BITS 7
#define SONDE_HIST_SUB (1u << SONDE_HIST_BITS)
#define SONDE_HIST_BUCKETS ((64u - SONDE_HIST_BITS + 1u) * SONDE_HIST_SUB)

static inline uint32_t sonde_hist_bucket(uint64_t value)
{
	if (value < SONDE_HIST_SUB)
		return (uint32_t)value;
	uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - SONDE_HIST_BITS;
	return ((shift + 1u) << SONDE_HIST_BITS) + (uint32_t)(value >> shift) - SONDE_HIST_SUB;
}

/* The lowest value of a bucket, and the number of distinct values in it. */
static inline uint64_t sonde_hist_low(uint32_t bucket)
{
	if (bucket < SONDE_HIST_SUB)
		return bucket;
	uint32_t shift = (bucket >> SONDE_HIST_BITS) - 1u;
	return (uint64_t)(SONDE_HIST_SUB + (bucket & (SONDE_HIST_SUB - 1u))) << shift;
}

static inline uint64_t sonde_hist_width(uint32_t bucket)
{
	return bucket < SONDE_HIST_SUB ? 1 : (uint64_t)1 << ((bucket >> SONDE_HIST_BITS) - 1u);
}

/* A bucket's representative value: its midpoint. */
static inline uint64_t sonde_hist_value(uint32_t bucket)
{
	return sonde_hist_low(bucket) + sonde_hist_width(bucket) / 2;
}

/* The smallest value that at least quantile × count of the recorded values do not exceed (nearest rank), clamped to
 * [min, max]; 0 if count is 0. */
uint64_t sonde_hist_quantile(const uint64_t *hits, uint64_t count, uint64_t min, uint64_t max, double quantile);

#endif
