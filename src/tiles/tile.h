/* tile.h: what a lane of the timeline is, and what its slices are called by. */
#ifndef SONDE_TILES_TILE_H
#define SONDE_TILES_TILE_H

#include <stdint.h>

enum sonde_tile_form { SONDE_TILE_SLICES = 1, SONDE_TILE_CURVE = 2, SONDE_TILE_MOMENTS = 3 };

/* In the order in which the lanes of a thread are drawn. */
enum sonde_tile_kind {
	SONDE_TILE_PATH,
	SONDE_TILE_DEVICE, /* a queue of a device: of its process */
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
	uint32_t process, thread; /* ids; 0 = of none */
	uint32_t depth;           /* of lanes that nest: 0 = the outermost */
	const char *title, *unit;
	uint64_t count; /* of slices, pieces of a curve, moments */
	uint64_t
	    left_out; /* that it has no room for: zones deeper than SONDE_TILE_DEPTHS, what memory has no room for */
	double most;  /* of a curve; else 0 */
};

/* What slices and moments are called by. */
struct sonde_tile_name {
	const char *text;
	uint32_t color; /* 0xRRGGBB; 0 = none was chosen */
};

/* A lane as it was in an earlier making. */
struct sonde_tile_since {
	uint32_t id;         /* then; UINT32_MAX = it was not there */
	uint64_t changed_ns; /* bins of before are what they were; UINT64_MAX = all are */
};

#endif
