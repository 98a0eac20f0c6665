/* read_heap.c: bytes alive of each heap as a curve: its process's time in equal parts, each with the least and the most
 * that can have been alive in it. Parts in which nothing changed are one piece. */
#include <errno.h>
#include <stdlib.h>

#include "format/meta.h"
#include "tiles/state.h"
#include "util/error.h"

enum { PARTS = 2000 };

/* The part of the recording in which a process was there; 0: none. */
static int range_of(const struct sonde_tiles *tiles, uint32_t id, struct sonde_heap_range *out)
{
	const struct sonde_process *process = sonde_session_process(tiles->session, id);
	const struct sonde_part *part = sonde_session_part_of(tiles->session, id);
	*out = (struct sonde_heap_range){.from_ns = part->start_ns, .to_ns = part->end_ns};
	if (process && process->start_ns > out->from_ns)
		out->from_ns = process->start_ns;
	if (process && process->end_ns && process->end_ns < out->to_ns)
		out->to_ns = process->end_ns;
	return out->from_ns < out->to_ns;
}

static int add_parts(struct sonde_tiles *tiles, struct sonde_tile_lane_data *lane, const struct sonde_heap_range *range,
		     const struct sonde_heap_interval *parts)
{
	double part_ns = (double)(range->to_ns - range->from_ns) / PARTS;
	double live_b = (double)(int64_t)(parts[0].live_b - parts[0].begun_b + parts[0].ended_b);
	struct sonde_tile_piece piece = {0};
	int error = 0;
	for (size_t i = 0; i <= PARTS && !error; i++) {
		uint64_t at_ns = i < PARTS ? range->from_ns + (uint64_t)(part_ns * (double)i) : range->to_ns;
		double end_b = i < PARTS ? (double)(int64_t)parts[i].live_b : 0;
		double peak_b = i < PARTS ? (double)(int64_t)parts[i].peak_b : 0;
		double least = end_b < live_b ? end_b : live_b, most = peak_b > live_b ? peak_b : live_b;
		most = most > end_b ? most : end_b;
		if (i && i < PARTS && least == piece.least && most == piece.most)
			continue;
		piece.to_ns = at_ns;
		error = i ? sonde_tile_lane_piece(lane, piece, &tiles->room_b) : 0;
		piece = (struct sonde_tile_piece){at_ns, at_ns, least, most};
		live_b = end_b;
	}
	return error;
}

static int add_heap(struct sonde_tiles *tiles, const struct sonde_heap *heap, struct sonde_heap_interval *parts)
{
	struct sonde_heap_range range;
	struct sonde_tile_of of = {.kind = SONDE_TILE_HEAP,
				   .form = SONDE_TILE_CURVE,
				   .process = heap->process,
				   .sub = heap->id,
				   .title = heap->kind == SONDE_HEAP_MAPPING ? "mappings" : "heap",
				   .unit = "B"};
	if (!range_of(tiles, heap->process, &range))
		return 0;
	if (heap->kind == SONDE_HEAP_POOL && !(of.title = sonde_arena_printf(&tiles->arena, "pool %s", heap->name)))
		return sonde_error(ENOMEM, "out of memory for the name of a pool");
	int error = sonde_session_heap_timeline(tiles->session, heap->id, &range, parts, PARTS);
	if (error == -ENOMEM)
		return error;
	struct sonde_tile_lane_data *lane = sonde_tiles_lane_of(tiles, &of);
	return lane ? add_parts(tiles, lane, &range, parts) : -ENOMEM;
}

int sonde_tile_read_heaps(struct sonde_tiles *tiles)
{
	size_t count = sonde_session_heap_count(tiles->session);
	struct sonde_heap_interval *parts = count ? calloc(PARTS, sizeof *parts) : NULL;
	int error = !count || parts ? 0 : sonde_error(ENOMEM, "out of memory for the curve of a heap");
	for (uint32_t id = 1; id <= count && !error; id++) {
		const struct sonde_heap *heap = sonde_session_heap(tiles->session, id);
		error = heap ? add_heap(tiles, heap, parts) : 0;
	}
	free(parts);
	return error;
}
