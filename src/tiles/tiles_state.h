/* tiles_state.h: the internal state of tiles, for the files of this folder. Each reader fills the lanes of one kind. */
#ifndef SONDE_TILES_TILES_STATE_H
#define SONDE_TILES_TILES_STATE_H

#include "tiles/lane.h"
#include "tiles/tiles.h"
#include "util/arena.h"
#include "util/map.h"

/* Limit of leaves in memory. A recording of 10 million switches takes 240 MB. */
#define SONDE_TILE_LEAVES_MAX_B ((size_t)1 << 30)

/* The zones of a chunk by depth, and nodes of SONDE_TILE_FAN zones each per depth, the last of a depth with fewer. */
struct sonde_tile_decoded {
	size_t chunk, size_b;
	struct sonde_tile_node *groups; /* stored after the slices */
	uint32_t first_group[SONDE_TILE_DEPTHS + 1];
	uint64_t used;                         /* call number of the last use */
	uint32_t first[SONDE_TILE_DEPTHS + 1]; /* index of each depth's first slice, and the end of the last */
	struct sonde_tile_slice slices[];
};

/* The last zone chunk of a thread. */
struct sonde_tile_last {
	size_t chunk; /* + 1; 0 = none */
	int is_open;  /* zones are open at its end */
};

/* Cache of the most recently decoded chunks. */
struct sonde_tile_cache {
	struct sonde_cursor *cursor; /* over zones, with the ids known when the tiles were made */
	struct sonde_tile_decoded **rows;
	size_t count, cap, size_b;
	struct sonde_map index; /* chunk + 1 → row + 1 */
	uint64_t calls, decoded;
	uint64_t decode_ns; /* duration of the last decoding */
	uint64_t until_ns;  /* the deadline for which a chunk was last decoded */
};

struct sonde_tiles {
	struct sonde_session *session;
	struct sonde_arena arena, name_arena;
	struct sonde_tile_lane_data **lanes; /* by id once all are there */
	size_t lane_count, lane_cap;
	struct sonde_map lane_index;
	struct sonde_tile_name *names;
	size_t name_count, name_cap;
	struct sonde_map name_index;
	uint32_t *site_names; /* by site id: index + 1; 0 = none yet */
	size_t room_b;
	struct sonde_tile_cache cache;
	/* The session may grow: later ids are unknown here until the tiles are extended. */
	uint32_t sites, threads;
	uint64_t period_ns;                  /* sampling period */
	uint64_t file_b;                     /* size of the recording that the tiles show */
	struct sonde_tile_arrow_row *arrows; /* in time order */
	size_t arrow_count, arrow_cap;
	uint32_t *thread_lanes;        /* by thread: its states lane, else its first lane, + 1; 0 = none */
	uint32_t *queue_lanes;         /* by queue: its first lane, + 1; 0 = none */
	size_t queues;                 /* number of device queues */
	size_t next_chunk;             /* the first chunk from which zones have not been read */
	struct sonde_tile_last *lasts; /* by thread */
	int is_vague;                  /* zones refer to an unknown thread or site, which may become known later */
	uint64_t made, makings[SONDE_TILE_MAKINGS]; /* CLOCK_MONOTONIC ns; earlier ones latest first, 0 = none */
};

enum sonde_tile_arrow_kind { SONDE_TILE_WAKES, SONDE_TILE_UNLOCKS, SONDE_TILE_LAUNCHES };

struct sonde_tile_arrow_row {
	uint64_t from_ns, to_ns;
	uint32_t from, to; /* threads; for LAUNCHES `to` is a queue */
	uint8_t kind;      /* enum sonde_tile_arrow_kind */
};

/* --- tiles.c: for readers ----------------------------------------------------------------------------------------- */

/* Identifies a lane; `sub` distinguishes lanes of one kind, process and thread. Texts live as long as the session. */
struct sonde_tile_of {
	enum sonde_tile_kind kind;
	enum sonde_tile_form form;
	uint32_t process, thread, depth, sub;
	const char *title, *unit;
};

/* Returns the lane, created if new; NULL with a message if out of memory. */
struct sonde_tile_lane_data *sonde_tiles_lane_of(struct sonde_tiles *tiles, const struct sonde_tile_of *of);

