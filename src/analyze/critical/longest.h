/* longest.h: the longest steps of a critical path, in time order. */
#ifndef SONDE_ANALYZE_CRITICAL_LONGEST_H
#define SONDE_ANALYZE_CRITICAL_LONGEST_H

#include "analyze/critical/critical.h"

struct sonde_critical_longest {
	const struct sonde_critical_path *path;
	size_t count;      /* steps that next() returns in all */
	uint64_t least_ns; /* length of the shortest of them */
	size_t ties;       /* steps of exactly that length that are still to be returned */
	size_t at;
};

/* Selects the `limit` longest steps (limit > 0), the earlier ones among those of equal length. Needs no freeing, and is
 * valid as long as the path. -ENOMEM. */
int sonde_critical_longest_find(struct sonde_critical_longest *out, const struct sonde_critical_path *path,
				size_t limit);

/* Index of the next step; path->count at the end. */
size_t sonde_critical_longest_next(struct sonde_critical_longest *longest);

#endif
