/* find.c: single slices by name and length. */
#include <errno.h>
#include <stdlib.h>

#include "tiles/state.h"
#include "util/error.h"

void sonde_tile_finds_fini(struct sonde_tile_finds *finds)
{
	free(finds->all);
	*finds = (struct sonde_tile_finds){0};
}

static int order(const struct sonde_tile_found *a, const struct sonde_tile_found *b)
{
	int by = (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
	return by ? by : (a->lane > b->lane) - (a->lane < b->lane);
}

/* Keeps the earliest: the latest of those that are kept is the root of a heap. */
static void sink(struct sonde_tile_finds *finds, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < finds->count; i = child) {
		child += child + 1 < finds->count && order(&finds->all[child + 1], &finds->all[child]) > 0;
		if (order(&finds->all[child], &finds->all[i]) <= 0)
			return;
		struct sonde_tile_found kept = finds->all[i];
		finds->all[i] = finds->all[child];
		finds->all[child] = kept;
	}
}

static int room(struct sonde_tile_finds *finds)
{
	if (finds->count < finds->cap)
		return 0;
	size_t cap = finds->cap ? 2 * finds->cap : 256;
	struct sonde_tile_found *all = realloc(finds->all, cap * sizeof *all);
	if (!all)
		return sonde_error(ENOMEM, "out of memory for %zu slices", cap);
	finds->all = all;
	finds->cap = cap;
	return 0;
}

int sonde_tile_finds_add(struct sonde_tile_finds *finds, const struct sonde_tile_search *search,
			 const struct sonde_tile_found *found)
{
	uint64_t length_ns = found->to_ns - found->from_ns;
	if (!search->names[found->name] || length_ns < search->shortest_ns || length_ns > search->longest_ns ||
	    found->to_ns < search->from_ns || found->from_ns > search->to_ns)
		return 0;
	finds->of++;
	if (finds->count == search->limit) {
		if (finds->count && order(found, finds->all) < 0) {
			finds->all[0] = *found;
			sink(finds, 0);
		}
		return 0;
	}
	if (room(finds))
		return -ENOMEM;
	finds->all[finds->count++] = *found;
	if (finds->count == search->limit)
		for (size_t i = finds->count / 2 + 1; i > 0; i--)
			sink(finds, i - 1);
	return 0;
}

static int by_time(const void *left, const void *right)
{
	return order(left, right);
}

/* Leaves are looked at where the node over them has any that is long enough in the time. */
static int look(const struct sonde_tile_lane_data *lane, const struct sonde_tile_search *search,
		struct sonde_tile_finds *out)
{
	int error = 0;
	for (size_t i = 0; lane->level_count && i < lane->counts[0]; i++) {
		const struct sonde_tile_node *node = &lane->levels[0][i];
		if (node->to_ns < search->from_ns || node->from_ns > search->to_ns ||
		    node->longest_ns < search->shortest_ns)
			continue;
		for (size_t at = i * SONDE_TILE_FAN; at < lane->lane.count && at < (i + 1) * SONDE_TILE_FAN && !error;
		     at++) {
			const struct sonde_tile_slice *slice = &lane->slices[at];
			const struct sonde_tile_found found = {lane->lane.id, slice->name, slice->from_ns,
							       slice->to_ns};
			error = sonde_tile_finds_add(out, search, &found);
		}
	}
	return error;
}

int sonde_tiles_find(struct sonde_tiles *tiles, const struct sonde_tile_search *search, struct sonde_tile_finds *out)
{
	int error = 0;
	out->count = 0;
	out->of = 0;
	out->is_whole = 1;
	for (size_t i = 0; i < tiles->lane_count && !error; i++)
		if (tiles->lanes[i]->lane.form == SONDE_TILE_SLICES)
			error = look(tiles->lanes[i], search, out);
	if (out->count)
		qsort(out->all, out->count, sizeof *out->all, by_time);
	return error;
}
