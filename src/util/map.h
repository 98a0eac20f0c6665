/* map.h: a hash index over rows that the caller stores in its own array.
 *
 * Maps a 64-bit hash to a non-zero 32-bit value (a row id). The caller's `same` callback resolves collisions. Open
 * addressing, at most half full. Not thread-safe. A zeroed struct is an empty map.
 */
#ifndef SONDE_UTIL_MAP_H
#define SONDE_UTIL_MAP_H

#include <stddef.h>
#include <stdint.h>

struct sonde_map_slot {
	uint64_t hash;
	uint32_t value; /* 0 = free */
};

struct sonde_map {
	struct sonde_map_slot *slots;
	size_t cap; /* a power of two, or 0 */
	size_t count;
};

typedef int (*sonde_map_same)(const void *context, uint32_t value);

/* The value with this hash for which same() returns true (the first one if `same` is NULL), or 0. */
uint32_t sonde_map_find(const struct sonde_map *map, uint64_t hash, sonde_map_same same, const void *context);

/* Adds an entry without checking for duplicates; -ENOMEM. */
int sonde_map_add(struct sonde_map *map, uint64_t hash, uint32_t value);

/* Sets the only value with this hash, replacing an existing one. */
int sonde_map_set(struct sonde_map *map, uint64_t hash, uint32_t value);

void sonde_map_fini(struct sonde_map *map);

#endif
