/* maps.c: the executable mappings of one address space.
 *
 * A sorted array without overlaps: programs have tens of executable mappings, and lookups are thousands of times more
 * frequent than changes, so a tree would only be slower. The kernel does not report munmap: so mappings that have been
 * unmapped stay in the array. They do no harm: newer mappings replace them, and an address at which no code runs any
 * more is never looked up.
 */
#include "source/stack/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

struct sonde_maps {
	uint32_t refs;
	uint32_t count;
	size_t capacity;
	uint64_t *generations; /* the counter */
	uint64_t generation;
	struct sonde_mapping *entries;
};

struct sonde_maps *sonde_maps_new(uint64_t *generations)
{
	struct sonde_maps *maps = calloc(1, sizeof *maps);
	if (!maps)
		return NULL;
	maps->refs = 1;
	maps->generations = generations;
	maps->generation = ++*generations;
	return maps;
}

struct sonde_maps *sonde_maps_ref(struct sonde_maps *maps)
{
	maps->refs++;
	return maps;
}

void sonde_maps_unref(struct sonde_maps *maps)
{
	if (!maps || --maps->refs > 0)
		return;
	free(maps->entries);
	free(maps);
}

/* Index of the first mapping that ends after `address`. */
static uint32_t first_behind(const struct sonde_maps *maps, uint64_t address)
{
	return (uint32_t)SONDE_SEARCH(i, 0, maps->count, maps->entries[i].end <= address);
}

static int reserve(struct sonde_maps *maps, uint32_t more)
{
	if (maps->count + more > SONDE_MAPS_MAX)
		return sonde_error(ENOSPC, "a process has more than %d executable mappings", SONDE_MAPS_MAX);
	if (SONDE_ARRAY_RESERVE(maps->entries, maps->capacity, maps->count + more))
		return sonde_error(ENOMEM, "out of memory for %u mappings", maps->count + more);
	return 0;
}

/* Gives *maps a copy of its own if it is shared. */
static int detach(struct sonde_maps **maps)
{
	struct sonde_maps *shared = *maps;
	if (shared->refs == 1)
		return 0;
	struct sonde_maps *own = sonde_maps_new(shared->generations);
	if (!own)
		return sonde_error(ENOMEM, "out of memory for an address space");
	if (shared->count) {
		own->entries = malloc(shared->capacity * sizeof *own->entries);
		if (!own->entries) {
			sonde_maps_unref(own);
			return sonde_error(ENOMEM, "out of memory for %u mappings", shared->count);
		}
		memcpy(own->entries, shared->entries, shared->count * sizeof *own->entries);
		own->count = shared->count;
		own->capacity = shared->capacity;
	}
	sonde_maps_unref(shared);
	*maps = own;
	return 0;
}

/* Replaces `gone` entries at index `at` by the `count` entries of `fresh`. Capacity must be reserved. */
static void splice(struct sonde_maps *maps, uint32_t at, uint32_t gone, const struct sonde_mapping *fresh,
		   uint32_t count)
{
	struct sonde_mapping *place = maps->entries + at;
	memmove(place + count, place + gone, (maps->count - at - gone) * sizeof *place);
	memcpy(place, fresh, count * sizeof *place);
	maps->count = maps->count - gone + count;
}

int sonde_maps_add(struct sonde_maps **maps, const struct sonde_mapping *map)
{
	if (map->start >= map->end)
		return sonde_error(EINVAL, "a mapping ends at or before its start 0x%llx",
				   (unsigned long long)map->start);
	int result = detach(maps);
	if (result == 0)
		result = reserve(*maps, 2);
	if (result < 0)
		return result;

	struct sonde_maps *own = *maps;
	uint32_t first = first_behind(own, map->start), last = first;
	while (last < own->count && own->entries[last].start < map->end)
		last++;

	struct sonde_mapping fresh[3];
	uint32_t count = 0;
	if (first < last && own->entries[first].start < map->start) {
		fresh[count] = own->entries[first];
		fresh[count++].end = map->start;
	}
	fresh[count++] = *map;
	if (first < last && own->entries[last - 1].end > map->end) {
		struct sonde_mapping tail = own->entries[last - 1];
		tail.offset += map->end - tail.start;
		tail.start = map->end;
		fresh[count++] = tail;
	}
	splice(own, first, last - first, fresh, count);
	own->generation = ++*own->generations;
	return 0;
}

const struct sonde_mapping *sonde_maps_find(const struct sonde_maps *maps, uint64_t address)
{
	uint32_t at = first_behind(maps, address);
	if (at == maps->count || maps->entries[at].start > address)
		return NULL;
	return &maps->entries[at];
}

const struct sonde_mapping *sonde_maps_at(const struct sonde_maps *maps, size_t number)
{
	return &maps->entries[number];
}

uint64_t sonde_maps_generation(const struct sonde_maps *maps)
{
	return maps->generation;
}

size_t sonde_maps_count(const struct sonde_maps *maps)
{
	return maps->count;
}

/* Parses a number in `base` that is followed by `stop`, and moves *at past it. */
static int field(char **at, int base, char stop, uint64_t *out)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(*at, &end, base);
	if (end == *at || errno || *end != stop)
		return -EBADMSG;
	*out = value;
	*at = end + 1;
	return 0;
}

int sonde_maps_parse(char *line, struct sonde_maps_line *out)
{
	struct sonde_maps_line parsed = {.path = ""};
	uint64_t major, minor;
	char *at = line;
	line[strcspn(line, "\n")] = '\0';
	if (field(&at, 16, '-', &parsed.start) || field(&at, 16, ' ', &parsed.end) || strnlen(at, 5) < 5 ||
	    at[4] != ' ')
		return sonde_error(EBADMSG, "not a line of /proc/PID/maps: \"%.60s\"", line);
	parsed.executable = at[2] == 'x';
	at += 5;
	if (field(&at, 16, ' ', &parsed.offset) || field(&at, 16, ':', &major) || field(&at, 16, ' ', &minor))
		return sonde_error(EBADMSG, "not a line of /proc/PID/maps: \"%.60s\"", line);
	char *end;
	parsed.inode = strtoull(at, &end, 10);
	if (end == at || parsed.start >= parsed.end)
		return sonde_error(EBADMSG, "not a line of /proc/PID/maps: \"%.60s\"", line);
	parsed.path = end + strspn(end, " ");
	parsed.major = (uint32_t)major;
	parsed.minor = (uint32_t)minor;
	*out = parsed;
	return 0;
}
