/* heap_worth.h: the statistical weight of a sampled block. */
#ifndef SONDE_FOLD_HEAP_WORTH_H
#define SONDE_FOLD_HEAP_WORTH_H

#include <math.h>
#include <stdint.h>

struct sonde_heap_worth {
	uint64_t blocks, size_b;
	double variance; /* variance of size_b, in B² */
};

/* Horvitz and Thompson 1952: a block sampled with probability p counts 1 / p times, with variance size² (1 − p) / p².
 * `mean_b` is the mean distance between samples: p = 1 − e^(−size / mean); 0 = every block is recorded. */
static inline struct sonde_heap_worth sonde_heap_worth(uint64_t size_b, uint64_t mean_b)
{
	if (!mean_b)
		return (struct sonde_heap_worth){1, size_b, 0};
	double size = (double)size_b, seen = -expm1(-(size_b ? size : 1) / (double)mean_b);
	return (struct sonde_heap_worth){(uint64_t)(1 / seen + 0.5), (uint64_t)(size / seen + 0.5),
					 size * size * (1 - seen) / (seen * seen)};
}

#endif
