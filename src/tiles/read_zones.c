/* read_zones.c: zones as slices: a lane a thread and depth. What is deeper than the last lane lies within its slices.
 */
#include <errno.h>

#include "tiles/state.h"

static int take(void *context, const struct sonde_batch *batch)
{
	struct sonde_tiles *tiles = context;
	struct sonde_tile_lane_data *lanes[SONDE_TILE_DEPTHS] = {0};
	struct sonde_tile_of of = {
	    .kind = SONDE_TILE_ZONES, .form = SONDE_TILE_SLICES, .process = batch->process, .thread = batch->thread};
	int error = 0;
	for (size_t i = 0; i < batch->count && !error; i++) {
		uint32_t depth = batch->depth[i], name, last = SONDE_TILE_DEPTHS - 1;
		of.depth = depth < last ? depth : last;
		if (!lanes[of.depth] && !(lanes[of.depth] = sonde_tiles_lane_of(tiles, &of)))
			return -ENOMEM;
		if (depth > last) {
			lanes[last]->lane.left_out++;
			continue;
		}
		error = sonde_tiles_site_name(tiles, batch->site[i], &name);
		const struct sonde_tile_slice slice = {batch->start_ns[i], batch->start_ns[i] + batch->dur_ns[i], name,
						       0};
		error = error ? error : sonde_tile_lane_slice(lanes[depth], slice, &tiles->room_b);
	}
	return error;
}

int sonde_tile_read_zones(struct sonde_tiles *tiles)
{
	return sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_ZONES, take, tiles);
}
