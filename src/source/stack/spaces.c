/* spaces.c: the address spaces of the followed processes.
 *
 * An array of rows and, for each pid, the last row that the pid had. A row is reused after its process has exited; an
 * index entry that still points to a reused row is detected because that row has another pid.
 */
#include "source/stack/spaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/hash.h"
#include "source/stack/hotspot.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

#define REREAD_NS 100000000u

struct sonde_spaces {
	struct sonde_images *images;
	struct sonde_space **rows; /* by id − 1 */
	uint32_t *free_ids;
	uint32_t count, free_count;
	size_t cap, free_cap;
	uint64_t generations; /* counter shared by all maps */
	struct sonde_map by_pid;
};

int sonde_spaces_new(struct sonde_spaces **out, struct sonde_images *images)
{
	struct sonde_spaces *spaces = calloc(1, sizeof *spaces);
	if (!spaces)
		return sonde_error(ENOMEM, "out of memory for the table of processes");
	spaces->images = images;
	*out = spaces;
	return 0;
}

void sonde_spaces_free(struct sonde_spaces *spaces)
{
	if (!spaces)
		return;
	for (uint32_t i = 0; i < spaces->count; i++) {
		sonde_maps_unref(spaces->rows[i]->maps);
		sonde_hotspot_free(spaces->rows[i]->hotspot);
		free(spaces->rows[i]);
	}
	free(spaces->rows);
	free(spaces->free_ids);
	sonde_map_fini(&spaces->by_pid);
	free(spaces);
}

static uint64_t key(pid_t pid)
{
	return sonde_hash_mix((uint64_t)pid + 1);
}

static uint32_t find(const struct sonde_spaces *spaces, pid_t pid)
{
	uint32_t id = sonde_map_find(&spaces->by_pid, key(pid), NULL, NULL);
	return id && spaces->rows[id - 1]->pid == pid ? id : 0;
}

/* Returns an unused row, or 0 if out of memory. */
static uint32_t take_row(struct sonde_spaces *spaces)
{
	if (spaces->free_count)
		return spaces->free_ids[--spaces->free_count];
	if (SONDE_ARRAY_RESERVE(spaces->rows, spaces->cap, spaces->count + 1) ||
	    SONDE_ARRAY_RESERVE(spaces->free_ids, spaces->free_cap, spaces->cap))
		return 0;
	struct sonde_space *row = calloc(1, sizeof *row);
	if (!row)
		return 0;
	spaces->rows[spaces->count] = row;
	return ++spaces->count;
}

static void drop(struct sonde_spaces *spaces, uint32_t id)
{
	struct sonde_space *space = spaces->rows[id - 1];
	sonde_maps_unref(space->maps);
	sonde_hotspot_free(space->hotspot);
	*space = (struct sonde_space){0};
	spaces->free_ids[spaces->free_count++] = id;
}

/* Adds a row for `pid`, which takes over one reference to `maps`. */
static struct sonde_space *add(struct sonde_spaces *spaces, pid_t pid, struct sonde_maps *maps)
{
	uint32_t id = maps ? take_row(spaces) : 0;
	if (!id || sonde_map_set(&spaces->by_pid, key(pid), id) < 0) {
		sonde_maps_unref(maps);
		if (id)
			drop(spaces, id);
		return NULL;
	}
	struct sonde_space *space = spaces->rows[id - 1];
	*space = (struct sonde_space){.pid = pid, .threads = 1, .maps = maps};
	return space;
}

static void add_line(struct sonde_spaces *spaces, struct sonde_maps **maps, const struct sonde_maps_line *line)
{
	struct sonde_image_key image = {.path = line->path,
					.device = makedev(line->major, line->minor),
					.inode = line->inode,
					.start = line->start};
	const struct sonde_mapping *known = sonde_maps_find(*maps, line->start);
	struct sonde_mapping mapping = {line->start, line->end, line->offset, NULL};
	/* The kernel may have reported the build-id when the file was mapped: keep that image. */
	if (known && known->end == line->end && known->offset == line->offset &&
	    !strcmp(known->image->path, line->path))
		return;
	mapping.image = sonde_images_get(spaces->images, &image);
	if (mapping.image)
		sonde_maps_add(maps, &mapping);
}

