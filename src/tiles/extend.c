/* extend.c: extends tiles to a recording that has grown, reusing those of the shorter one.
 *
 * A file only gains chunks, so results from a single chunk stay right; results that depend on several may not.
 * - Zones: kept with their decoded chunks, except zones open after a thread's last chunk, which are removed and read
 *   again; the pyramid over them is rebuilt (1/256 of the zones).
 * - Names: kept with their indices; new ones are appended. A slice has the same name index in old and new bins.
 * - Everything else is read again, since late data changes earlier results: a wait or a span that contains other slices
 *   moves those to other lanes, a switch on another CPU ends a state, the critical path changes, a heap's curve gets
 *   parts of another length. The result is compared with the earlier one: changed_ns of a lane is the start of its
 *   first leaf that differs. The viewer requests bins again from there on.
 * If zones refer to threads or sites that are not in the file yet, which our recorders never write, or if leaves use so
 * much memory that two copies would be too much, everything is made from scratch.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tiles/tiles_state.h"
#include "util/error.h"

#define NAMES_CAPACITY 100000u /* with more names, some may have been omitted */

/* --- what is kept ------------------------------------------------------------------------------------------------ */

/* Moves the names to the new tiles. The new arrays are large enough, because counts never decrease. */
static void keep_names(struct sonde_tiles *now, struct sonde_tiles *before)
{
	memcpy(now->site_names, before->site_names, ((size_t)before->sites + 1) * sizeof *now->site_names);
	memcpy(now->lasts, before->lasts, ((size_t)before->threads + 1) * sizeof *now->lasts);
	now->names = before->names;
	now->name_count = before->name_count;
	now->name_cap = before->name_cap;
	now->name_index = before->name_index;
	now->name_arena = before->name_arena;
	before->names = NULL;
	before->name_index = (struct sonde_map){0};
	before->name_arena = (struct sonde_arena){0};
}

static void keep_decoded(struct sonde_tiles *now, struct sonde_tiles *before)
{
	sonde_cursor_close(before->cache.cursor);
	now->cache = before->cache;
	now->cache.cursor = NULL;
	before->cache = (struct sonde_tile_cache){0};
	now->next_chunk = before->next_chunk;
}

/* Removes the slices of open zones, which are the last of their lane. */
static void take_back_open(struct sonde_tile_lane_data *lane)
{
	while (lane->counts[0] && lane->where[lane->counts[0] - 1].chunk == UINT32_MAX) {
		const struct sonde_tile_node *node = &lane->levels[0][--lane->counts[0]];
		lane->lane.count -= node->many;
		lane->lost_ns = node->from_ns;
	}
	lane->lane.left_out -= lane->open_out;
	lane->open_out = 0;
}

static int keep_zones(struct sonde_tiles *now, struct sonde_tile_lane_data *before)
{
	const struct sonde_tile_of of = {.kind = SONDE_TILE_ZONES,
					 .form = SONDE_TILE_SLICES,
					 .process = before->lane.process,
					 .thread = before->lane.thread,
					 .depth = before->lane.depth};
	take_back_open(before);
	if (!before->counts[0] && !before->lane.left_out)
		return 0;
	struct sonde_tile_lane_data *lane = sonde_tiles_lane_of(now, &of);
	if (!lane)
		return -ENOMEM;
	lane->lane.left_out = before->lane.left_out;
	if (!before->counts[0])
		return 0;
	lane->lane.count = before->lane.count;
	lane->kept = lane->counts[0] = before->counts[0];
	lane->levels[0] = before->levels[0];
	lane->where = before->where;
	lane->cap = before->cap;
	lane->level_count = 1;
	before->levels[0] = NULL;
	before->where = NULL;
	return 0;
}

static int keep(struct sonde_tiles *now, struct sonde_tiles *before)
{
	int rc = 0;
	keep_names(now, before);
	keep_decoded(now, before);
	for (size_t i = 0; i < before->lane_count && !rc; i++)
		if (before->lanes[i]->lane.kind == SONDE_TILE_ZONES)
			rc = keep_zones(now, before->lanes[i]);
	return rc;
}

/* --- what has changed --------------------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int is_same_leaf(const struct sonde_tile_lane_data *a, const struct sonde_tile_lane_data *b, size_t i)
{
	if (a->lane.form == SONDE_TILE_CURVE) {
		const struct sonde_tile_piece *left = &a->pieces[i], *right = &b->pieces[i];
		return left->from_ns == right->from_ns && left->to_ns == right->to_ns && left->least == right->least &&
		       left->most == right->most;
	}
	const struct sonde_tile_slice *left = &a->slices[i], *right = &b->slices[i];
	return left->from_ns == right->from_ns && left->to_ns == right->to_ns && left->name == right->name &&
	       left->also == right->also;
}

static uint64_t leaf_from(const struct sonde_tile_lane_data *lane, size_t i)
{
	return i < lane->lane.count ? sonde_tile_lane_leaf(lane, i).from_ns : UINT64_MAX;
}

static uint64_t changed_leaves(const struct sonde_tile_lane_data *now, const struct sonde_tile_lane_data *before)
{
	size_t i = 0;
	while (i < now->lane.count && i < before->lane.count && is_same_leaf(now, before, i))
		i++;
	return least(leaf_from(now, i), leaf_from(before, i));
}

/* The time from which on bins of CPU time differ because the thread's lifetime does: they end with it, or with the
 * recording. UINT64_MAX = none do. */
