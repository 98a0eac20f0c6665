/* lane.c: a lane's leaves and the pyramid over them. */
#include "tiles/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "fold/nodes.h"
#include "util/error.h"

static uint32_t add_many(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

void sonde_tile_node_add(struct sonde_tile_node *into, const struct sonde_tile_node *node, enum sonde_tile_form form)
{
	if (!into->many) {
		*into = *node;
		return;
	}
	into->to_ns = node->to_ns;
	into->many = add_many(into->many, node->many);
	if (form == SONDE_TILE_CURVE) {
		into->least = node->least < into->least ? node->least : into->least;
		into->most = node->most > into->most ? node->most : into->most;
		return;
	}
	into->busy_ns += node->busy_ns;
	if (node->longest_ns > into->longest_ns) {
		into->longest_ns = node->longest_ns;
		into->name = node->name;
	}
}

/* Ensures capacity for one more leaf; 0: the memory limit is reached. */
static int grow(struct sonde_tile_lane_data *lane, size_t leaf_b, size_t *room_b)
{
	if (lane->lane.count < lane->cap)
		return 1;
	size_t cap = lane->cap ? 2 * lane->cap : 16;
	if ((cap - lane->cap) * leaf_b > *room_b) {
		lane->lane.left_out++;
		return 0;
	}
	void *leaves = realloc(lane->leaves, cap * leaf_b);
	if (!leaves)
		return sonde_error(ENOMEM, "out of memory for a lane of %zu", cap);
	*room_b -= (cap - lane->cap) * leaf_b;
	lane->leaves = leaves;
	lane->cap = cap;
	return 1;
}

int sonde_tile_lane_slice(struct sonde_tile_lane_data *lane, struct sonde_tile_slice slice, size_t *room_b)
{
	int rc = grow(lane, sizeof slice, room_b);
	if (rc <= 0)
		return rc;
	uint64_t count = lane->lane.count, last_ns = count ? lane->slices[count - 1].to_ns : 0;
	slice.from_ns = slice.from_ns > last_ns ? slice.from_ns : last_ns;
	slice.to_ns = slice.to_ns > slice.from_ns ? slice.to_ns : slice.from_ns;
	lane->slices[lane->lane.count++] = slice;
	return 0;
}

int sonde_tile_lane_piece(struct sonde_tile_lane_data *lane, struct sonde_tile_piece piece, size_t *room_b)
{
	int rc = grow(lane, sizeof piece, room_b);
	if (rc <= 0)
		return rc;
	uint64_t count = lane->lane.count, last_ns = count ? lane->pieces[count - 1].to_ns : 0;
	piece.from_ns = piece.from_ns > last_ns ? piece.from_ns : last_ns;
	piece.to_ns = piece.to_ns > piece.from_ns ? piece.to_ns : piece.from_ns;
	lane->lane.most = !count || piece.most > lane->lane.most ? piece.most : lane->lane.most;
	lane->pieces[lane->lane.count++] = piece;
	return 0;
}

/* Order takes precedence over recorded times, which are untrusted. */
int sonde_tile_lane_node(struct sonde_tile_lane_data *lane, const struct sonde_tile_node *node,
			 struct sonde_tile_where where)
{
	size_t count = lane->counts[0];
	if (count == lane->cap) {
		size_t cap = lane->cap ? 2 * lane->cap : 16;
		struct sonde_tile_node *nodes = realloc(lane->levels[0], cap * sizeof *nodes);
		lane->levels[0] = nodes ? nodes : lane->levels[0];
		struct sonde_tile_where *all = nodes ? realloc(lane->where, cap * sizeof *all) : NULL;
		if (!all)
			return sonde_error(ENOMEM, "out of memory for %zu nodes of zones", cap);
		lane->where = all;
		lane->cap = cap;
	}
	uint64_t last_ns = count ? lane->levels[0][count - 1].to_ns : 0;
	struct sonde_tile_node kept = *node;
	kept.from_ns = kept.from_ns > last_ns ? kept.from_ns : last_ns;
	kept.to_ns = kept.to_ns > kept.from_ns ? kept.to_ns : kept.from_ns;
	uint64_t length_ns = kept.to_ns - kept.from_ns;
	kept.busy_ns = kept.busy_ns < length_ns ? kept.busy_ns : length_ns;
	kept.longest_ns = kept.longest_ns < length_ns ? kept.longest_ns : length_ns;
	lane->level_count = 1;
	lane->where[count] = where;
	lane->levels[0][lane->counts[0]++] = kept;
	lane->lane.count += kept.many;
	return 0;
}

int sonde_tile_lane_zone(struct sonde_tile_lane_data *lane, const struct sonde_tile_slice *zone,
			 struct sonde_tile_where where)
{
	size_t count = lane->counts[0];
	struct sonde_tile_node node = sonde_tile_slice_node(zone);
	struct sonde_tile_node *last = count ? &lane->levels[0][count - 1] : NULL;
	if (!last || lane->where[count - 1].chunk != where.chunk || last->many >= SONDE_NODE_ZONES ||
	    zone->from_ns < last->to_ns)
		return sonde_tile_lane_node(lane, &node, where);
	sonde_tile_node_add(last, &node, SONDE_TILE_SLICES);
	lane->lane.count++;
	return 0;
}

struct sonde_tile_node sonde_tile_slice_node(const struct sonde_tile_slice *slice)
{
	struct sonde_tile_node node = {
	    .from_ns = slice->from_ns, .to_ns = slice->to_ns, .name = slice->name, .many = 1};
	node.busy_ns = node.longest_ns = slice->to_ns - slice->from_ns;
	return node;
}

struct sonde_tile_node sonde_tile_lane_leaf(const struct sonde_tile_lane_data *lane, size_t i)
{
	struct sonde_tile_node node = {.many = 1};
	if (lane->lane.form == SONDE_TILE_CURVE) {
		const struct sonde_tile_piece *piece = &lane->pieces[i];
		node.from_ns = piece->from_ns;
		node.to_ns = piece->to_ns;
		node.least = piece->least;
		node.most = piece->most;
		return node;
	}
	return sonde_tile_slice_node(&lane->slices[i]);
}

int sonde_tile_lane_build(struct sonde_tile_lane_data *lane)
{
	size_t below = lane->where ? lane->counts[0] : lane->lane.count;
	while (below && lane->level_count < SONDE_TILE_LEVELS && (below > 1 || !lane->level_count)) {
		unsigned level = lane->level_count;
		size_t count = (below + SONDE_TILE_FAN - 1) / SONDE_TILE_FAN;
		struct sonde_tile_node *nodes = calloc(count, sizeof *nodes);
		if (!nodes)
			return sonde_error(ENOMEM, "out of memory for %zu nodes of a lane", count);
		for (size_t i = 0; i < below; i++) {
			struct sonde_tile_node leaf =
			    level ? lane->levels[level - 1][i] : sonde_tile_lane_leaf(lane, i);
			sonde_tile_node_add(&nodes[i / SONDE_TILE_FAN], &leaf, lane->lane.form);
		}
		lane->levels[level] = nodes;
		lane->counts[level] = below = count;
		lane->level_count++;
	}
	return 0;
}

void sonde_tile_lane_fini(struct sonde_tile_lane_data *lane)
{
	for (unsigned i = 0; i < lane->level_count; i++)
		free(lane->levels[i]);
	free(lane->leaves);
	free(lane->where);
}
