/* tiles.c: creates the lanes of a recording, and sorts them in drawing order. */
#include "tiles/tiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/order.h"
#include "tiles/tiles_state.h"
#include "tracks/tracks.h"
#include "util/array.h"
#include "util/error.h"

#define NAMES_MAX 200000u /* message texts are arbitrary: beyond this they become "…" */

/* Kinds of tracks that have a reader of their own here (tracks/README.md says why). */
#define OWN                                                                           \
	(SONDE_TRACKS_OF(SONDE_TRACK_EVENTS) | SONDE_TRACKS_OF(SONDE_TRACK_DEVICES) | \
	 SONDE_TRACKS_OF(SONDE_TRACK_SERIES))

/* Names are numbered in this order; kinds of tracks not listed come last. */
#define EARLIER                                                                          \
	(OWN | SONDE_TRACKS_OF(SONDE_TRACK_STATES) | SONDE_TRACKS_OF(SONDE_TRACK_HEAP) | \
	 SONDE_TRACKS_OF(SONDE_TRACK_PATH))

static const struct {
	sonde_tile_reader *read;
	uint32_t kinds; /* or track kinds, if `read` is NULL */
} readers[] = {
    {sonde_tile_read_zones, 0},   {NULL, SONDE_TRACKS_OF(SONDE_TRACK_STATES)},
    {sonde_tile_read_waits, 0},   {sonde_tile_read_cpu, 0},
    {sonde_tile_read_series, 0},  {NULL, SONDE_TRACKS_OF(SONDE_TRACK_HEAP)},
    {sonde_tile_read_events, 0},  {NULL, SONDE_TRACKS_OF(SONDE_TRACK_PATH)},
    {sonde_tile_read_devices, 0}, {NULL, SONDE_TRACKS_ALL & ~EARLIER},
};

