/* cache.c: cache of recently used zone chunks, decoded and sorted by depth; limited in bytes. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "tiles/tiles_state.h"
#include "util/error.h"

#define CACHE_MAX_B ((size_t)256 << 20)

void sonde_tile_cache_fini(struct sonde_tile_cache *cache)
{
	for (size_t i = 0; i < cache->count; i++)
		free(cache->rows[i]);
	free(cache->rows);
	sonde_map_fini(&cache->index);
	sonde_cursor_close(cache->cursor);
	*cache = (struct sonde_tile_cache){0};
}

static void make_groups(struct sonde_tile_decoded *decoded)
{
	uint32_t groups = 0;
	for (size_t depth = 0; depth < SONDE_TILE_DEPTHS; depth++) {
		uint32_t from = decoded->first[depth], count = decoded->first[depth + 1] - from;
		struct sonde_tile_node *node = &decoded->groups[groups];
		decoded->first_group[depth] = groups;
		for (uint32_t i = 0; i < count; i++) {
			struct sonde_tile_node leaf = sonde_tile_slice_node(&decoded->slices[from + i]);
			if (i % SONDE_TILE_FAN == 0)
				*(node = &decoded->groups[groups++]) = leaf;
			else
				sonde_tile_node_add(node, &leaf, SONDE_TILE_SLICES);
		}
	}
	decoded->first_group[SONDE_TILE_DEPTHS] = groups;
}

/* Counting sort by depth; slices of one depth stay in order. */
static struct sonde_tile_decoded *lay_out(struct sonde_tiles *tiles, const struct sonde_batch *batch)
{
	uint32_t at[SONDE_TILE_DEPTHS] = {0};
	size_t slices_b = sizeof(struct sonde_tile_decoded) + batch->count * sizeof(struct sonde_tile_slice);
	size_t size_b = slices_b + (batch->count / SONDE_TILE_FAN + SONDE_TILE_DEPTHS) * sizeof(struct sonde_tile_node);
	struct sonde_tile_decoded *decoded = malloc(size_b);
	if (!decoded)
		return NULL;
	decoded->size_b = size_b;
	decoded->groups = (struct sonde_tile_node *)(void *)((char *)decoded + slices_b);
	for (size_t i = 0; i < batch->count; i++)
		if (batch->zones.depth[i] < SONDE_TILE_DEPTHS)
			at[batch->zones.depth[i]]++;
	decoded->first[0] = 0;
	for (size_t depth = 0; depth < SONDE_TILE_DEPTHS; depth++) {
		decoded->first[depth + 1] = decoded->first[depth] + at[depth];
		at[depth] = decoded->first[depth];
	}
	for (size_t i = 0; i < batch->count; i++)
		if (batch->zones.depth[i] < SONDE_TILE_DEPTHS)
			decoded->slices[at[batch->zones.depth[i]]++] = (struct sonde_tile_slice){
			    batch->zones.start_ns[i], batch->zones.start_ns[i] + batch->zones.dur_ns[i],
			    tiles->site_names[batch->zones.site[i]] - 1, 0};
	make_groups(decoded);
	return decoded;
}

/* Removes the least recently used entries until there is enough capacity. */
static int make_capacity(struct sonde_tile_cache *cache, size_t size_b)
{
	size_t kept = cache->count;
	while (kept && cache->size_b + size_b > CACHE_MAX_B) {
		size_t oldest = 0;
		for (size_t i = 1; i < kept; i++)
			oldest = cache->rows[i]->used < cache->rows[oldest]->used ? i : oldest;
		cache->size_b -= cache->rows[oldest]->size_b;
		free(cache->rows[oldest]);
		cache->rows[oldest] = cache->rows[--kept];
	}
	if (kept == cache->count)
		return 0;
	cache->count = kept;
	sonde_map_fini(&cache->index);
	cache->index = (struct sonde_map){0};
	int rc = 0;
	for (size_t i = 0; i < kept && !rc; i++)
		rc = sonde_map_add(&cache->index, sonde_hash_mix(cache->rows[i]->chunk + 1), (uint32_t)i + 1);
	return rc;
}

static int keep(struct sonde_tile_cache *cache, struct sonde_tile_decoded *decoded)
{
	if (make_capacity(cache, decoded->size_b))
		return -ENOMEM;
	if (cache->count == cache->cap) {
		size_t cap = cache->cap ? 2 * cache->cap : 64;
		struct sonde_tile_decoded **rows = realloc(cache->rows, cap * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		cache->rows = rows;
		cache->cap = cap;
	}
	if (sonde_map_add(&cache->index, sonde_hash_mix(decoded->chunk + 1), (uint32_t)cache->count + 1))
		return -ENOMEM;
	cache->rows[cache->count++] = decoded;
	cache->size_b += decoded->size_b;
	return 0;
}

int sonde_tile_cache_has(const struct sonde_tile_cache *cache, size_t chunk)
{
	return sonde_map_find(&cache->index, sonde_hash_mix(chunk + 1), NULL, NULL) != 0;
}

int sonde_tile_cache_get(struct sonde_tiles *tiles, size_t chunk, const struct sonde_tile_decoded **out)
{
	struct sonde_tile_cache *cache = &tiles->cache;
	const struct sonde_batch *batch;
	uint32_t found = sonde_map_find(&cache->index, sonde_hash_mix(chunk + 1), NULL, NULL);
	if (found) {
		cache->rows[found - 1]->used = ++cache->calls;
		*out = cache->rows[found - 1];
		return 0;
	}
	uint64_t begun_ns = sonde_clock_now_ns();
	int rc = sonde_cursor_zones(cache->cursor, chunk, &batch);
	if (rc < 0)
		return rc;
	cache->decoded++;
	struct sonde_tile_decoded *decoded = lay_out(tiles, batch);
	if (decoded) {
		decoded->chunk = chunk;
		decoded->used = ++cache->calls;
	}
	if (!decoded || keep(cache, decoded)) {
		free(decoded);
		return sonde_error(ENOMEM, "out of memory for the zones of a chunk");
	}
	cache->decode_ns = sonde_clock_now_ns() - begun_ns;
	*out = decoded;
	return 0;
}

int sonde_tile_cache_slices(struct sonde_tiles *tiles, const struct sonde_tile_lane_data *lane, size_t node,
			    const struct sonde_tile_slice **out, const struct sonde_tile_node **groups)
{
	const struct sonde_tile_where *where = &lane->where[node];
	const struct sonde_tile_decoded *decoded;
	if (where->chunk == UINT32_MAX)
		return 0;
	int rc = sonde_tile_cache_get(tiles, where->chunk, &decoded);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	uint32_t depth = lane->lane.depth, from = decoded->first[depth], to = decoded->first[depth + 1];
	uint32_t many = lane->levels[0][node].many;
	if (where->first > to - from || many > to - from - where->first) /* the body contradicts the summary */
		return 0;
	*out = &decoded->slices[from + where->first];
	int stands_so =
	    where->first % SONDE_TILE_FAN == 0 && (many % SONDE_TILE_FAN == 0 || where->first + many == to - from);
	*groups = stands_so ? &decoded->groups[decoded->first_group[depth] + where->first / SONDE_TILE_FAN] : NULL;
	return (int)many;
}
