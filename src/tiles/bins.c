/* bins.c: computes the rows of a lane in a view by walking down its pyramid.
 *
 * A node shorter than a pixel is taken as it is, a longer one is divided, and one outside the view is skipped, so about
 * as many nodes are visited as rows are produced. Slices shorter than a pixel are merged by the pixel in which they
 * begin, in a grid that is the same for all views of one scale, so that rows do not change when the view moves.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tiles/tiles_state.h"
#include "util/array.h"
#include "util/error.h"

struct binning {
	struct sonde_tiles *tiles;
	const struct sonde_tile_lane_data *lane;
	struct sonde_tile_rows *rows;
	uint64_t from_ns, to_ns, start_ns, until_ns;
	double pixel_ns;
	double cell;                      /* pixel of the open row */
	uint64_t longest;                 /* longest of its slices */
	int is_open;                      /* the last row can still grow */
	uint32_t weight;                  /* number of rows that a counted row stands for */
	int is_passed;                    /* chunks are not decoded: those that are decoded (`every`) count for them */
	size_t at;                        /* index of the next node of the lowest level */
	const struct sonde_tile_ask *ask; /* NULL: keep the rows; otherwise count them and keep the last one */
};

void sonde_tile_rows_fini(struct sonde_tile_rows *rows)
{
	free(rows->all);
	*rows = (struct sonde_tile_rows){0};
}

