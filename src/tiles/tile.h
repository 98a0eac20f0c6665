/* tile.h: a lane of the timeline, and the names of its slices. */
#ifndef SONDE_TILES_TILE_H
#define SONDE_TILES_TILE_H

#include <stdint.h>

enum sonde_tile_form { SONDE_TILE_SLICES = 1, SONDE_TILE_CURVE = 2, SONDE_TILE_MOMENTS = 3 };

/* In drawing order within a thread. */
enum sonde_tile_kind {
	SONDE_TILE_PATH,
	SONDE_TILE_DEVICE, /* a queue of a device; belongs to its process */
	SONDE_TILE_HEAP,
	SONDE_TILE_SERIES,
	SONDE_TILE_SPANS,
	SONDE_TILE_COUNTERS,
	SONDE_TILE_STATES,
	SONDE_TILE_CPU,
	SONDE_TILE_WAITS,
	SONDE_TILE_ITERATIONS,
	SONDE_TILE_INSTANTS,
	SONDE_TILE_ZONES,
	SONDE_TILE_KINDS
};

enum { SONDE_TILE_DEPTHS = 64, SONDE_TILE_WIDTH_MAX = 16384 };

struct sonde_tile_lane {
	uint32_t id; /* its index */
	enum sonde_tile_kind kind;
	enum sonde_tile_form form;
	uint32_t process, thread; /* ids; 0 = none */
	uint32_t depth;           /* for nested lanes: 0 = the outermost */
	const char *title, *unit;
	uint64_t count;    /* number of slices, curve pieces or instants */
	uint64_t left_out; /* omitted: zones deeper than SONDE_TILE_DEPTHS, and what exceeds the memory limit */
	double most;       /* maximum of a curve; otherwise 0 */
};

/* The name of slices and instants. */
struct sonde_tile_name {
	const char *text;
	uint32_t color; /* 0xRRGGBB; 0 = not chosen */
};

/* A lane compared with an earlier version. */
struct sonde_tile_since {
	uint32_t id;         /* the lane's id in the earlier version; UINT32_MAX = it did not exist */
	uint64_t changed_ns; /* bins before this time are unchanged; UINT64_MAX = all are */
};

#endif