static void read_maps(struct sonde_spaces *spaces, pid_t pid, struct sonde_maps **maps)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	char *line = NULL;
	size_t cap_b = 0;
	struct sonde_maps_line parsed;
	while (getline(&line, &cap_b, file) > 0)
		if (!sonde_maps_parse(line, &parsed) && parsed.executable)
			add_line(spaces, maps, &parsed);
	free(line);
	fclose(file);
}

struct sonde_space *sonde_spaces_get(struct sonde_spaces *spaces, pid_t pid, uint64_t time_ns)
{
	uint32_t id = find(spaces, pid);
	if (id)
		return spaces->rows[id - 1];
	struct sonde_space *space = add(spaces, pid, sonde_maps_new(&spaces->generations));
	if (!space)
		return NULL;
	read_maps(spaces, pid, &space->maps);
	space->reread_ns = time_ns;
	return space;
}

int sonde_spaces_refresh(struct sonde_spaces *spaces, struct sonde_space *space, uint64_t time_ns)
{
	if (time_ns < space->reread_ns + REREAD_NS)
		return 0;
	space->reread_ns = time_ns;
	uint64_t before = sonde_maps_generation(space->maps);
	read_maps(spaces, space->pid, &space->maps);
	return sonde_maps_generation(space->maps) != before;
}

void sonde_spaces_fork(struct sonde_spaces *spaces, pid_t parent, pid_t pid, uint64_t time_ns)
{
	struct sonde_space *from = sonde_spaces_get(spaces, parent, time_ns);
	if (!from)
		return;
	if (parent == pid) {
		from->threads++;
		return;
	}
	uint32_t stale = find(spaces, pid);
	if (stale)
		drop(spaces, stale);
	uint64_t program = from->program;
	struct sonde_space *space = add(spaces, pid, sonde_maps_ref(from->maps));
	if (space)
		space->program = program;
}

/* Handles an exec. The count of threads starts again at 1: the other threads have exited, and the kernel has reported
 * their exits or will. */
void sonde_spaces_exec(struct sonde_spaces *spaces, pid_t pid, const char *name)
{
	uint32_t id = find(spaces, pid);
	if (id)
		drop(spaces, id);
	struct sonde_space *space = add(spaces, pid, sonde_maps_new(&spaces->generations));
	if (!space)
		return;
	space->is_fresh = 1;
	space->program = sonde_hash_bytes(name, strlen(name)) | 1;
	snprintf(space->name, sizeof space->name, "%s", name);
}

const char *sonde_spaces_unmapped(const struct sonde_spaces *spaces, pid_t pid)
{
	uint32_t id = find(spaces, pid);
	const struct sonde_space *space = id ? spaces->rows[id - 1] : NULL;
	return space && *space->name && !sonde_maps_count(space->maps) ? space->name : NULL;
}

uint64_t sonde_spaces_program(const struct sonde_spaces *spaces, pid_t pid)
{
	uint32_t id = find(spaces, pid);
	return id ? spaces->rows[id - 1]->program : 0;
}

void sonde_spaces_exit(struct sonde_spaces *spaces, pid_t pid)
{
	uint32_t id = find(spaces, pid);
	if (id && --spaces->rows[id - 1]->threads == 0)
		drop(spaces, id);
}

void sonde_spaces_map(struct sonde_spaces *spaces, pid_t pid, const struct sonde_mapping *mapping, uint64_t time_ns)
{
	struct sonde_space *space = sonde_spaces_get(spaces, pid, time_ns);
	if (space)
		sonde_maps_add(&space->maps, mapping);
}
