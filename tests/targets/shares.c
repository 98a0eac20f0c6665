/* shares.c: shares ALPHA BETA ITERATIONS: iterations of this many units of work in alpha and in beta, each marked. */
#include <stdlib.h>

#include <sonde/sonde.h>

#include "burn.h"

/* Not burn(), which would be an inlined function with the time of both. */
#define WORK(units, start)                                                   \
	do {                                                                 \
		uint64_t x = (start);                                        \
		for (long i = 0; i < (units)*BURN_UNIT; i++) {               \
			x = x * 6364136223846793005u + 1442695040888963407u; \
			__asm__ volatile("" : "+r"(x));                      \
		}                                                            \
	} while (0)

__attribute__((noinline)) void alpha(long units)
{
	WORK(units, 1);
}

__attribute__((noinline)) void beta(long units)
{
	WORK(units, 2); /* another start: else the compiler makes one function of both */
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 125;
	for (long left = atol(argv[3]); left > 0; left--) {
		alpha(atol(argv[1]));
		beta(atol(argv[2]));
		sonde_iteration("turn", 1);
	}
	return 0;
}
