/* ranges.h: sorted, non-overlapping address ranges: the mappings of a program. One thread. */
#ifndef SONDE_SOURCE_HEAP_RANGES_H
#define SONDE_SOURCE_HEAP_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_HEAP_RANGES_MAX (1u << 18) /* four times Linux's limit for a process */

struct sonde_heap_piece {
	uint64_t start, end; /* [start, end) */
	uint32_t site;       /* 0 = reserved, no memory yet. Adjacent reserved pieces are joined. */
};

/* Zeroed = empty. */
struct sonde_heap_ranges {
	struct sonde_heap_piece *pieces;
	size_t count, cap;
};

/* The part taken out of a piece; the remainders on both sides are still there. */
struct sonde_heap_cut {
	struct sonde_heap_piece whole; /* the piece before the cut */
	uint64_t start, end;
};

void sonde_heap_ranges_fini(struct sonde_heap_ranges *ranges);

/* Adds a piece, whose range must be free. -ENOMEM; -E2BIG if there are already SONDE_HEAP_RANGES_MAX pieces. */
int sonde_heap_ranges_put(struct sonde_heap_ranges *ranges, const struct sonde_heap_piece *piece);

/* Finds the lowest piece that overlaps [start, end), and removes the overlap: returns 1, or 0 if no piece overlaps. If
 * there is no capacity for the remainders on both sides, the whole piece is removed. */
int sonde_heap_ranges_cut(struct sonde_heap_ranges *ranges, uint64_t start, uint64_t end, struct sonde_heap_cut *out);

/* The lowest piece that overlaps [start, end), or NULL. Valid until the next put or cut. */
const struct sonde_heap_piece *sonde_heap_ranges_find(const struct sonde_heap_ranges *ranges, uint64_t start,
						      uint64_t end);

#endif