int sonde_tile_rows_add(struct sonde_tile_rows *rows, const struct sonde_tile_row *row)
{
	if (SONDE_ARRAY_RESERVE(rows->all, rows->cap, rows->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu bins", rows->count + 1);
	rows->all[rows->count++] = *row;
	return 0;
}

static void merge(struct binning *binning, const struct sonde_tile_node *node)
{
	struct sonde_tile_row *row = &binning->rows->all[binning->rows->count - 1];
	row->to_ns = node->to_ns > row->to_ns ? node->to_ns : row->to_ns;
	row->many = row->many > UINT32_MAX - node->many ? UINT32_MAX : row->many + node->many;
	if (binning->lane->lane.form == SONDE_TILE_CURVE) {
		row->least = node->least < row->least ? node->least : row->least;
		row->most = node->most > row->most ? node->most : row->most;
		return;
	}
	row->busy_ns += node->busy_ns;
	if (node->longest_ns > binning->longest) {
		binning->longest = node->longest_ns;
		row->name = node->name;
	}
}

static int take(struct binning *binning, const struct sonde_tile_node *node)
{
	int is_long = (double)(node->to_ns - node->from_ns) >= binning->pixel_ns;
	double since_ns = node->from_ns >= binning->start_ns ? (double)(node->from_ns - binning->start_ns)
							     : -(double)(binning->start_ns - node->from_ns);
	double cell = floor(since_ns / binning->pixel_ns);
	if (!is_long && binning->is_open && cell == binning->cell) {
		merge(binning, node);
		return 0;
	}
	struct sonde_tile_row row = {.from_ns = node->from_ns, .to_ns = node->to_ns, .name = node->name};
	row.many = node->many;
	if (binning->lane->lane.form == SONDE_TILE_CURVE) {
		row.least = node->least;
		row.most = node->most;
	} else {
		row.busy_ns = node->busy_ns;
	}
	binning->cell = cell;
	binning->is_open = !is_long;
	binning->longest = node->longest_ns;
	if (binning->ask) {
		*binning->ask->count += binning->weight;
		binning->rows->count = 0;
	}
	return sonde_tile_rows_add(binning->rows, &row);
}

static int is_out(const struct binning *binning, const struct sonde_tile_node *node)
{
	return node->to_ns < binning->from_ns || node->from_ns > binning->to_ns;
}

static int take_slices(struct binning *binning, const struct sonde_tile_slice *slices, size_t count)
{
	int rc = 0;
	for (size_t i = 0; i < count && !rc; i++) {
		struct sonde_tile_node leaf = sonde_tile_slice_node(&slices[i]);
		rc = is_out(binning, &leaf) ? 0 : take(binning, &leaf);
	}
	return rc;
}

/* True if there is no time to decode the zones of a node, judging by the last chunk. One chunk is always decoded per
 * deadline, so that slow machines make progress. */
static int is_late(struct binning *binning, size_t i)
{
	struct sonde_tile_cache *cache = &binning->tiles->cache;
	uint32_t chunk = binning->lane->where[i].chunk;
	if (!binning->until_ns || chunk == UINT32_MAX || sonde_tile_cache_has(cache, chunk))
		return 0;
	if (cache->until_ns == binning->until_ns && sonde_clock_now_ns() + cache->decode_ns > binning->until_ns) {
		binning->rows->is_coarse = 1;
		return 1;
	}
	cache->until_ns = binning->until_ns;
	return 0;
}

/* Takes the zones of a node; if they are not available, takes the node itself. */
static int divide_zones(struct binning *binning, size_t i)
{
	const struct sonde_tile_lane_data *lane = binning->lane;
	const struct sonde_tile_node *node = &lane->levels[0][i], *groups = NULL;
	const struct sonde_tile_slice *slices = NULL;
	int got = sonde_tile_cache_slices(binning->tiles, lane, i, &slices, &groups), rc = 0;
	if (got <= 0)
		return got ? got : take(binning, node);
	size_t count = (size_t)got;
	if (!groups)
		return take_slices(binning, slices, count);
	for (size_t at = 0; at < count && !rc; at += SONDE_TILE_FAN, groups++) {
		if (is_out(binning, groups))
			continue;
		rc = (double)(groups->to_ns - groups->from_ns) < binning->pixel_ns
			 ? take(binning, groups)
			 : take_slices(binning, &slices[at], groups->many);
	}
	return rc;
}

static int visit_zones(struct binning *binning, size_t i)
{
	const struct sonde_tile_node *node = &binning->lane->levels[0][i];
	if (node->many == 1 || is_late(binning, i))
		return take(binning, node);
	if (binning->is_passed)
		return 0;
	binning->weight = binning->ask && binning->ask->every ? binning->ask->every : 1;
	int rc = divide_zones(binning, i);
	binning->weight = 1;
	return rc;
}

static int visit_leaves(struct binning *binning, size_t node)
{
	const struct sonde_tile_lane_data *lane = binning->lane;
	if (lane->where)
		return visit_zones(binning, node);
	size_t end = (node + 1) * SONDE_TILE_FAN < lane->lane.count ? (node + 1) * SONDE_TILE_FAN : lane->lane.count;
	int rc = 0;
	for (size_t i = node * SONDE_TILE_FAN; i < end && !rc; i++) {
		struct sonde_tile_node leaf = sonde_tile_lane_leaf(lane, i);
		rc = is_out(binning, &leaf) ? 0 : take(binning, &leaf);
	}
	return rc;
}

/* The first lowest-level node below a node of a level. */
static size_t first_of(size_t node, unsigned level)
{
	for (; level; level--)
		node *= SONDE_TILE_FAN;
	return node;
}

/* Takes the highest node that starts at the current position and need not be divided. */
static int step(struct binning *binning)
{
	const struct sonde_tile_lane_data *lane = binning->lane;
	size_t i = binning->at;
	unsigned level = 0;
	for (; level + 1 < lane->level_count && i % SONDE_TILE_FAN == 0; level++)
		i /= SONDE_TILE_FAN;
	for (;; level--, i *= SONDE_TILE_FAN) {
		const struct sonde_tile_node *node = &lane->levels[level][i];
		int is_away = is_out(binning, node);
		if (level && !is_away && (double)(node->to_ns - node->from_ns) >= binning->pixel_ns)
			continue;
		binning->at = first_of(i + 1, level);
		if (is_away)
			return 0;
		if ((double)(node->to_ns - node->from_ns) < binning->pixel_ns)
			return take(binning, node);
		return visit_leaves(binning, i);
	}
}

static int is_over(const struct binning *binning)
{
	const struct sonde_tile_lane_data *lane = binning->lane;
	return !lane->level_count || binning->at >= lane->counts[0] ||
	       (binning->ask && *binning->ask->count > binning->ask->most);
}

int sonde_tiles_bins(struct sonde_tiles *tiles, size_t id, const struct sonde_tile_view *view,
		     struct sonde_tile_rows *out)
{
	return sonde_tiles_bins_until(tiles, id, view, 0, out);
}

static struct binning begin(struct sonde_tiles *tiles, size_t lane, const struct sonde_tile_view *view,
			    struct sonde_tile_rows *rows)
{
	rows->count = 0;
	rows->is_coarse = 0;
	return (struct binning){.tiles = tiles,
				.lane = tiles->lanes[lane],
				.rows = rows,
				.weight = 1,
				.from_ns = view->from_ns,
				.to_ns = view->to_ns,
				.start_ns = sonde_session_run(tiles->session)->start_ns,
				.pixel_ns = (double)(view->to_ns - view->from_ns) / view->width};
}

int sonde_tiles_bins_until(struct sonde_tiles *tiles, size_t id, const struct sonde_tile_view *view, uint64_t until_ns,
			   struct sonde_tile_rows *out)
{
	struct binning binning = begin(tiles, id, view, out);
	int rc = 0;
	binning.until_ns = until_ns;
	if (binning.lane->lane.kind == SONDE_TILE_CPU)
		return sonde_tile_cpu_bins(tiles, binning.lane, view, out);
	while (!rc && !is_over(&binning))
		rc = step(&binning);
	return rc;
}

/* --- several requests in one pass -------------------------------------------------------------------------------- */

/* The chunk that the walk may need next; 0 if none, SIZE_MAX at the end. */
static size_t chunk_of(const struct binning *binning)
{
	if (is_over(binning))
		return SIZE_MAX;
	return binning->lane->where ? binning->lane->where[binning->at].chunk : 0;
}

/* Advances each walk until it needs a chunk after *chunk, which is the nth chunk of this pass. Then sets *chunk to the
 * earliest of the chunks that the walks need. -ENOMEM. */
static int walk_on(struct binning *walks, size_t count, size_t nth, size_t *chunk)
{
	size_t next = SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		uint32_t every = walks[i].ask ? walks[i].ask->every : 0;
		size_t at;
		walks[i].is_passed = every && nth % every != every / 2;
		while ((at = chunk_of(&walks[i])) <= *chunk && at != SIZE_MAX) {
			int rc = step(&walks[i]);
			if (rc)
				return rc;
		}
		next = at < next ? at : next;
	}
	*chunk = next;
	return 0;
}

int sonde_tiles_bins_each(struct sonde_tiles *tiles, const struct sonde_tile_ask *asks, size_t count)
{
	struct binning *walks = calloc(count, sizeof *walks);
	struct sonde_tile_rows *lasts = calloc(count, sizeof *lasts);
	int rc = walks && lasts ? 0 : sonde_error(ENOMEM, "out of memory for %zu lanes", count);
	for (size_t i = 0; i < count && !rc; i++) {
		walks[i] = begin(tiles, asks[i].lane, &asks[i].view, asks[i].rows ? asks[i].rows : &lasts[i]);
		walks[i].ask = asks[i].rows ? NULL : &asks[i];
	}
	for (size_t chunk = 0, nth = 0; chunk != SIZE_MAX && !rc; nth++)
		rc = walk_on(walks, count, nth, &chunk);
	for (size_t i = 0; i < count && lasts; i++)
		sonde_tile_rows_fini(&lasts[i]);
	free(walks);
	free(lasts);
	return rc;
}
