/* rounds.c: a program with a known amount of work: `rounds N` makes N dependent multiplications and additions. */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint64_t x = 1;
	for (long left = argc > 1 ? atol(argv[1]) : 0; left > 0; left--) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return 0;
}
