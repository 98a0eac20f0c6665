/* items.c: lists that are sorted and then laid out in lanes: calls, spans, marks, values. */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "tiles/tiles_state.h"
#include "util/error.h"

int sonde_tile_items_add(struct sonde_tiles *tiles, struct sonde_tile_items *items, struct sonde_tile_item item)
{
	if (items->count == items->cap) {
		size_t cap = items->cap ? 2 * items->cap : 1024, more_b = (cap - items->cap) * sizeof item;
		if (more_b > tiles->room_b) {
			items->left_out++;
			return 0;
		}
		struct sonde_tile_item *all = realloc(items->all, cap * sizeof *all);
		if (!all)
			return sonde_error(ENOMEM, "out of memory for %zu slices", cap);
		tiles->room_b -= more_b;
		items->all = all;
		items->cap = cap;
	}
	items->all[items->count++] = item;
	return 0;
}

void sonde_tile_items_fini(struct sonde_tiles *tiles, struct sonde_tile_items *items)
{
	tiles->room_b += items->cap * sizeof *items->all;
	free(items->all);
	*items = (struct sonde_tile_items){0};
}

static int by_time(const void *left, const void *right)
{
	const struct sonde_tile_item *a = left, *b = right;
	int by = sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->thread, b->thread);
	by = by ? by : sonde_order(a->sub, b->sub);
	by = by ? by : sonde_order(a->from_ns, b->from_ns);
	return by ? by : sonde_order(b->to_ns, a->to_ns);
}

void sonde_tile_items_sort(struct sonde_tile_items *items)
{
	if (items->count)
		qsort(items->all, items->count, sizeof *items->all, by_time);
}

/* Places each item of one process and thread into the first free lane. */
static int lay_group(struct sonde_tiles *tiles, const struct sonde_tile_item *all, size_t count,
		     struct sonde_tile_of of)
{
	struct sonde_tile_lane_data *lanes[SONDE_TILE_DEPTHS] = {0};
	uint64_t ends_ns[SONDE_TILE_DEPTHS] = {0};
	int rc = 0;
	of.process = all->process;
	of.thread = all->thread;
	for (size_t i = 0; i < count && !rc; i++) {
		uint32_t depth = 0;
		while (depth + 1 < SONDE_TILE_DEPTHS && lanes[depth] && ends_ns[depth] > all[i].from_ns)
			depth++;
		of.depth = depth;
		lanes[depth] = lanes[depth] ? lanes[depth] : sonde_tiles_lane_of(tiles, &of);
		if (!lanes[depth])
			return -ENOMEM;
		if (ends_ns[depth] > all[i].from_ns) { /* even the last lane is occupied */
			lanes[depth]->lane.left_out++;
			continue;
		}
		ends_ns[depth] = all[i].to_ns;
		const struct sonde_tile_slice slice = {all[i].from_ns, all[i].to_ns, all[i].name, 0};
		rc = sonde_tile_lane_slice(lanes[depth], slice, &tiles->room_b);
	}
	return rc;
}

int sonde_tile_items_lay(struct sonde_tiles *tiles, struct sonde_tile_items *items, const struct sonde_tile_of *of)
{
	int rc = 0;
	sonde_tile_items_sort(items);
	for (size_t from = 0, to; from < items->count && !rc; from = to) {
		const struct sonde_tile_item *first = &items->all[from];
		for (to = from; to < items->count && items->all[to].process == first->process &&
				items->all[to].thread == first->thread;)
			to++;
		rc = lay_group(tiles, first, to - from, *of);
	}
	return rc;
}
