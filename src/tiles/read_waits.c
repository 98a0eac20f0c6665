/* read_waits.c: calls that waited as slices. A thread is in one call at a time, or in one that a signal's handler makes
 * within another: that is a lane more. A lock that was held is no waiting of its thread. */
#include <errno.h>

#include "format/wait.h"
#include "tiles/state.h"

struct reading {
	struct sonde_tiles *tiles;
	struct sonde_tile_items items;
	uint32_t names[SONDE_WAIT_KINDS]; /* + 1 */
};

static int take(void *context, const struct sonde_batch *batch)
{
	struct reading *reading = context;
	int error = 0;
	for (size_t i = 0; i < batch->count && !error; i++) {
		uint32_t kind = batch->wait_kind[i], name;
		const struct sonde_wait_row *row = sonde_wait_row(kind);
		const struct sonde_thread *thread = sonde_session_thread(reading->tiles->session, batch->thread_of[i]);
		if (!row->name || row->group == SONDE_WAIT_GROUP_HELD || !thread)
			continue;
		if (!reading->names[kind]) {
			if ((error = sonde_tiles_name_of(reading->tiles, row->name, 0, &name)))
				return error;
			reading->names[kind] = name + 1;
		}
		const struct sonde_tile_item item = {.from_ns = batch->start_ns[i],
						     .to_ns = batch->start_ns[i] + batch->dur_ns[i],
						     .process = thread->process,
						     .thread = thread->id,
						     .name = reading->names[kind] - 1};
		error = sonde_tile_items_add(reading->tiles, &reading->items, item);
		const struct sonde_tile_arrow_row arrow = {item.to_ns, item.to_ns, batch->other[i], thread->id, 1};
		if (!error && row->group == SONDE_WAIT_GROUP_LOCK && batch->other[i])
			error = sonde_tiles_arrow(reading->tiles, &arrow);
	}
	return error;
}

int sonde_tile_read_waits(struct sonde_tiles *tiles)
{
	static const struct sonde_tile_of of = {.kind = SONDE_TILE_WAITS, .form = SONDE_TILE_SLICES, .title = "waits"};
	struct reading reading = {.tiles = tiles};
	int error = sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_WAITS, take, &reading);
	error = error ? error : sonde_tile_items_lay(tiles, &reading.items, &of);
	sonde_tile_items_fini(tiles, &reading.items);
	return error;
}
