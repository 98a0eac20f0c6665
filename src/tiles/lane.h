/* lane.h: a lane's leaves and the pyramid over them, for the files of this folder.
 *
 * Leaves of one lane are added in order of time. A slice that begins before the one before it ended is cut there; one
 * that ends before its beginning has no length: recordings are input.
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
	uint32_t also; /* of the path: the thread */
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

/* Where the slices of a node of zones are. */
struct sonde_tile_where {
	uint32_t chunk; /* UINT32_MAX: the node is a slice */
	uint32_t first; /* of its depth in the chunk */
};

struct sonde_tile_lane_data {
	struct sonde_tile_lane lane; /* first: what others see */
	union {
		struct sonde_tile_slice *slices;
		struct sonde_tile_piece *pieces;
		void *leaves;
	};
	size_t cap;
	struct sonde_tile_where *where; /* zones: of each node of levels[0], which is there instead of leaves */
	struct sonde_tile_node *levels[SONDE_TILE_LEVELS]; /* [0]: of 16 leaves each */
	size_t counts[SONDE_TILE_LEVELS];
	unsigned level_count;
	uint32_t sub;                      /* tells lanes of one kind, process and thread apart */
	uint64_t life_from_ns, life_to_ns; /* of the thread, where it is a curve of CPU time */
	/* Of a recording that grows (extend.c). */
	size_t kept;       /* zones: nodes that were there before */
	uint64_t lost_ns;  /* zones: where what was open began, which is not kept; UINT64_MAX = nothing was */
	uint64_t open_out; /* of left_out, what is open */
	struct sonde_tile_since since[SONDE_TILE_MAKINGS]; /* each making before, the last first */
};

/* -ENOMEM. `room_b`: how much memory leaves may still take; without it they are left out, and counted. */
int sonde_tile_lane_slice(struct sonde_tile_lane_data *lane, struct sonde_tile_slice slice, size_t *room_b);
int sonde_tile_lane_piece(struct sonde_tile_lane_data *lane, struct sonde_tile_piece piece, size_t *room_b);

/* A node of zones, and where they are; -ENOMEM. */
int sonde_tile_lane_node(struct sonde_tile_lane_data *lane, const struct sonde_tile_node *node,
			 struct sonde_tile_where where);
/* One zone more of a chunk that has no nodes. */
int sonde_tile_lane_zone(struct sonde_tile_lane_data *lane, const struct sonde_tile_slice *zone,
			 struct sonde_tile_where where);

/* Adds what comes next in time. */
void sonde_tile_node_add(struct sonde_tile_node *into, const struct sonde_tile_node *node, enum sonde_tile_form form);

/* A leaf as a node of one. */
struct sonde_tile_node sonde_tile_slice_node(const struct sonde_tile_slice *slice);
struct sonde_tile_node sonde_tile_lane_leaf(const struct sonde_tile_lane_data *lane, size_t i);

/* Builds the pyramid, when all leaves are there. -ENOMEM. */
int sonde_tile_lane_build(struct sonde_tile_lane_data *lane);
void sonde_tile_lane_fini(struct sonde_tile_lane_data *lane);

#endif