const char *sonde_tile_kind_word(enum sonde_tile_kind kind)
{
	static const char *const words[SONDE_TILE_KINDS] = {
	    [SONDE_TILE_PATH] = "path",         [SONDE_TILE_DEVICE] = "device",
	    [SONDE_TILE_HEAP] = "heap",         [SONDE_TILE_SERIES] = "series",
	    [SONDE_TILE_SPANS] = "spans",       [SONDE_TILE_COUNTERS] = "counters",
	    [SONDE_TILE_STATES] = "states",     [SONDE_TILE_CPU] = "cpu",
	    [SONDE_TILE_WAITS] = "waits",       [SONDE_TILE_ITERATIONS] = "iterations",
	    [SONDE_TILE_INSTANTS] = "instants", [SONDE_TILE_ZONES] = "zones",
	};
	return words[kind];
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */

struct lane_key {
	const struct sonde_tiles *tiles;
	const struct sonde_tile_of *of;
};

static int is_same_lane(const void *context, uint32_t value)
{
	const struct lane_key *key = context;
	const struct sonde_tile_lane_data *lane = key->tiles->lanes[value - 1];
	return lane->lane.kind == key->of->kind && lane->lane.process == key->of->process &&
	       lane->lane.thread == key->of->thread && lane->lane.depth == key->of->depth && lane->sub == key->of->sub;
}

static struct sonde_tile_lane_data *add_lane(struct sonde_tiles *tiles, const struct sonde_tile_of *of, uint64_t hash)
{
	struct sonde_tile_lane_data *lane = sonde_arena_alloc(&tiles->arena, sizeof *lane);
	if (lane && tiles->lane_count == tiles->lane_cap) {
		size_t cap = tiles->lane_cap ? 2 * tiles->lane_cap : 64;
		struct sonde_tile_lane_data **lanes = realloc(tiles->lanes, cap * sizeof(*lanes));
		if (lanes)
			tiles->lanes = lanes;
		tiles->lane_cap = lanes ? cap : tiles->lane_cap;
		lane = lanes ? lane : NULL;
	}
	if (!lane || sonde_map_add(&tiles->lane_index, hash, (uint32_t)tiles->lane_count + 1)) {
		sonde_error(ENOMEM, "out of memory for %zu lanes", tiles->lane_count + 1);
		return NULL;
	}
	lane->lane = (struct sonde_tile_lane){.kind = of->kind,
					      .form = of->form,
					      .process = of->process,
					      .thread = of->thread,
					      .depth = of->depth,
					      .title = of->title ? of->title : "",
					      .unit = of->unit ? of->unit : ""};
	lane->sub = of->sub;
	lane->lost_ns = UINT64_MAX;
	return tiles->lanes[tiles->lane_count++] = lane;
}

struct sonde_tile_lane_data *sonde_tiles_lane_of(struct sonde_tiles *tiles, const struct sonde_tile_of *of)
{
	const struct lane_key key = {tiles, of};
	uint64_t hash = sonde_hash_pair((uint64_t)of->thread << 32 | of->process,
					(uint64_t)of->sub << 16 | of->depth << 8 | (uint32_t)of->kind);
	uint32_t found = sonde_map_find(&tiles->lane_index, hash, is_same_lane, &key);
	return found ? tiles->lanes[found - 1] : add_lane(tiles, of, hash);
}

/* The critical path, then each process with its own lanes and its threads, then the machine. */
int sonde_tile_lanes_order(const void *left, const void *right)
{
	const struct sonde_tile_lane_data *a = *(const struct sonde_tile_lane_data *const *)left,
					  *b = *(const struct sonde_tile_lane_data *const *)right;
	int by = sonde_order(a->lane.kind != SONDE_TILE_PATH, b->lane.kind != SONDE_TILE_PATH);
	by = by ? by : sonde_order(a->lane.process - 1, b->lane.process - 1); /* 0 becomes the last */
	by = by ? by : sonde_order(a->lane.thread, b->lane.thread);
	by = by ? by : sonde_order((uint64_t)a->lane.kind, (uint64_t)b->lane.kind);
	by = by ? by : sonde_order(a->sub, b->sub);
	return by ? by : sonde_order(a->lane.depth, b->lane.depth);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static int is_same_name(const void *context, uint32_t value)
{
	const struct sonde_tile_name *const *pair = context;
	const struct sonde_tile_name *row = &pair[0][value - 1];
	return row->color == pair[1]->color && strcmp(row->text, pair[1]->text) == 0;
}

int sonde_tiles_name_of(struct sonde_tiles *tiles, const char *text, uint32_t color, uint32_t *out)
{
	struct sonde_tile_name wanted = {tiles->name_count < NAMES_MAX ? text : "…", color};
	const struct sonde_tile_name *pair[2] = {tiles->names, &wanted};
	uint64_t hash = sonde_hash_pair(sonde_hash_bytes(text, strlen(text)), color);
	uint32_t found = sonde_map_find(&tiles->name_index, hash, is_same_name, pair);
	if (found) {
		*out = found - 1;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(tiles->names, tiles->name_cap, tiles->name_count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu names", tiles->name_count + 1);
	wanted.text = sonde_arena_strndup(&tiles->name_arena, wanted.text, strlen(wanted.text));
	if (!wanted.text || sonde_map_add(&tiles->name_index, hash, (uint32_t)tiles->name_count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu names", tiles->name_count);
	tiles->names[tiles->name_count] = wanted;
	*out = (uint32_t)tiles->name_count++;
	return 0;
}

int sonde_tiles_site_name(struct sonde_tiles *tiles, uint32_t site, uint32_t *out)
{
	const struct sonde_site *row = sonde_session_site(tiles->session, site);
	uint32_t known = row ? site : 0;
	if (tiles->site_names[known]) {
		*out = tiles->site_names[known] - 1;
		return 0;
	}
	int rc = sonde_tiles_name_of(tiles, row && *row->name ? row->name : "(unnamed)", row ? row->color : 0, out);
	if (!rc)
		tiles->site_names[known] = *out + 1;
	return rc;
}

/* --- reading chunks ---------------------------------------------------------------------------------------------- */

int sonde_tiles_walk(struct sonde_tiles *tiles, uint32_t types,
		     int (*take)(void *context, const struct sonde_batch *batch), void *context)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int error = 0, rc = sonde_cursor_open(&cursor, tiles->session, types);
	if (rc)
		return rc;
	while (!error && (rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		error = rc > 0 ? take(context, batch) : 0;
	sonde_cursor_close(cursor);
	return error ? error : rc;
}

/* --- public functions -------------------------------------------------------------------------------------------- */

static int build(struct sonde_tiles *tiles)
{
	int rc = 0;
	if (tiles->lane_count)
		qsort(tiles->lanes, tiles->lane_count, sizeof(*tiles->lanes), sonde_tile_lanes_order);
	sonde_map_fini(&tiles->lane_index); /* indices have changed */
	tiles->lane_index = (struct sonde_map){0};
	for (size_t i = 0; i < tiles->lane_count && !rc; i++) {
		tiles->lanes[i]->lane.id = (uint32_t)i;
		rc = sonde_tile_lane_build(tiles->lanes[i]);
	}
	return rc ? rc : sonde_tiles_arrows_sort(tiles);
}

int sonde_tiles_init(struct sonde_tiles *tiles, struct sonde_session *session)
{
	tiles->session = session;
	tiles->made = sonde_clock_now_ns();
	tiles->period_ns = sonde_session_period_ns(session);
	tiles->sites = (uint32_t)sonde_session_site_count(session);
	tiles->threads = (uint32_t)sonde_session_thread_count(session);
	tiles->queues = sonde_session_queue_count(session);
	tiles->file_b = sonde_session_run(session)->file_b;
	tiles->room_b = SONDE_TILE_LEAVES_MAX_B;
	tiles->site_names = calloc((size_t)tiles->sites + 1, sizeof *tiles->site_names);
	tiles->lasts = calloc((size_t)tiles->threads + 1, sizeof *tiles->lasts);
	return tiles->site_names && tiles->lasts ? 0 : sonde_error(ENOMEM, "out of memory for names");
}

int sonde_tiles_read(struct sonde_tiles *tiles)
{
	int rc = 0;
	for (size_t i = 0; i < sizeof readers / sizeof *readers && !rc; i++)
		rc = readers[i].read ? readers[i].read(tiles) : sonde_tile_read_tracks(tiles, readers[i].kinds);
	return rc ? rc : build(tiles);
}

int sonde_tiles_open(struct sonde_tiles **out, struct sonde_session *session)
{
	struct sonde_tiles *tiles = calloc(1, sizeof *tiles);
	if (!tiles)
		return sonde_error(ENOMEM, "out of memory for a timeline");
	int rc = sonde_tiles_init(tiles, session);
	rc = rc ? rc : sonde_tiles_read(tiles);
	if (rc)
		sonde_tiles_close(tiles);
	else
		*out = tiles;
	return rc;
}

void sonde_tiles_close(struct sonde_tiles *tiles)
{
	if (!tiles)
		return;
	for (size_t i = 0; i < tiles->lane_count; i++)
		sonde_tile_lane_fini(tiles->lanes[i]);
	free(tiles->lanes);
	sonde_tile_cache_fini(&tiles->cache);
	free(tiles->arrows);
	free(tiles->thread_lanes);
	free(tiles->queue_lanes);
	free(tiles->names);
	free(tiles->site_names);
	free(tiles->lasts);
	sonde_map_fini(&tiles->lane_index);
	sonde_map_fini(&tiles->name_index);
	sonde_arena_fini(&tiles->arena);
	sonde_arena_fini(&tiles->name_arena);
	free(tiles);
}

int sonde_tiles_is_current(const struct sonde_tiles *tiles)
{
	return sonde_session_run(tiles->session)->file_b == tiles->file_b;
}

size_t sonde_tiles_lane_count(const struct sonde_tiles *tiles)
{
	return tiles->lane_count;
}

const struct sonde_tile_lane *sonde_tiles_lane(const struct sonde_tiles *tiles, size_t id)
{
	return id < tiles->lane_count ? &tiles->lanes[id]->lane : NULL;
}

size_t sonde_tiles_name_count(const struct sonde_tiles *tiles)
{
	return tiles->name_count;
}

const struct sonde_tile_name *sonde_tiles_name(const struct sonde_tiles *tiles, size_t i)
{
	return i < tiles->name_count ? &tiles->names[i] : NULL;
}
