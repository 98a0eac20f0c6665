/* tiny_zones.c: a zone in the innermost function, which takes a few ns: most of the time is profiling overhead.
 *
 * sonde: profiler-cost: recording the zone "next_letter" takes longer than the code that the zone measures.
 * Fix: the zone is around the line of letters.
 */
#include <sonde/sonde.h>

#include "example.h"

enum { LINES = 200000, LETTERS = 80 };

static inline uint32_t next_letter(uint32_t sum, uint64_t *random)
{
	return sum * 31 + 'a' + next_number(random) % 26;
}

NO_INLINE static uint32_t line(uint32_t sum, uint64_t *random)
{
	for (int i = 0; i < LETTERS; i++) {
		SONDE_ZONE("next_letter");
		sum = next_letter(sum, random);
	}
	return sum;
}

NO_INLINE static uint32_t line_fixed(uint32_t sum, uint64_t *random)
{
	SONDE_ZONE("line");
	for (int i = 0; i < LETTERS; i++)
		sum = next_letter(sum, random);
	return sum;
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	uint64_t random = 7;
	uint32_t sum = 0;
	for (int i = 0; i < LINES; i++)
		sum = fixed ? line_fixed(sum, &random) : line(sum, &random);
	printf("sum %08x\n", sum);
	return 0;
}
