/* pair_histogram.c: pseudo-random values of 1 ns to 1 s, and the same values recorded into a histogram. */
#include <sonde/sonde.h>

#include "pair.h"

static inline uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 34) >> (*state >> 59 & 31);
}

static void run_values(uint64_t count)
{
	uint64_t state = 1;
	for (uint64_t i = 0; i < count; i++)
		pair_use(next(&state));
}

static void run_histogram(uint64_t count)
{
	uint64_t state = 1;
	for (uint64_t i = 0; i < count; i++)
		SONDE_HISTOGRAM("values", next(&state));
}

const struct pair_loop pair_values = {"values", run_values, 0};
const struct pair_loop pair_histogram = {"histogram", run_histogram, &pair_values};
