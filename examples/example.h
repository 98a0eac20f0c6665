/* example.h: shared by the programs of this folder. Each one is run as `NAME slow` (the default: with its defect) or as
 * `NAME fixed`, and prints the same result both ways.
 */
#ifndef SONDE_EXAMPLE_H
#define SONDE_EXAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For a function that must appear by name in reports. */
#define NO_INLINE __attribute__((noinline))

static inline bool is_fixed(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "slow") == 0)
		return false;
	if (strcmp(argv[1], "fixed") == 0)
		return true;
	fprintf(stderr, "usage: %s [slow|fixed]\n", argv[0]);
	exit(2);
}

/* Numbers that are the same in every run: the upper half of Knuth's MMIX generator. */
static inline uint32_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 32);
}

/* Work that cannot be made faster: each round depends on the result of the previous one and takes some ns. */
static inline uint64_t mix(uint64_t value, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9u + i;
	return value;
}

/* Exits with the reason if memory, a file or a thread is not available. */
static inline void must(bool done, const char *what)
{
	if (!done) {
		perror(what);
		exit(1);
	}
}

#endif
