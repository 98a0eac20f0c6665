/* map.c: linear probing from the low bits of the hash, which must be well mixed (base/hash.h). */
#include "util/map.h"

#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

uint32_t sonde_map_find(const struct sonde_map *map, uint64_t hash, sonde_map_same same, const void *context)
{
	if (!map->cap)
		return 0;
	size_t mask = map->cap - 1;
	for (size_t at = hash & mask; map->slots[at].value; at = (at + 1) & mask) {
		const struct sonde_map_slot *slot = &map->slots[at];
		if (slot->hash == hash && (!same || same(context, slot->value)))
			return slot->value;
	}
	return 0;
}

static void place(struct sonde_map_slot *slots, size_t cap, struct sonde_map_slot slot)
{
	size_t at = slot.hash & (cap - 1);
	while (slots[at].value)
		at = (at + 1) & (cap - 1);
	slots[at] = slot;
}

static int grow(struct sonde_map *map)
{
	size_t cap = map->cap ? map->cap * 2 : 64;
	struct sonde_map_slot *slots = calloc(cap, sizeof *slots);
	if (!slots)
		return sonde_error(ENOMEM, "out of memory for an index of %zu slots", cap);
	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].value)
			place(slots, cap, map->slots[i]);
	free(map->slots);
	map->slots = slots;
	map->cap = cap;
	return 0;
}

int sonde_map_add(struct sonde_map *map, uint64_t hash, uint32_t value)
{
	if (map->count * 2 >= map->cap) {
		int rc = grow(map);
		if (rc)
			return rc;
	}
	place(map->slots, map->cap, (struct sonde_map_slot){hash, value});
	map->count++;
	return 0;
}

int sonde_map_set(struct sonde_map *map, uint64_t hash, uint32_t value)
{
	size_t mask = map->cap - 1;
	for (size_t at = hash & mask; map->cap && map->slots[at].value; at = (at + 1) & mask) {
		if (map->slots[at].hash == hash) {
			map->slots[at].value = value;
			return 0;
		}
	}
	return sonde_map_add(map, hash, value);
}

void sonde_map_fini(struct sonde_map *map)
{
	free(map->slots);
	*map = (struct sonde_map){0};
}
