/* read_states.c: what each thread did as slices: running, runnable, blocked; where nobody saw it there is none. */
#include <errno.h>

#include "session/intervals.h"
#include "session/weigh.h"
#include "tiles/state.h"

struct reading {
	struct sonde_tiles *tiles;
	uint32_t names[SONDE_INTERVAL_STATES];
};

static int take(void *context, const struct sonde_interval *interval)
{
	struct reading *reading = context;
	struct sonde_tiles *tiles = reading->tiles;
	const struct sonde_thread *thread = sonde_session_thread(tiles->session, interval->thread);
	const struct sonde_tile_arrow_row arrow = {interval->woken_ns, interval->from_ns, interval->by,
						   interval->thread, 0};
	if (interval->state == SONDE_INTERVAL_ON_CPU && interval->by && sonde_tiles_arrow(tiles, &arrow))
		return -ENOMEM;
	if (interval->state == SONDE_INTERVAL_UNSEEN || interval->to_ns <= interval->from_ns || !thread)
		return 0;
	const struct sonde_tile_of of = {
	    .kind = SONDE_TILE_STATES, .form = SONDE_TILE_SLICES, .process = thread->process, .thread = thread->id};
	const struct sonde_tile_slice slice = {interval->from_ns, interval->to_ns, reading->names[interval->state], 0};
	struct sonde_tile_lane_data *lane = sonde_tiles_lane_of(tiles, &of);
	return lane ? sonde_tile_lane_slice(lane, slice, &tiles->room_b) : -ENOMEM;
}

int sonde_tile_read_states(struct sonde_tiles *tiles)
{
	struct reading reading = {.tiles = tiles};
	struct sonde_intervals seen;
	int error = 0;
	if (!sonde_weigh_has(tiles->session, SONDE_CHUNK_SWITCHES))
		return 0;
	for (unsigned i = SONDE_INTERVAL_ON_CPU; i < SONDE_INTERVAL_STATES && !error; i++)
		error =
		    sonde_tiles_name_of(tiles, sonde_interval_name((enum sonde_interval_state)i), 0, &reading.names[i]);
	return error ? error : sonde_intervals_walk(&seen, tiles->session, take, &reading);
}
