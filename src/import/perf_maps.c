/* perf_maps.c: mappings as sorted rows without overlaps (perf.h). */
#include <errno.h>
#include <stdlib.h>

#include "import/perf.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

static int reserve(struct sonde_perf_maps *maps, uint32_t more)
{
	return SONDE_ARRAY_RESERVE(maps->rows, maps->cap, (size_t)maps->count + more)
		   ? sonde_error(ENOMEM, "out of memory for mappings")
		   : 0;
}

/* Returns the index of the first row that ends after the address. */
static size_t first_behind(const struct sonde_perf_maps *maps, uint64_t address)
{
	return SONDE_SEARCH(i, 0, maps->count, maps->rows[i].end <= address);
}

int sonde_perf_maps_add(struct sonde_perf_maps *maps, const struct sonde_perf_map *map)
{
	if (map->end <= map->start)
		return 0;
	if (maps->count >= SONDE_PERF_MAPS_MAX)
		return -EFBIG;
	int rc = reserve(maps, 2);
	if (rc)
		return rc;
	size_t from = first_behind(maps, map->start), to = from;
	struct sonde_perf_map put[3];
	size_t count = 0;
	while (to < maps->count && maps->rows[to].start < map->end)
		to++;
	if (from < to && maps->rows[from].start < map->start) {
		put[count] = maps->rows[from];
		put[count++].end = map->start;
	}
	put[count++] = *map;
	if (from < to && maps->rows[to - 1].end > map->end) {
		put[count] = maps->rows[to - 1];
		put[count].offset += map->end - put[count].start;
		put[count++].start = map->end;
	}
	memmove(maps->rows + from + count, maps->rows + to, (maps->count - to) * sizeof *maps->rows);
	memcpy(maps->rows + from, put, count * sizeof *put);
	maps->count = (uint32_t)(maps->count - (to - from) + count);
	return 0;
}

const struct sonde_perf_map *sonde_perf_maps_find(const struct sonde_perf_maps *maps, uint64_t address)
{
	size_t at = first_behind(maps, address);
	return at < maps->count && maps->rows[at].start <= address ? &maps->rows[at] : NULL;
}

int sonde_perf_maps_copy(struct sonde_perf_maps *out, const struct sonde_perf_maps *from)
{
	*out = (struct sonde_perf_maps){0};
	if (!from->count)
		return 0;
	int rc = reserve(out, from->count);
	if (rc)
		return rc;
	memcpy(out->rows, from->rows, from->count * sizeof *from->rows);
	out->count = from->count;
	return 0;
}

void sonde_perf_maps_fini(struct sonde_perf_maps *maps)
{
	free(maps->rows);
	*maps = (struct sonde_perf_maps){0};
}
