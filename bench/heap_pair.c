/* heap_pair.c: a loop that allocates and frees blocks, to be run alone and under a recorder of allocations.
 *
 *	heap_pair PAIRS [DEPTH]   prints the program's own CPU time for a malloc/free pair, in ns
 *
 * Each pair is made DEPTH calls deep (default 10; 0: in the loop itself), by calls that are made anew for each pair, as
 * in programs. The time does not include a recorder in another process; waiting for it is included as far as it costs
 * CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

enum { DEPTH = 10, DEPTH_MAX = 1000, SIZES = 8 };

static const size_t sizes_b[SIZES] = {16, 24, 40, 64, 100, 160, 300, 500};

static void make_pair(unsigned turn)
{
	char *block = malloc(sizes_b[turn % SIZES]);
	if (block)
		*(volatile char *)block = 1;
	free(block);
}

/* The statement behind the call prevents a tail call. */
static __attribute__((noinline)) void go_deeper(unsigned depth, unsigned turn)
{
	if (depth)
		go_deeper(depth - 1, turn);
	else
		make_pair(turn);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	unsigned long pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned depth = argc > 2 ? (unsigned)atoi(argv[2]) : DEPTH;
	if (argc < 2 || argc > 3 || !pairs || depth > DEPTH_MAX) {
		fprintf(stderr, "usage: heap_pair PAIRS [DEPTH]\n");
		return 2;
	}
	uint64_t start_ns = sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned long i = 0; i < pairs; i++)
		go_deeper(depth, (unsigned)i);
	printf("%.2f\n", (double)(sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / (double)pairs);
	return 0;
}
