/* heap_steps.c: allocations of which every prefix is known.
 *
 *	heap_steps COUNT [AT FILE]
 *	heap_steps pairs COUNT
 *
 * Step i frees what an earlier step has put into one of 1000 slots and allocates 1 to 5000 bytes there. The slot and
 * the size follow from x(i + 1) = 69069 x(i) + 1 modulo 2^32, x(0) = 1: place x >> 20 modulo 1000, 1 + (x >> 16) modulo
 * 5000 bytes. Before step AT it creates FILE and waits until nobody has it any more. Prints "done", exits with 5.
 *
 * Pair i allocates 16 × (1 + i modulo 8) bytes and frees them.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "no_inline.h"

#define PLACES 1000

static void *places[PLACES];

NO_INLINE void steps(uint32_t x)
{
	void **place = &places[(x >> 20) % PLACES];
	free(*place);
	*place = malloc(1 + (x >> 16) % 5000);
	if (!*place)
		abort();
}

static void wait_for(const char *file)
{
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	while (!access(file, F_OK))
		usleep(1000);
}

NO_INLINE void pairs(uint64_t i)
{
	void *volatile block = malloc(16 * (1 + i % 8));
	free(block);
}

static int do_pairs(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		pairs(i);
	puts("done");
	return 5;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "pairs"))
		return do_pairs(strtoull(argv[2], NULL, 10));
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t halt = argc > 3 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
	uint32_t x = 1;
	if (!count)
		return 2;
	for (uint64_t i = 0; i < count; i++) {
		if (i == halt)
			wait_for(argv[3]);
		steps(x);
		x = x * 69069u + 1;
	}
	puts("done");
	return 5;
}
