/* arena.h: allocations with one common lifetime, freed all at once. Not thread-safe. */
#ifndef SONDE_UTIL_ARENA_H
#define SONDE_UTIL_ARENA_H

#include <stddef.h>

struct sonde_arena_block;

struct sonde_arena {
	struct sonde_arena_block *last;
	size_t used_b; /* bytes used in the newest block */
	size_t total_b;
};

/* Optional: a zeroed arena is valid too. */
void sonde_arena_init(struct sonde_arena *arena);
void sonde_arena_fini(struct sonde_arena *arena);

/* Zeroed memory aligned to 16; NULL when out of memory. Lives until sonde_arena_fini(). */
void *sonde_arena_alloc(struct sonde_arena *arena, size_t size_b);

/* A NUL-terminated copy of the first len_b bytes; NULL when out of memory. */
char *sonde_arena_strndup(struct sonde_arena *arena, const char *text, size_t len_b);
char *sonde_arena_printf(struct sonde_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