static uint64_t changed_life(const struct sonde_tile_lane_data *now, const struct sonde_tile_lane_data *before)
{
	if (now->life_from_ns != before->life_from_ns)
		return 0;
	return now->life_to_ns == before->life_to_ns ? UINT64_MAX : least(now->life_to_ns, before->life_to_ns);
}

static uint64_t changed(const struct sonde_tiles *tiles, const struct sonde_tile_lane_data *now,
			const struct sonde_tiles *then, const struct sonde_tile_lane_data *before)
{
	if (now->lane.kind == SONDE_TILE_ZONES)
		return least(before->lost_ns,
			     now->kept < now->counts[0] ? now->levels[0][now->kept].from_ns : UINT64_MAX);
	if (now->lane.form != before->lane.form)
		return 0;
	if (now->lane.kind == SONDE_TILE_CPU && tiles->period_ns != then->period_ns)
		return 0;
	return least(changed_leaves(now, before), changed_life(now, before));
}

static void remember(struct sonde_tile_lane_data *now, const struct sonde_tile_lane_data *before, uint64_t changed_ns)
{
	for (size_t i = 0; i < SONDE_TILE_MAKINGS; i++)
		now->since[i] = (struct sonde_tile_since){UINT32_MAX, 0};
	if (!before)
		return;
	now->since[0] = (struct sonde_tile_since){before->lane.id, changed_ns};
	for (size_t i = 1; i < SONDE_TILE_MAKINGS; i++) {
		now->since[i] = before->since[i - 1];
		now->since[i].changed_ns = least(now->since[i].changed_ns, changed_ns);
	}
}

static int by_place(const struct sonde_tile_lane_data *a, const struct sonde_tile_lane_data *b)
{
	return sonde_tile_lanes_order(&a, &b);
}

/* Finds the earlier version of each lane, and from when on it differs. Old and new lanes are sorted in the same
 * order. */
static void compare(struct sonde_tiles *now, const struct sonde_tiles *before)
{
	size_t at = 0;
	now->makings[0] = before->made;
	memcpy(&now->makings[1], before->makings, sizeof before->makings - sizeof *before->makings);
	for (size_t i = 0; i < now->lane_count; i++) {
		struct sonde_tile_lane_data *lane = now->lanes[i];
		while (at < before->lane_count && by_place(before->lanes[at], lane) < 0)
			at++;
		const struct sonde_tile_lane_data *was =
		    at < before->lane_count && !by_place(before->lanes[at], lane) ? before->lanes[at] : NULL;
		remember(lane, was, was ? changed(now, lane, before, was) : 0);
	}
}

/* --- extending --------------------------------------------------------------------------------------------------- */

static int is_to_be_made_anew(const struct sonde_tiles *tiles)
{
	return tiles->is_vague || tiles->room_b < SONDE_TILE_LEAVES_MAX_B / 2 || tiles->name_count > NAMES_CAPACITY ||
	       sonde_session_site_count(tiles->session) < tiles->sites ||
	       sonde_session_thread_count(tiles->session) < tiles->threads;
}

int sonde_tiles_extend(struct sonde_tiles **tiles)
{
	struct sonde_tiles *before = *tiles, *now;
	struct sonde_session *session = before->session;
	if (sonde_tiles_is_current(before))
		return 0;
	*tiles = NULL;
	if (is_to_be_made_anew(before)) {
		sonde_tiles_close(before);
		return sonde_tiles_open(tiles, session);
	}
	now = calloc(1, sizeof *now);
	int rc = now ? sonde_tiles_init(now, session) : sonde_error(ENOMEM, "out of memory for a timeline");
	rc = rc ? rc : keep(now, before);
	rc = rc ? rc : sonde_tiles_read(now);
	if (!rc)
		compare(now, before);
	sonde_tiles_close(before);
	if (rc)
		sonde_tiles_close(now);
	else
		*tiles = now;
	return rc;
}

/* --- queries ----------------------------------------------------------------------------------------------------- */

uint64_t sonde_tiles_made(const struct sonde_tiles *tiles)
{
	return tiles->made;
}

int sonde_tiles_since(const struct sonde_tiles *tiles, uint64_t made, size_t lane, struct sonde_tile_since *out)
{
	if (made == tiles->made) {
		*out = (struct sonde_tile_since){(uint32_t)lane, UINT64_MAX};
		return 0;
	}
	for (size_t i = 0; made && i < SONDE_TILE_MAKINGS; i++)
		if (tiles->makings[i] == made) {
			*out = tiles->lanes[lane]->since[i];
			return 0;
		}
	return sonde_error(ESTALE, "the timeline has changed since: reload its tracks");
}

size_t sonde_tiles_lane_now(const struct sonde_tiles *tiles, uint64_t made, size_t id)
{
	struct sonde_tile_since since;
	if (made == tiles->made)
		return id < tiles->lane_count ? id : SIZE_MAX;
	for (size_t i = 0; i < tiles->lane_count && !sonde_tiles_since(tiles, made, i, &since); i++)
		if (since.id == id)
			return i;
	return SIZE_MAX;
}
