/* read_waits.c: blocking calls as slices. A thread is in one call at a time, unless a signal handler makes one within
 * another: that needs a further lane. Holding a lock is not a wait of its thread. A wait found by polling from outside
 * is marked as sampled: its length is the time that the polls represent, and was not measured. */
#include <stdio.h>

#include "format/wait.h"
#include "tiles/tiles_state.h"

struct reading {
	struct sonde_tiles *tiles;
	struct sonde_tile_items items;
	uint32_t names[2][SONDE_WAIT_KINDS]; /* index + 1 of the names of measured and of sampled waits */
};

static int name_of(struct reading *reading, uint32_t kind, int is_sampled, uint32_t *name)
{
	uint32_t *known = &reading->names[is_sampled][kind];
	char text[64];
	snprintf(text, sizeof text, is_sampled ? "%s (sampled)" : "%s", sonde_wait_row(kind)->name);
	int rc = *known ? 0 : sonde_tiles_name_of(reading->tiles, text, 0, name);
	*known = *known || rc ? *known : *name + 1;
	*name = *known - 1;
	return rc;
}

static int take(void *context, const struct sonde_batch *batch)
{
	struct reading *reading = context;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint32_t kind = batch->waits.kind[i], name;
		const struct sonde_wait_row *row = sonde_wait_row(kind);
		const struct sonde_thread *thread =
		    sonde_session_thread(reading->tiles->session, batch->waits.thread[i]);
		if (!row->name || row->group == SONDE_WAIT_GROUP_HELD || !thread)
			continue;
		rc = name_of(reading, kind, (batch->waits.status[i] & SONDE_WAIT_SAMPLED) != 0, &name);
		if (rc)
			return rc;
		const struct sonde_tile_item item = {.from_ns = batch->waits.start_ns[i],
						     .to_ns = batch->waits.start_ns[i] + batch->waits.dur_ns[i],
						     .process = thread->process,
						     .thread = thread->id,
						     .name = name};
		rc = sonde_tile_items_add(reading->tiles, &reading->items, item);
		const struct sonde_tile_arrow_row arrow = {item.to_ns, item.to_ns, batch->waits.other[i], thread->id,
							   SONDE_TILE_UNLOCKS};
		if (!rc && row->group == SONDE_WAIT_GROUP_LOCK && batch->waits.other[i])
			rc = sonde_tiles_arrow(reading->tiles, &arrow);
	}
	return rc;
}

int sonde_tile_read_waits(struct sonde_tiles *tiles)
{
	static const struct sonde_tile_of of = {.kind = SONDE_TILE_WAITS, .form = SONDE_TILE_SLICES, .title = "waits"};
	struct reading reading = {.tiles = tiles};
	int rc = sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_WAITS, take, &reading);
	rc = rc ? rc : sonde_tile_items_lay(tiles, &reading.items, &of);
	sonde_tile_items_fini(tiles, &reading.items);
	return rc;
}
