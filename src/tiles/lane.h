/* lane.h: a lane's leaves and the pyramid over them, for the files of this folder.
 *
 * The leaves of a lane are added in time order. A slice that begins before the end of the previous one is cut at that
 * end; one that ends before it begins gets length 0: recordings are untrusted.
 */
#ifndef SONDE_TILES_LANE_H
#define SONDE_TILES_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "tiles/tile.h"

enum { SONDE_TILE_FAN = 16, SONDE_TILE_LEVELS = 10, SONDE_TILE_MAKINGS = 16 };

struct sonde_tile_slice {
	uint64_t from_ns, to_ns;
	uint32_t name;
	uint32_t also; /* for the critical path: the thread */
};

struct sonde_tile_piece {
	uint64_t from_ns, to_ns;
	double least, most;
};

struct sonde_tile_node {
	uint64_t from_ns, to_ns;
	union {
		uint64_t busy_ns;
		double least;
	};
	union {
		uint64_t longest_ns;
		double most;
	};
	uint32_t name, many;
};

/* Where the slices of a zone node are. */
struct sonde_tile_where {
	uint32_t chunk; /* UINT32_MAX: the node is a slice */
	uint32_t first; /* index within its depth in the chunk */
};

struct sonde_tile_lane_data {
	struct sonde_tile_lane lane; /* first: the public part */
	union {
		struct sonde_tile_slice *slices;
		struct sonde_tile_piece *pieces;
		void *leaves;
	};
	size_t cap;
	struct sonde_tile_where *where; /* zones: one per node of levels[0]; zones have these instead of leaves */
	struct sonde_tile_node *levels[SONDE_TILE_LEVELS]; /* [0]: nodes of 16 leaves each */
	size_t counts[SONDE_TILE_LEVELS];
	unsigned level_count;
	uint32_t sub;                      /* distinguishes lanes of one kind, process and thread */
	uint64_t life_from_ns, life_to_ns; /* lifetime of the thread, for a CPU time curve */
	/* For a recording that grows (extend.c): */
	size_t kept;       /* zones: number of nodes taken over from the previous version */
	uint64_t lost_ns;  /* zones: start of the open slice that was dropped; UINT64_MAX = none */
	uint64_t open_out; /* the part of left_out that was open */
	struct sonde_tile_since since[SONDE_TILE_MAKINGS]; /* earlier versions, latest first */
};

/* -ENOMEM. `room_b`: memory that leaves may still use; beyond it, they are omitted and counted. */
int sonde_tile_lane_slice(struct sonde_tile_lane_data *lane, struct sonde_tile_slice slice, size_t *room_b);
int sonde_tile_lane_piece(struct sonde_tile_lane_data *lane, struct sonde_tile_piece piece, size_t *room_b);

/* Adds a node of zones, and the location of its slices; -ENOMEM. */
int sonde_tile_lane_node(struct sonde_tile_lane_data *lane, const struct sonde_tile_node *node,
			 struct sonde_tile_where where);
/* Adds a single zone, of a chunk without nodes. */
int sonde_tile_lane_zone(struct sonde_tile_lane_data *lane, const struct sonde_tile_slice *zone,
			 struct sonde_tile_where where);

/* Adds a node that follows in time. */
void sonde_tile_node_add(struct sonde_tile_node *into, const struct sonde_tile_node *node, enum sonde_tile_form form);

/* A leaf as a node of one slice. */
struct sonde_tile_node sonde_tile_slice_node(const struct sonde_tile_slice *slice);
struct sonde_tile_node sonde_tile_lane_leaf(const struct sonde_tile_lane_data *lane, size_t i);

/* Builds the pyramid once all leaves have been added. -ENOMEM. */
int sonde_tile_lane_build(struct sonde_tile_lane_data *lane);
void sonde_tile_lane_fini(struct sonde_tile_lane_data *lane);

#endif
