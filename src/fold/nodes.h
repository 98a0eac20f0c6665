/* nodes.h: how the zones of a chunk lie in time, for whoever draws them: one node for some 256 zones of one depth.
 *
 * Nodes stand in the summaries of ZONES chunks, behind the sums by site (docs/FORMAT.md), so that a timeline of all of
 * a recording needs no body. Made while zones are paired: in the recorder, in a program that records itself, and by
 * readers of recordings that have none. Allocates nothing: the caller has the memory.
 *
 * A node is of zones of one depth that ended one after the other in the chunk, and full with SONDE_NODE_ZONES of them;
 * the last of each depth is written as it is. What is deeper than SONDE_NODE_DEPTHS is counted only.
 */
#ifndef SONDE_FOLD_NODES_H
#define SONDE_FOLD_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

#define SONDE_NODE_ZONES 256u
#define SONDE_NODE_DEPTHS 64u
#define SONDE_NODE_MAX_B (7u * SONDE_VARINT_MAX_B)
/* What the nodes of a chunk of so many events can take. */
#define SONDE_NODES_MAX_B(events) (((events) / (2 * SONDE_NODE_ZONES) + SONDE_NODE_DEPTHS + 1) * SONDE_NODE_MAX_B)

/* Before the nodes. Each is seven varints: depth, zones, first start − the chunk's time_min_ns (zigzag), last end −
 * first start, Σ durations, the longest of them, its site: the first one's where several are as long. */
struct sonde_zone_nodes_head {
	uint32_t nodes_b; /* that follow */
	uint32_t deeper;  /* zones that are in no node */
};

struct sonde_nodes_row {
	uint64_t first_ns, last_ns, busy_ns, longest_ns;
	uint32_t site, count;
};

struct sonde_nodes {
	struct sonde_nodes_row open[SONDE_NODE_DEPTHS];
	uint8_t *data; /* nodes that are written: SONDE_NODES_MAX_B of the events that a chunk may have */
	size_t data_b;
	uint64_t base_ns;        /* the chunk's time_min_ns */
	uint32_t deeper, depths; /* depths: above the deepest that has one */
};

/* A chunk begins; `data` stays. */
void sonde_nodes_begin(struct sonde_nodes *nodes, uint64_t base_ns);
/* Writes what is open: data_b bytes are complete. */
void sonde_nodes_end(struct sonde_nodes *nodes);
/* Writes one depth's. */
void sonde_nodes_put(struct sonde_nodes *nodes, uint32_t depth);

/* How many zones may be added at once, at most. */
static inline uint32_t sonde_nodes_room(const struct sonde_nodes *nodes, uint32_t depth)
{
	return depth < SONDE_NODE_DEPTHS ? SONDE_NODE_ZONES - nodes->open[depth].count : UINT32_MAX;
}

/* `more` is of `count` zones of one depth in a row, at most sonde_nodes_room(); they end after all that were added. */
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

/* One zone. */
static inline void sonde_nodes_add_zone(struct sonde_nodes *nodes, uint32_t depth, uint32_t site, uint64_t start_ns,
					uint64_t dur_ns)
{
	const struct sonde_nodes_row zone = {start_ns, start_ns + dur_ns, dur_ns, dur_ns, site, 1};
	sonde_nodes_add(nodes, depth, &zone);
}

/* Reads one that is at `at`; behind it, or NULL: it makes no sense, or is cut off. Times may be any, but do not wrap.
 */
const uint8_t *sonde_nodes_get(const uint8_t *at, const uint8_t *end, uint64_t base_ns, uint32_t *depth,
			       struct sonde_nodes_row *out);

#endif
