/* tiles.h: a recording as lanes over time, and bins of them: the data from which a timeline is drawn.
 *
 * A lane contains slices that neither overlap nor nest, a curve, or instants (slices without length). A 16-to-1 pyramid
 * over it stores per node the number of slices below, their time range, the covered time, and the longest slice. So the
 * cost of bins, for any range and width, depends on the number of rows drawn, not on the size of the recording.
 *
 * Times are CLOCK_MONOTONIC ns, as in the session. Use from one thread at a time, like the session. Texts and lanes
 * live as long as the tiles.
 */
#ifndef SONDE_TILES_TILES_H
#define SONDE_TILES_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"
#include "tiles/tile.h"

struct sonde_tiles;

/* Reads the current contents. -ENOMEM; unreadable chunks are skipped. */
int sonde_tiles_open(struct sonde_tiles **out, struct sonde_session *session);
void sonde_tiles_close(struct sonde_tiles *tiles);

/* False if the recording has grown since (sonde_session_refresh()): then call sonde_tiles_extend(). Until then the
 * tiles show the earlier state. */
int sonde_tiles_is_current(const struct sonde_tiles *tiles);

/* Updates the tiles to the current recording, with the same result as sonde_tiles_open(): zones of known chunks and the
 * indices of names are kept. Lanes are new, with new ids. -ENOMEM: then *tiles is NULL, and the old tiles are
 * closed. */
int sonde_tiles_extend(struct sonde_tiles **tiles);

/* Identifies this version of the tiles; unique, never 0. */
uint64_t sonde_tiles_made(const struct sonde_tiles *tiles);

/* 0, or -ESTALE: the version is unknown, or so old that it has been forgotten. */
int sonde_tiles_since(const struct sonde_tiles *tiles, uint64_t made, size_t lane, struct sonde_tile_since *out);

/* The current index of the lane that had this id in an earlier version; SIZE_MAX: none, or unknown. */
size_t sonde_tiles_lane_now(const struct sonde_tiles *tiles, uint64_t made, size_t id);

size_t sonde_tiles_lane_count(const struct sonde_tiles *tiles);
const struct sonde_tile_lane *sonde_tiles_lane(const struct sonde_tiles *tiles, size_t id); /* NULL = none */
size_t sonde_tiles_name_count(const struct sonde_tiles *tiles);
const struct sonde_tile_name *sonde_tiles_name(const struct sonde_tiles *tiles, size_t i);

/* "zones", "states": stable identifiers. */
const char *sonde_tile_kind_word(enum sonde_tile_kind kind);

/* --- bins --------------------------------------------------------------------------------------------------------- */

struct sonde_tile_view {
	uint64_t from_ns, to_ns; /* from < to */
	uint32_t width;          /* in pixels, 1 … SONDE_TILE_WIDTH_MAX */
};

/* For slices and instants, a row is either a single recorded one (many = 1), or several of them. Each of these is
 * shorter than a pixel, and together they are shorter than two. The row has the name of the longest, or of the earliest
 * of equally long ones. */
struct sonde_tile_row {
	uint64_t from_ns, to_ns;
	union {
		uint64_t busy_ns; /* slices: the covered time */
		double least;     /* curves: minimum in this time */
	};
	double most;
	uint32_t name, many;
};

struct sonde_tile_rows {
	struct sonde_tile_row *all;
	size_t count, cap;
	int is_coarse; /* sonde_tiles_bins_until() ran out of time; what it decoded is kept for next time */
};

/* The rows of a lane that overlap the view, and possibly some within a pixel of its ends, in time order. Replaces the
 * contents of `out`, which must be zeroed at first and freed with sonde_tile_rows_fini(). -ENOMEM. */
int sonde_tiles_bins(struct sonde_tiles *tiles, size_t lane, const struct sonde_tile_view *view,
		     struct sonde_tile_rows *out);
/* The same with a deadline, until_ns (CLOCK_MONOTONIC): no chunk of zones is decoded that is expected to take longer,
 * except the first one in all calls with the same until_ns. Rows may then combine zones longer than a pixel. */
int sonde_tiles_bins_until(struct sonde_tiles *tiles, size_t lane, const struct sonde_tile_view *view,
			   uint64_t until_ns, struct sonde_tile_rows *out);

/* A request for the rows of one lane, in a batch. */
struct sonde_tile_ask {
	size_t lane; /* of any kind except SONDE_TILE_CPU */
	struct sonde_tile_view view;
	struct sonde_tile_rows *rows; /* as for sonde_tiles_bins(); NULL: rows are only counted */
	uint64_t *count;              /* if so, incremented by their number; may be shared by several requests */
	uint64_t most;                /* *count is no longer incremented once it exceeds this */
	uint32_t every; /* decode only one in this many chunks, and count it for the others; 0, 1: decode all */
};

/* The same for several lanes, or for one at several widths, in one pass: each chunk of zones is decoded once.
 * -ENOMEM. */
int sonde_tiles_bins_each(struct sonde_tiles *tiles, const struct sonde_tile_ask *asks, size_t count);
void sonde_tile_rows_fini(struct sonde_tile_rows *rows);

/* --- single slices ------------------------------------------------------------------------------------------------ */

struct sonde_tile_found {
	uint32_t lane, name;
	uint64_t from_ns, to_ns;
};

struct sonde_tile_finds {
	struct sonde_tile_found *all; /* earliest first */
	size_t count, cap;
	uint64_t of;  /* total number */
	int is_whole; /* `of` is complete; otherwise counting would have taken too long */
};

/* Selects slices with one of the names and a length in the range, that overlap from_ns to to_ns. */
struct sonde_tile_search {
	const uint8_t *names; /* by name index: 1 = wanted */
	uint64_t from_ns, to_ns;
	uint64_t shortest_ns, longest_ns; /* both inclusive */
	size_t limit;
	uint32_t thread; /* search lanes of this thread, and lanes without a thread; 0: all lanes */
};

/* Finds at most `limit` slices; replaces the contents of `out`, which must be zeroed at first and freed with
 * sonde_tile_finds_fini(). -ENOMEM.
 */
int sonde_tiles_find(struct sonde_tiles *tiles, const struct sonde_tile_search *search, struct sonde_tile_finds *out);
void sonde_tile_finds_fini(struct sonde_tile_finds *finds);

/* An arrow from one thread to another (a wake-up, a lock hand-off), or from a thread to a device queue: from the
 * request to its start. */
struct sonde_tile_arrow {
	uint64_t from_ns, to_ns;
	uint32_t from_lane, to_lane;
	const char *kind; /* "wake-up", "lock", "launch" */
};

/* Writes at most `limit` of the arrows in a time range, an even selection if there are more; *of = the total number. */
size_t sonde_tiles_arrows(const struct sonde_tiles *tiles, const struct sonde_tile_view *view, size_t limit,
			  struct sonde_tile_arrow *out, size_t *of);

/* A segment of the critical path, and the lane of its thread; UINT32_MAX: none. */
struct sonde_tile_step {
	uint64_t from_ns, to_ns;
	uint32_t name, thread, lane;
};

/* The same for segments of the critical path; if there are more, the longest. In time order. */
size_t sonde_tiles_steps(const struct sonde_tiles *tiles, const struct sonde_tile_view *view, size_t limit,
			 struct sonde_tile_step *out, size_t *of);

#endif
