/* ranges.h: ranges of addresses that do not overlap, sorted: what a program has mapped. One thread. */
#ifndef SONDE_SOURCE_HEAP_RANGES_H
#define SONDE_SOURCE_HEAP_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_HEAP_RANGES_MAX (1u << 18) /* four times what Linux allows a process */

struct sonde_heap_piece {
	uint64_t start, end; /* [start, end) */
	uint32_t site;       /* 0 = reserved: no memory yet. Reserved pieces that touch become one. */
};

/* Zeroed: none. */
struct sonde_heap_ranges {
	struct sonde_heap_piece *pieces;
	size_t count, cap;
};

/* What was taken out of a piece; what is left of it, on both sides, is still there. */
struct sonde_heap_cut {
	struct sonde_heap_piece whole; /* as it was */
	uint64_t start, end;
};

void sonde_heap_ranges_fini(struct sonde_heap_ranges *ranges);

/* Nothing of it is there yet. -ENOMEM; -E2BIG: there are SONDE_HEAP_RANGES_MAX. */
int sonde_heap_ranges_put(struct sonde_heap_ranges *ranges, const struct sonde_heap_piece *piece);

/* Takes away what the lowest piece there has of [start, end): 1, or 0 when nothing is there. Where there is no room for
 * what is left on both sides, the whole piece goes. */
int sonde_heap_ranges_cut(struct sonde_heap_ranges *ranges, uint64_t start, uint64_t end, struct sonde_heap_cut *out);

/* The lowest piece that has a part of [start, end), or NULL. Valid until the next call that puts or cuts. */
const struct sonde_heap_piece *sonde_heap_ranges_find(const struct sonde_heap_ranges *ranges, uint64_t start,
						      uint64_t end);

#endif
