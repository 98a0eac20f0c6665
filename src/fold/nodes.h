/* nodes.h: a coarse timeline of a chunk's zones for drawing: one node for up to 256 zones of the same depth.
 *
 * Nodes are stored in the summaries of ZONES chunks, after the totals by site (docs/FORMAT.md), so that a timeline of
 * the whole recording needs no chunk bodies. They are made while zones are paired: by the recorder, by a program that
 * records itself, and by readers for recordings without them. Allocates nothing: the caller owns the memory.
 *
 * A node covers zones of one depth that ended consecutively in the chunk; it is full at SONDE_NODE_ZONES of them, and
 * the last node of each depth may be partial. Zones deeper than SONDE_NODE_DEPTHS are only counted.
 */
#ifndef SONDE_FOLD_NODES_H
#define SONDE_FOLD_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

#define SONDE_NODE_ZONES 256u
#define SONDE_NODE_DEPTHS 64u
#define SONDE_NODE_MAX_B (7u * SONDE_VARINT_MAX_B)
/* Upper bound of the size of the nodes for a chunk of so many events. */
#define SONDE_NODES_MAX_B(events) (((events) / (2 * SONDE_NODE_ZONES) + SONDE_NODE_DEPTHS + 1) * SONDE_NODE_MAX_B)

/* Header before the nodes. A node is seven varints: depth, zones, first start − the chunk's time_min_ns (zigzag), last
 * end − first start, Σ durations, the longest duration, and the site of the longest zone (the first of equally long
 * ones). */
struct sonde_zone_nodes_head {
	uint32_t nodes_b; /* size of the nodes that follow */
	uint32_t deeper;  /* zones that belong to no node */
};

struct sonde_nodes_row {
	uint64_t first_ns, last_ns, busy_ns, longest_ns;
	uint32_t site, count;
};

struct sonde_nodes {
	struct sonde_nodes_row open[SONDE_NODE_DEPTHS];
	uint8_t *data; /* encoded nodes; capacity SONDE_NODES_MAX_B of the chunk's maximum number of events */
	size_t data_b;
	uint64_t base_ns;        /* the chunk's time_min_ns */
	uint32_t deeper, depths; /* depths: one more than the deepest depth with a node */
};

/* Starts a chunk; keeps `data`. */
void sonde_nodes_begin(struct sonde_nodes *nodes, uint64_t base_ns);
/* Writes the partial nodes; after that, data_b bytes are complete. */
void sonde_nodes_end(struct sonde_nodes *nodes);
/* Writes the partial node of one depth. */
void sonde_nodes_put(struct sonde_nodes *nodes, uint32_t depth);

/* The number of zones that can be added at once. */
static inline uint32_t sonde_nodes_capacity(const struct sonde_nodes *nodes, uint32_t depth)
{
	return depth < SONDE_NODE_DEPTHS ? SONDE_NODE_ZONES - nodes->open[depth].count : UINT32_MAX;
}

/* `more` covers `count` consecutive zones of one depth, at most sonde_nodes_capacity(), that end after all added
 * before. */
static inline void sonde_nodes_add(struct sonde_nodes *nodes, uint32_t depth, const struct sonde_nodes_row *more)
{
	if (depth >= SONDE_NODE_DEPTHS) {
		nodes->deeper += more->count;
		return;
	}
	struct sonde_nodes_row *node = &nodes->open[depth];
	if (!node->count) {
		nodes->depths = depth < nodes->depths ? nodes->depths : depth + 1;
		*node = *more;
	} else {
		node->last_ns = more->last_ns;
		node->busy_ns += more->busy_ns;
		node->count += more->count;
		if (more->longest_ns > node->longest_ns) {
			node->longest_ns = more->longest_ns;
			node->site = more->site;
		}
	}
	if (node->count >= SONDE_NODE_ZONES)
		sonde_nodes_put(nodes, depth);
}

/* Adds one zone. */
static inline void sonde_nodes_add_zone(struct sonde_nodes *nodes, uint32_t depth, uint32_t site, uint64_t start_ns,
					uint64_t dur_ns)
{
	const struct sonde_nodes_row zone = {start_ns, start_ns + dur_ns, dur_ns, dur_ns, site, 1};
	sonde_nodes_add(nodes, depth, &zone);
}

/* Encodes a node, in at most SONDE_NODE_MAX_B bytes, and returns its end. */
uint8_t *sonde_nodes_encode(uint8_t *at, uint64_t base_ns, uint32_t depth, const struct sonde_nodes_row *node);
/* Decodes the node at `at` and returns its end; NULL if it is malformed or truncated. Times are unchecked but do not
 * wrap. */
const uint8_t *sonde_nodes_get(const uint8_t *at, const uint8_t *end, uint64_t base_ns, uint32_t *depth,
			       struct sonde_nodes_row *out);

#endif
