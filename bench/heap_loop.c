/* heap_loop.c: allocates and frees, ten frames deep.
 *
 *	heap-loop PAIRS [LIVE]
 *
 * Each pair is a malloc and a free of 16 to 128 bytes, called through ten functions that do nothing else. Without LIVE,
 * the block that was allocated is freed. With LIVE, LIVE blocks are alive, and a random one of them is freed and
 * replaced.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NO_INLINE __attribute__((noinline, noclone, noipa))

static void **blocks;
static size_t live;

/* xorshift64 (Marsaglia 2003) */
static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252u;
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

NO_INLINE void leaf(uint64_t i)
{
	size_t size_b = 16 + (i & 7) * 16;
	if (!live) {
		void *volatile block = malloc(size_b);
		free(block);
		return;
	}
	void **place = &blocks[next_random() % live];
	free(*place);
	*place = malloc(size_b);
}

NO_INLINE void deep(unsigned frames, uint64_t i)
{
	if (frames > 1)
		deep(frames - 1, i);
	else
		leaf(i);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame stays */
}

int main(int argc, char **argv)
{
	uint64_t pairs = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	live = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	blocks = calloc(live + 1, sizeof *blocks);
	if (!pairs || !blocks) {
		fprintf(stderr, "usage: heap-loop PAIRS [LIVE]\n");
		return 2;
	}
	for (uint64_t i = 0; i < pairs; i++)
		deep(9, i);
	return 0;
}
