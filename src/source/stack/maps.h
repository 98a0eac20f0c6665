/* maps.h: the executable mappings of one address space.
 *
 * Counted by reference and copied on write: a forked child shares its parent's until one of the two maps something.
 * Every change gives a new generation, unique among the maps of one counter, so that caches may be keyed by
 * (generation, address). Not thread-safe.
 */
#ifndef SONDE_SOURCE_STACK_MAPS_H
#define SONDE_SOURCE_STACK_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct sonde_image;
struct sonde_maps;

#define SONDE_MAPS_MAX 65536 /* mappings of one address space */

struct sonde_mapping {
	uint64_t start;            /* first address */
	uint64_t end;              /* first address behind it */
	uint64_t offset;           /* of `start` in the file */
	struct sonde_image *image; /* borrowed: lives longer than the maps */
};

/* An empty address space, one reference; NULL when out of memory. */
struct sonde_maps *sonde_maps_new(uint64_t *generations);
struct sonde_maps *sonde_maps_ref(struct sonde_maps *maps);
void sonde_maps_unref(struct sonde_maps *maps); /* NULL is fine */

/* Adds a mapping and cuts away what it covers of older ones. *maps is replaced by a copy where others share it. */
int sonde_maps_add(struct sonde_maps **maps, const struct sonde_mapping *map);

/* The mapping that holds `address`, or NULL; valid until the next change. */
const struct sonde_mapping *sonde_maps_find(const struct sonde_maps *maps, uint64_t address);

/* The mapping of that number, lowest first, below sonde_maps_count(). */
const struct sonde_mapping *sonde_maps_at(const struct sonde_maps *maps, size_t number);

uint64_t sonde_maps_generation(const struct sonde_maps *maps);
size_t sonde_maps_count(const struct sonde_maps *maps);

/* One line of /proc/PID/maps. `path` points into the line. */
struct sonde_maps_line {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	int executable;
	const char *path; /* "" when it has none */
};

/* Cuts the newline off `line`. -EBADMSG for what is not such a line. */
int sonde_maps_parse(char *line, struct sonde_maps_line *out);

#endif
