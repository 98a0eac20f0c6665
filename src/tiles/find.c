/* find.c: finds single slices by name and length. Zones are decoded only if the sums of their chunk contain wanted
 * names; in the order of lanes and time, up to a limit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tiles/tiles_state.h"
#include "util/array.h"
#include "util/error.h"

enum { CHUNKS_MAX = 400 }; /* maximum number of zone chunks to decode: half a second */

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

/* Keeps the earliest: a heap whose root is the latest of the kept ones. */
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

static int capacity(struct sonde_tile_finds *finds)
{
	return SONDE_ARRAY_RESERVE(finds->all, finds->cap, finds->count + 1)
		   ? sonde_error(ENOMEM, "out of memory for %zu slices", finds->count + 1)
		   : 0;
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
	if (capacity(finds))
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

/* Zone chunks that contain wanted names, according to their sums. */
struct chunks {
	const struct sonde_tiles *tiles;
	const struct sonde_tile_search *search;
	uint8_t *has;
	size_t count;
};

static int take_chunk(void *context, const struct sonde_zone_chunk *chunk)
{
	struct chunks *chunks = context;
	if (chunk->chunk >= chunks->count) {
		size_t count = 2 * chunk->chunk + 64;
		uint8_t *has = realloc(chunks->has, count);
		if (!has)
			return sonde_error(ENOMEM, "out of memory for %zu chunks", count);
		memset(has + chunks->count, 0, count - chunks->count);
		chunks->has = has;
		chunks->count = count;
	}
	for (size_t i = 0; i < chunk->stat_count; i++) {
		const struct sonde_zone_stat *stat = &chunk->stats[i];
		if (stat->site <= chunks->tiles->sites &&
		    chunks->search->names[chunks->tiles->site_names[stat->site] - 1] &&
		    stat->max_ns >= chunks->search->shortest_ns && stat->min_ns <= chunks->search->longest_ns)
			chunks->has[chunk->chunk] = 1;
	}
	return 0;
}

struct looking {
	struct sonde_tiles *tiles;
	const struct sonde_tile_search *search;
	struct sonde_tile_finds *out;
	struct chunks chunks;
	uint64_t before; /* number of chunks decoded before */
};

/* The slices of a zone node, if its chunk contains wanted ones. */
static int zones_of(struct looking *looking, const struct sonde_tile_lane_data *lane, size_t i,
		    const struct sonde_tile_slice **out)
{
	const struct sonde_tile_where *where = &lane->where[i];
	if (where->chunk >= looking->chunks.count || !looking->chunks.has[where->chunk])
		return 0;
	struct sonde_tile_cache *cache = &looking->tiles->cache;
	if (cache->decoded - looking->before >= CHUNKS_MAX && !sonde_tile_cache_has(cache, where->chunk)) {
		looking->out->is_whole = 0;
		return 0;
	}
	const struct sonde_tile_node *groups;
	return sonde_tile_cache_slices(looking->tiles, lane, i, out, &groups);
}

static int add_all(struct looking *looking, uint32_t lane, const struct sonde_tile_slice *slices, size_t count)
{
	int rc = 0;
	for (size_t i = 0; i < count && !rc; i++) {
		const struct sonde_tile_found found = {lane, slices[i].name, slices[i].from_ns, slices[i].to_ns};
		rc = sonde_tile_finds_add(looking->out, looking->search, &found);
	}
	return rc;
}

static int look_at(struct looking *looking, const struct sonde_tile_lane_data *lane, size_t i)
{
	const struct sonde_tile_node *node = &lane->levels[0][i];
	const struct sonde_tile_slice *slices = NULL;
	if (!lane->where) {
		size_t from = i * SONDE_TILE_FAN, left = lane->lane.count - from;
		return add_all(looking, lane->lane.id, &lane->slices[from],
			       left < SONDE_TILE_FAN ? left : SONDE_TILE_FAN);
	}
	if (node->many == 1) {
		const struct sonde_tile_slice slice = {node->from_ns, node->to_ns, node->name, 0};
		return add_all(looking, lane->lane.id, &slice, 1);
	}
	int count = zones_of(looking, lane, i, &slices);
	return count > 0 ? add_all(looking, lane->lane.id, slices, (size_t)count) : count;
}

/* Visits the leaves of nodes that overlap the time range and contain a long enough slice. */
static int look(struct looking *looking, const struct sonde_tile_lane_data *lane)
{
	const struct sonde_tile_search *search = looking->search;
	int rc = 0;
	for (size_t i = 0; lane->level_count && i < lane->counts[0] && !rc; i++) {
		const struct sonde_tile_node *node = &lane->levels[0][i];
		if (node->to_ns >= search->from_ns && node->from_ns <= search->to_ns &&
		    node->longest_ns >= search->shortest_ns)
			rc = look_at(looking, lane, i);
	}
	return rc;
}

static int is_wanted(const struct sonde_tile_lane *lane, const struct sonde_tile_search *search)
{
	return lane->form == SONDE_TILE_SLICES && (!search->thread || !lane->thread || lane->thread == search->thread);
}

int sonde_tiles_find(struct sonde_tiles *tiles, const struct sonde_tile_search *search, struct sonde_tile_finds *out)
{
	struct looking looking = {.tiles = tiles,
				  .search = search,
				  .out = out,
				  .chunks = {tiles, search, NULL, 0},
				  .before = tiles->cache.decoded};
	out->count = 0;
	out->of = 0;
	out->is_whole = 1;
	int rc = sonde_session_zone_chunks(tiles->session, take_chunk, &looking.chunks);
	for (size_t i = 0; i < tiles->lane_count && !rc; i++)
		if (is_wanted(&tiles->lanes[i]->lane, search))
			rc = look(&looking, tiles->lanes[i]);
	if (out->count)
		qsort(out->all, out->count, sizeof *out->all, by_time);
	free(looking.chunks.has);
	return rc;
}
