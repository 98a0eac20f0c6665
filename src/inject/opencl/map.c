/* map.c: hash tables of handles, of fixed size.
 *
 * Open addressing, at most three quarters full. Removal leaves no tombstone: later entries move up (Knuth, TAOCP 3, 6.4
 * R), so that a program that creates and releases for hours does not slow it down.
 */
#include <string.h>

#include "base/hash.h"
#include "inject/opencl/opencl.h"

static uint32_t home(const struct opencl_map *map, const void *key)
{
	return (uint32_t)sonde_hash_mix((uint64_t)(uintptr_t)key) & (map->size - 1);
}

/* The slot of the key, or the empty slot where it belongs. */
static uint32_t place(const struct opencl_map *map, const void *key)
{
	uint32_t at = home(map, key);
	while (map->slots[at].key && map->slots[at].key != key)
		at = (at + 1) & (map->size - 1);
	return at;
}

struct opencl_slot *opencl_map_find(const struct opencl_map *map, const void *key)
{
	struct opencl_slot *slot = key ? &map->slots[place(map, key)] : NULL;
	return slot && slot->key ? slot : NULL;
}

struct opencl_slot *opencl_map_put(struct opencl_map *map, const void *key)
{
	if (!key)
		return NULL;
	struct opencl_slot *slot = &map->slots[place(map, key)];
	if (!slot->key && map->count >= map->size - map->size / 4)
		return NULL;
	map->count += !slot->key;
	*slot = (struct opencl_slot){.key = key};
	return slot;
}

void opencl_map_remove(struct opencl_map *map, const void *key)
{
	uint32_t hole = key ? place(map, key) : 0, mask = map->size - 1;
	if (!key || !map->slots[hole].key)
		return;
	for (uint32_t at = (hole + 1) & mask; map->slots[at].key; at = (at + 1) & mask) {
		uint32_t from = home(map, map->slots[at].key);
		if (((at - from) & mask) < ((at - hole) & mask))
			continue; /* it would come before its home */
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	memset(&map->slots[hole], 0, sizeof(map->slots[hole]));
	map->count--;
}
