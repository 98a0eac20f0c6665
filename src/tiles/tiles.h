/* tiles.h: a recording as lanes over time, and bins of them: what a timeline is drawn from.
 *
 * A lane has slices that neither overlap nor nest, a curve, or moments (slices without length). Each has a pyramid over
 * it, 16 to 1, whose nodes say how many slices lie below, from when to when, how much of that they cover, and which is
 * the longest: so bins of any part at any width cost what is drawn, not what was recorded.
 *
 * Times are CLOCK_MONOTONIC ns, as in the session. One thread at a time, as with the session. Texts and lanes live as
 * long as the tiles.
 */
#ifndef SONDE_TILES_TILES_H
#define SONDE_TILES_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"
#include "tiles/tile.h"

struct sonde_tiles;

/* Reads what there is. -ENOMEM; chunks that cannot be read are left out. */
int sonde_tiles_open(struct sonde_tiles **out, struct sonde_session *session);
void sonde_tiles_close(struct sonde_tiles *tiles);

/* Whether the recording has not grown since (sonde_session_refresh()): else sonde_tiles_extend(). Until then they show
 * what was there. */
int sonde_tiles_is_current(const struct sonde_tiles *tiles);

/* Makes them those of the recording as it is now, as sonde_tiles_open() would: zones of chunks that were there are
 * kept, and so are names, at their places. Lanes are others, with ids of their own. -ENOMEM: then *tiles is NULL, and
 * what it was is closed. */
int sonde_tiles_extend(struct sonde_tiles **tiles);

/* What tells this making of the tiles from all others; never 0. */
uint64_t sonde_tiles_made(const struct sonde_tiles *tiles);

/* 0, or -ESTALE: that making is not known, or so long ago that it has been forgotten. */
int sonde_tiles_since(const struct sonde_tiles *tiles, uint64_t made, size_t lane, struct sonde_tile_since *out);

/* Which lane is now what had an id then; SIZE_MAX: none, or it is not known. */
size_t sonde_tiles_lane_now(const struct sonde_tiles *tiles, uint64_t made, size_t id);

size_t sonde_tiles_lane_count(const struct sonde_tiles *tiles);
const struct sonde_tile_lane *sonde_tiles_lane(const struct sonde_tiles *tiles, size_t id); /* NULL = none */
size_t sonde_tiles_name_count(const struct sonde_tiles *tiles);
const struct sonde_tile_name *sonde_tiles_name(const struct sonde_tiles *tiles, size_t i);

/* "zones", "states": stable words. */
const char *sonde_tile_kind_word(enum sonde_tile_kind kind);

/* --- bins --------------------------------------------------------------------------------------------------------- */

struct sonde_tile_view {
	uint64_t from_ns, to_ns; /* from < to */
	uint32_t width;          /* in pixels, 1 … SONDE_TILE_WIDTH_MAX */
};

/* Of slices and moments: one as it was recorded (many = 1), or so many that are less than a pixel each and together
 * less than two; the longest has the name, the earliest of these. */
struct sonde_tile_row {
	uint64_t from_ns, to_ns;
	union {
		uint64_t busy_ns; /* slices: how much of it they cover */
		double least;     /* curves: in this time */
	};
	double most;
	uint32_t name, many;
};

struct sonde_tile_rows {
	struct sonde_tile_row *all;
	size_t count, cap;
	int is_coarse; /* sonde_tiles_bins_until() came to its end first; what was decoded is there next time */
};

/* The rows of a lane that lie in the view with any part, and at its ends maybe some within a pixel of it, in order of
 * time; replaces what is in `out`, which begins zeroed and is freed with sonde_tile_rows_fini(). -ENOMEM. */
int sonde_tiles_bins(struct sonde_tiles *tiles, size_t lane, const struct sonde_tile_view *view,
		     struct sonde_tile_rows *out);
/* The same in little time: but for the first that calls with the same until_ns (CLOCK_MONOTONIC) come to, no chunk of
 * zones is decoded that would take longer than that, and rows of zones may be of some that are longer than a pixel. */
int sonde_tiles_bins_until(struct sonde_tiles *tiles, size_t lane, const struct sonde_tile_view *view,
			   uint64_t until_ns, struct sonde_tile_rows *out);

/* Rows of one lane, among others that are asked for at once. */
struct sonde_tile_ask {
	size_t lane; /* of any kind but SONDE_TILE_CPU */
	struct sonde_tile_view view;
	struct sonde_tile_rows *rows; /* as of sonde_tiles_bins(); NULL: they are only counted */
	uint64_t *count;              /* then: it grows by how many they are, and several asks may share it; */
	uint64_t most;                /* where it gets greater than this, it grows no further */
	uint32_t every; /* of so many chunks that would be decoded one is, and counts for the others; 0, 1: all are */
};

/* The same of several lanes, or of one at several widths, in one pass: each chunk of zones is decoded once. -ENOMEM. */
int sonde_tiles_bins_each(struct sonde_tiles *tiles, const struct sonde_tile_ask *asks, size_t count);
void sonde_tile_rows_fini(struct sonde_tile_rows *rows);

/* --- single slices ------------------------------------------------------------------------------------------------ */

struct sonde_tile_found {
	uint32_t lane, name;
	uint64_t from_ns, to_ns;
};

struct sonde_tile_finds {
	struct sonde_tile_found *all; /* the earliest first */
	size_t count, cap;
	uint64_t of;  /* how many there are */
	int is_whole; /* `of` is known; else it would have taken too long to count */
};

/* Slices that have one of the names and are as long as is asked for, in the time from from_ns to to_ns with any part.
 */
struct sonde_tile_search {
	const uint8_t *names; /* by index: 1 = wanted */
	uint64_t from_ns, to_ns;
	uint64_t shortest_ns, longest_ns; /* both included */
	size_t limit;
	uint32_t thread; /* of its lanes, and of those that are of no thread; 0: of all */
};

/* At most `limit`; replaces what is in `out`, which begins zeroed and is freed with sonde_tile_finds_fini(). -ENOMEM.
 */
int sonde_tiles_find(struct sonde_tiles *tiles, const struct sonde_tile_search *search, struct sonde_tile_finds *out);
void sonde_tile_finds_fini(struct sonde_tile_finds *finds);

/* From one thread to another: who woke whom, who gave a lock to whom; from a thread to a queue of a device: what it
 * asked for, from when it did to its start. */
struct sonde_tile_arrow {
	uint64_t from_ns, to_ns;
	uint32_t from_lane, to_lane;
	const char *kind; /* "wake-up", "lock", "launch" */
};

/* Writes at most `limit` of the arrows in a time, evenly chosen where there are more; how many there are in `of`. */
size_t sonde_tiles_arrows(const struct sonde_tiles *tiles, const struct sonde_tile_view *view, size_t limit,
			  struct sonde_tile_arrow *out, size_t *of);

/* A step of the critical path, and the lane of its thread; UINT32_MAX: it has none. */
struct sonde_tile_step {
	uint64_t from_ns, to_ns;
	uint32_t name, thread, lane;
};

/* The same of the steps of the critical path; where there are more, the longest. In order of time. */
size_t sonde_tiles_steps(const struct sonde_tiles *tiles, const struct sonde_tile_view *view, size_t limit,
			 struct sonde_tile_step *out, size_t *of);

#endif
