/* maps.h: the executable mappings of one address space.
 *
 * Reference-counted and copied on write: a forked child shares its parent's maps until one of the two maps something.
 * Every change creates a new generation, whose number is unique among the maps that share a counter, so that caches can
 * be keyed by (generation, address). Not thread-safe.
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
	uint64_t end;              /* end (exclusive) */
	uint64_t offset;           /* offset of `start` in the file */
	struct sonde_image *image; /* borrowed: outlives the maps */
};

/* Creates an empty address space with one reference; NULL if out of memory. */
struct sonde_maps *sonde_maps_new(uint64_t *generations);
struct sonde_maps *sonde_maps_ref(struct sonde_maps *maps);
void sonde_maps_unref(struct sonde_maps *maps); /* NULL is allowed */

/* Adds a mapping, which replaces the parts of older ones that it overlaps. If *maps is shared, it is replaced by a
 * copy. */
int sonde_maps_add(struct sonde_maps **maps, const struct sonde_mapping *map);

/* The mapping that contains `address`, or NULL; valid until the next change. */
const struct sonde_mapping *sonde_maps_find(const struct sonde_maps *maps, uint64_t address);

/* The mapping with this index, in address order; index < sonde_maps_count(). */
const struct sonde_mapping *sonde_maps_at(const struct sonde_maps *maps, size_t number);

uint64_t sonde_maps_generation(const struct sonde_maps *maps);
size_t sonde_maps_count(const struct sonde_maps *maps);

/* One line of /proc/PID/maps. `path` points into the line. */
struct sonde_maps_line {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	int executable;
	const char *path; /* "" if it has none */
};

/* Parses a line, and cuts off its newline. -EBADMSG if it is not a valid line. */
int sonde_maps_parse(char *line, struct sonde_maps_line *out);

#endif