/* Returns the index of a name; −ENOMEM. A new text is copied. */
int sonde_tiles_name_of(struct sonde_tiles *tiles, const char *text, uint32_t color, uint32_t *out);
int sonde_tiles_site_name(struct sonde_tiles *tiles, uint32_t site, uint32_t *out);

/* Calls `take` for every batch of the types. Chunks that cannot be decoded are skipped. */
int sonde_tiles_walk(struct sonde_tiles *tiles, uint32_t types,
		     int (*take)(void *context, const struct sonde_batch *batch), void *context);

int sonde_tiles_arrow(struct sonde_tiles *tiles, const struct sonde_tile_arrow_row *row);
/* Call once all arrows and lanes exist. -ENOMEM. */
int sonde_tiles_arrows_sort(struct sonde_tiles *tiles);

/* For qsort() of lanes: drawing order. No two compare equal. */
int sonde_tile_lanes_order(const void *left, const void *right);

/* Both from tiles.c, for extend.c: init sets up everything that needs no reading; read runs the readers and finishes
 * the lanes. -ENOMEM. */
int sonde_tiles_init(struct sonde_tiles *tiles, struct sonde_session *session);
int sonde_tiles_read(struct sonde_tiles *tiles);

/* --- lists that are sorted and then laid out in lanes ------------------------------------------------------------ */

struct sonde_tile_item {
	uint64_t from_ns, to_ns;
	uint32_t process, thread;
	uint32_t name, sub;
	union {
		double value;
		uint64_t id;
	};
};

struct sonde_tile_items {
	struct sonde_tile_item *all;
	size_t count, cap;
	uint64_t left_out;
};

int sonde_tile_items_add(struct sonde_tiles *tiles, struct sonde_tile_items *items, struct sonde_tile_item item);
void sonde_tile_items_fini(struct sonde_tiles *tiles, struct sonde_tile_items *items);
/* Sorts by process, thread, sub, start, and longest first. */
void sonde_tile_items_sort(struct sonde_tile_items *items);

/* Sorts the items, and distributes those of each process and thread to as many lanes as needed so that none overlap. */
int sonde_tile_items_lay(struct sonde_tiles *tiles, struct sonde_tile_items *items, const struct sonde_tile_of *of);

/* --- readers: one file each -------------------------------------------------------------------------------------- */

typedef int sonde_tile_reader(struct sonde_tiles *tiles);

sonde_tile_reader sonde_tile_read_zones, sonde_tile_read_waits, sonde_tile_read_cpu, sonde_tile_read_series,
    sonde_tile_read_events, sonde_tile_read_devices;

/* Reads all tracks of these kinds: bits SONDE_TRACKS_OF(). */
int sonde_tile_read_tracks(struct sonde_tiles *tiles, uint32_t kinds);

/* --- others ------------------------------------------------------------------------------------------------------- */

int sonde_tile_rows_add(struct sonde_tile_rows *rows, const struct sonde_tile_row *row);

/* Counts a matching slice, and keeps it if it is among the earliest. -ENOMEM. */
int sonde_tile_finds_add(struct sonde_tile_finds *finds, const struct sonde_tile_search *search,
			 const struct sonde_tile_found *found);

/* The zones of a chunk; valid until the next call. -ENOMEM, or another negative errno if it cannot be decoded. */
int sonde_tile_cache_get(struct sonde_tiles *tiles, size_t chunk, const struct sonde_tile_decoded **out);
int sonde_tile_cache_has(const struct sonde_tile_cache *cache, size_t chunk);
void sonde_tile_cache_fini(struct sonde_tile_cache *cache);

/* The slices of a zone node, starting at *out; returns their number. 0: not available. -ENOMEM. `groups`: nodes of
 * SONDE_TILE_FAN of these slices each, the last with fewer; NULL if the slices are not aligned to groups. */
int sonde_tile_cache_slices(struct sonde_tiles *tiles, const struct sonde_tile_lane_data *lane, size_t node,
			    const struct sonde_tile_slice **out, const struct sonde_tile_node **groups);

/* For CPU time: the leaves are the straight parts of its running sum. */
int sonde_tile_cpu_bins(struct sonde_tiles *tiles, const struct sonde_tile_lane_data *lane,
			const struct sonde_tile_view *view, struct sonde_tile_rows *out);

#endif
