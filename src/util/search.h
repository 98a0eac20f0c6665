/* search.h: binary search in sorted rows. */
#ifndef SONDE_UTIL_SEARCH_H
#define SONDE_UTIL_SEARCH_H

#include <stddef.h>

/* The first index of [first, end) at which `is_before` does not hold, else `end`. The condition must hold for all
 * indices before that one. The condition is an expression of the index `at`, which the caller names: SONDE_SEARCH(i, 0,
 * count, rows[i].end <= time).
 */
#define SONDE_SEARCH(at, first, end, is_before)                               \
	({                                                                    \
		size_t sonde_low = (first), sonde_high = (end);               \
		while (sonde_low < sonde_high) {                              \
			size_t at = sonde_low + (sonde_high - sonde_low) / 2; \
			if (is_before)                                        \
				sonde_low = at + 1;                           \
			else                                                  \
				sonde_high = at;                              \
		}                                                             \
		sonde_low;                                                    \
	})

#endif
