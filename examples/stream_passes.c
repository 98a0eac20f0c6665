/* stream_passes.c: four steps over a signal of 96 MB, each in a separate pass: every pass reads all of it from memory
 * again.
 *
 * sonde: memory-bound: the zone "filter" computes 1 FLOP per 16 bytes, at the memory's bandwidth.
 * Fix: the steps process 16 KB at a time, which stay in the cache from step to step.
 */
#include <sonde/sonde.h>

#include "example.h"

enum { BLOCK = 2048, BLOCKS = 6144, STEPS = 4, ROUNDS = 12 };

static const double factors[STEPS] = {0.5, 4.0, 0.25, 2.0};

NO_INLINE static void step(double *block, double factor)
{
	for (size_t i = 0; i < BLOCK; i++)
		block[i] *= factor;
}

NO_INLINE static void filter_by_passes(double *signal)
{
	for (size_t i = 0; i < STEPS; i++)
		for (size_t k = 0; k < BLOCKS; k++)
			step(signal + k * BLOCK, factors[i]);
}

NO_INLINE static void filter_by_blocks(double *signal)
{
	for (size_t k = 0; k < BLOCKS; k++)
		for (size_t i = 0; i < STEPS; i++)
			step(signal + k * BLOCK, factors[i]);
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	size_t count = (size_t)BLOCKS * BLOCK;
	double *signal = malloc(count * sizeof *signal), sum = 0, moved_b = 2.0 * sizeof *signal * (double)count;
	must(signal, "malloc");
	for (size_t i = 0; i < count; i++)
		signal[i] = (double)(i % 1000);
	for (size_t round = 0; round < ROUNDS; round++) {
		SONDE_ZONE("filter");
		SONDE_ZONE_WORK(STEPS * count, fixed ? moved_b : STEPS * moved_b, count);
		fixed ? filter_by_blocks(signal) : filter_by_passes(signal);
	}
	for (size_t i = 0; i < count; i++)
		sum += signal[i];
	printf("sum %.0f\n", sum);
	free(signal);
	return 0;
}
