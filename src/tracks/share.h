/* share.h: decides which of many slices of a track remain separate: those that are at least as long as a limit. The
 * limit, in ns, is the lowest power of two that leaves at most 50,000 slices. Shorter slices are merged with their
 * neighbours, up to a time grid that yields as many more.
 */
#ifndef SONDE_TRACKS_SHARE_H
#define SONDE_TRACKS_SHARE_H

#include <stdint.h>

#define SONDE_TRACK_LONG_MAX 50000u

struct sonde_track_share {
	uint64_t hits[64];          /* by log2 of the duration */
	uint64_t lives_ns;          /* total of all tracks; set by the caller */
	uint64_t least_ns, grid_ns; /* slices shorter than least_ns are merged (0 = none), up to a length of grid_ns */
};

static inline void sonde_track_share_count(struct sonde_track_share *share, uint64_t ns)
{
	share->hits[ns ? 63 - __builtin_clzll(ns) : 0]++;
}

/* Call after all are counted. */
static inline void sonde_track_share_choose(struct sonde_track_share *share)
{
	uint64_t slices = 0;
	int power = 64;
	while (power > 0 && slices + share->hits[power - 1] <= SONDE_TRACK_LONG_MAX)
		slices += share->hits[--power];
	share->least_ns = power ? UINT64_C(1) << (power < 63 ? power : 63) : 0;
	share->grid_ns = share->lives_ns / SONDE_TRACK_LONG_MAX + 1;
}

#endif
