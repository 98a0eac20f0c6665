/* arrows.c: arrows from one thread to another (wake-ups, lock hand-offs), the critical path, and arrows to device
 * queues. */
#include <errno.h>
#include <stdlib.h>

#include "tiles/tiles_state.h"
#include "util/error.h"

int sonde_tiles_arrow(struct sonde_tiles *tiles, const struct sonde_tile_arrow_row *row)
{
	if (tiles->arrow_count == tiles->arrow_cap) {
		size_t cap = tiles->arrow_cap ? 2 * tiles->arrow_cap : 256,
		       more_b = (cap - tiles->arrow_cap) * sizeof *row;
		if (more_b > tiles->room_b)
			return 0;
		struct sonde_tile_arrow_row *arrows = realloc(tiles->arrows, cap * sizeof *arrows);
		if (!arrows)
			return sonde_error(ENOMEM, "out of memory for %zu arrows", cap);
		tiles->room_b -= more_b;
		tiles->arrows = arrows;
		tiles->arrow_cap = cap;
	}
	tiles->arrows[tiles->arrow_count++] = *row;
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct sonde_tile_arrow_row *a = left, *b = right;
	int by = (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
	by = by ? by : (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
	by = by ? by : (a->kind > b->kind) - (a->kind < b->kind);
	return by ? by : (a->to > b->to) - (a->to < b->to);
}

int sonde_tiles_arrows_sort(struct sonde_tiles *tiles)
{
	size_t threads = (size_t)tiles->threads + 1;
	tiles->thread_lanes = calloc(threads, sizeof *tiles->thread_lanes);
	tiles->queue_lanes = calloc(tiles->queues + 1, sizeof *tiles->queue_lanes);
	if (!tiles->thread_lanes || !tiles->queue_lanes)
		return sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	for (size_t i = tiles->lane_count; i > 0; i--) {
		const struct sonde_tile_lane *lane = &tiles->lanes[i - 1]->lane;
		if (lane->kind == SONDE_TILE_DEVICE && tiles->lanes[i - 1]->sub <= tiles->queues)
			tiles->queue_lanes[tiles->lanes[i - 1]->sub] = lane->id + 1;
		uint32_t *first = &tiles->thread_lanes[lane->thread < threads ? lane->thread : 0];
		int has_states = *first && tiles->lanes[*first - 1]->lane.kind == SONDE_TILE_STATES;
		if (lane->kind == SONDE_TILE_STATES || !has_states)
			*first = lane->id + 1;
	}
	tiles->thread_lanes[0] = 0;
	if (tiles->arrow_count)
		qsort(tiles->arrows, tiles->arrow_count, sizeof *tiles->arrows, by_time);
	return 0;
}

/* The lane in which an arrow ends, + 1; 0 = none. */
static uint32_t lane_to(const struct sonde_tiles *tiles, const struct sonde_tile_arrow_row *row)
{
	if (row->kind == SONDE_TILE_LAUNCHES)
		return row->to <= tiles->queues ? tiles->queue_lanes[row->to] : 0;
	return row->to <= tiles->threads ? tiles->thread_lanes[row->to] : 0;
}

/* True if the arrow overlaps the time range, and both of its ends have a lane. */
static int is_seen(const struct sonde_tiles *tiles, const struct sonde_tile_arrow_row *row,
		   const struct sonde_tile_view *view)
{
	return row->to_ns >= view->from_ns && row->from_ns <= view->to_ns && row->from <= tiles->threads &&
	       tiles->thread_lanes[row->from] && lane_to(tiles, row);
}

size_t sonde_tiles_arrows(const struct sonde_tiles *tiles, const struct sonde_tile_view *view, size_t limit,
			  struct sonde_tile_arrow *out, size_t *of)
{
	static const char *const words[] = {
	    [SONDE_TILE_WAKES] = "wake-up", [SONDE_TILE_UNLOCKS] = "lock", [SONDE_TILE_LAUNCHES] = "launch"};
	size_t seen = 0, shown = 0, count = 0;
	for (size_t i = 0; i < tiles->arrow_count; i++)
		count += (size_t)is_seen(tiles, &tiles->arrows[i], view);
	for (size_t i = 0; i < tiles->arrow_count && shown < limit; i++) {
		const struct sonde_tile_arrow_row *row = &tiles->arrows[i];
		if (!is_seen(tiles, row, view))
			continue;
		if (count <= limit || (double)seen++ * (double)limit / (double)count >= (double)shown)
			out[shown++] =
			    (struct sonde_tile_arrow){row->from_ns, row->to_ns, tiles->thread_lanes[row->from] - 1,
						      lane_to(tiles, row) - 1, words[row->kind]};
	}
	*of = count;
	return shown;
}

/* --- the critical path -------------------------------------------------------------------------------------------- */

static int by_length(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a < b) - (a > b);
}

/* The length of the shortest of the `limit` longest slices; UINT64_MAX if out of memory. */
static uint64_t least_of(const struct sonde_tile_slice *slices, size_t from, size_t to, size_t limit)
{
	uint64_t *lengths = malloc((to - from + 1) * sizeof *lengths), least = UINT64_MAX;
	for (size_t i = from; lengths && i < to; i++)
		lengths[i - from] = slices[i].to_ns - slices[i].from_ns;
	if (lengths) {
		qsort(lengths, to - from, sizeof *lengths, by_length);
		least = lengths[limit - 1];
	}
	free(lengths);
	return least;
}

size_t sonde_tiles_steps(const struct sonde_tiles *tiles, const struct sonde_tile_view *view, size_t limit,
			 struct sonde_tile_step *out, size_t *of)
{
	const struct sonde_tile_lane_data *lane = tiles->lane_count ? tiles->lanes[0] : NULL;
	size_t from = 0, shown = 0;
	*of = 0;
	if (!lane || lane->lane.kind != SONDE_TILE_PATH || !limit)
		return 0;
	size_t to = lane->lane.count;
	while (from < to && lane->slices[from].to_ns < view->from_ns)
		from++;
	while (to > from && lane->slices[to - 1].from_ns > view->to_ns)
		to--;
	*of = to - from;
	uint64_t least_ns = to - from > limit ? least_of(lane->slices, from, to, limit) : 0;
	for (size_t i = from; i < to && shown < limit; i++) {
		const struct sonde_tile_slice *slice = &lane->slices[i];
		if (slice->to_ns - slice->from_ns < least_ns)
			continue;
		out[shown++] = (struct sonde_tile_step){slice->from_ns, slice->to_ns, slice->name, slice->also,
							tiles->thread_lanes[slice->also] - 1};
	}
	return shown;
}
