/* read_zones.c: zones as slices: one lane per thread and depth. Zones deeper than the last lane are within its slices.
 *
 * The pyramids of these lanes are built on the nodes in the chunk summaries, so only zones that are zoomed into are
 * decoded (cache.c). A chunk without nodes is decoded here, once. Zones open at the end of a thread's last chunk are at
 * most one slice per lane, its last. If the recording grows, only new chunks are read (extend.c).
 */
#include <errno.h>

#include "fold/nodes.h"
#include "tiles/tiles_state.h"

_Static_assert((int)SONDE_TILE_DEPTHS == (int)SONDE_NODE_DEPTHS, "a lane for each depth that has nodes");

struct reading {
	struct sonde_tiles *tiles;
	struct sonde_cursor *cursor;
};

static struct sonde_tile_lane_data *lane_of(struct sonde_tiles *tiles, uint32_t process, uint32_t thread,
					    uint32_t depth)
{
	const struct sonde_tile_of of = {
	    .kind = SONDE_TILE_ZONES, .form = SONDE_TILE_SLICES, .process = process, .thread = thread, .depth = depth};
	return sonde_tiles_lane_of(tiles, &of);
}

static int leave_out(struct sonde_tiles *tiles, uint32_t process, uint32_t thread, uint64_t deeper, int is_open)
{
	struct sonde_tile_lane_data *lane = deeper ? lane_of(tiles, process, thread, SONDE_TILE_DEPTHS - 1) : NULL;
	if (lane)
		lane->lane.left_out += deeper;
	if (lane && is_open)
		lane->open_out += deeper;
	return deeper && !lane ? -ENOMEM : 0;
}

static int take_nodes(struct sonde_tiles *tiles, const struct sonde_zone_chunk *chunk)
{
	struct sonde_tile_lane_data *lanes[SONDE_TILE_DEPTHS] = {0};
	uint32_t firsts[SONDE_TILE_DEPTHS] = {0};
	int rc = leave_out(tiles, chunk->process, chunk->thread, chunk->deeper, 0);
	for (size_t i = 0; i < chunk->node_count && !rc; i++) {
		const struct sonde_zone_node *from = &chunk->nodes[i];
		uint32_t depth = from->depth;
		if (!lanes[depth] && !(lanes[depth] = lane_of(tiles, chunk->process, chunk->thread, depth)))
			return -ENOMEM;
		struct sonde_tile_node node = {.from_ns = from->from_ns,
					       .to_ns = from->to_ns,
					       .name = tiles->site_names[from->site] - 1,
					       .many = from->count};
		node.busy_ns = from->busy_ns;
		node.longest_ns = from->longest_ns;
		rc = sonde_tile_lane_node(lanes[depth], &node,
					  (struct sonde_tile_where){(uint32_t)chunk->chunk, firsts[depth]});
		firsts[depth] += from->count;
	}
	return rc;
}

/* Takes the zones of a chunk, or those open at its end (chunk UINT32_MAX). */
static int take_zones(struct sonde_tiles *tiles, uint32_t chunk, const struct sonde_batch *batch)
{
	struct sonde_tile_lane_data *lanes[SONDE_TILE_DEPTHS] = {0};
	uint32_t firsts[SONDE_TILE_DEPTHS] = {0};
	uint64_t deeper = 0;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint32_t depth = batch->zones.depth[i];
		if (depth >= SONDE_TILE_DEPTHS) {
			deeper++;
			continue;
		}
		if (!lanes[depth] && !(lanes[depth] = lane_of(tiles, batch->process, batch->thread, depth)))
			return -ENOMEM;
		const struct sonde_tile_slice zone = {batch->zones.start_ns[i],
						      batch->zones.start_ns[i] + batch->zones.dur_ns[i],
						      tiles->site_names[batch->zones.site[i]] - 1, 0};
		rc = sonde_tile_lane_zone(lanes[depth], &zone, (struct sonde_tile_where){chunk, firsts[depth]++});
	}
	return rc ? rc : leave_out(tiles, batch->process, batch->thread, deeper, chunk == UINT32_MAX);
}

/* True if the chunk refers to a thread or site that is not (yet) known. */
static int is_vague(const struct sonde_zone_chunk *chunk)
{
	int found = !chunk->thread || !chunk->process;
	for (size_t i = 0; i < chunk->stat_count && !found; i++)
		found = !chunk->stats[i].site;
	return found;
}

static int take_chunk(void *context, const struct sonde_zone_chunk *chunk)
{
	struct reading *reading = context;
	const struct sonde_batch *batch;
	if (chunk->chunk >= UINT32_MAX)
		return 0;
	reading->tiles->lasts[chunk->thread] =
	    (struct sonde_tile_last){chunk->chunk + 1, !chunk->is_damaged && chunk->open_after != 0};
	reading->tiles->next_chunk = chunk->chunk + 1;
	if (chunk->is_damaged)
		return 0;
	reading->tiles->is_vague |= is_vague(chunk);
	if (chunk->has_nodes)
		return take_nodes(reading->tiles, chunk);
	int rc = sonde_cursor_zones(reading->cursor, chunk->chunk, &batch);
	return rc > 0 ? take_zones(reading->tiles, (uint32_t)chunk->chunk, batch) : rc == -ENOMEM ? rc : 0;
}

static int take_open(struct reading *reading, uint32_t thread)
{
	const struct sonde_tile_last *last = &reading->tiles->lasts[thread];
	const struct sonde_batch *batch;
	if (!last->chunk || !last->is_open)
		return 0;
	int rc = sonde_cursor_zones(reading->cursor, last->chunk - 1, &batch);
	rc = rc > 0 ? sonde_cursor_zones_open(reading->cursor, thread, &batch) : rc;
	return rc > 0 ? take_zones(reading->tiles, UINT32_MAX, batch) : rc == -ENOMEM ? rc : 0;
}

int sonde_tile_read_zones(struct sonde_tiles *tiles)
{
	struct sonde_session *session = tiles->session;
	uint32_t threads = tiles->threads, name;
	struct reading reading = {.tiles = tiles};
	int rc = sonde_cursor_open(&reading.cursor, session, 1u << SONDE_CHUNK_ZONES);
	/* Register names now, since zones are decoded later. */
	for (uint32_t site = 0; site <= tiles->sites && !rc; site++)
		rc = sonde_tiles_site_name(tiles, site, &name);
	rc = rc ? rc : sonde_session_zone_chunks_from(session, tiles->next_chunk, take_chunk, &reading);
	for (uint32_t thread = 0; thread <= threads && !rc; thread++)
		rc = take_open(&reading, thread);
	tiles->cache.cursor = reading.cursor;
	return rc;
}
