/* bins.c: the rows of a lane in a view, by a walk down its pyramid.
 *
 * A node that is shorter than a pixel is taken as it is, a longer one is divided; so is what lies out of the view left
 * out, and about as many nodes are looked at as rows come out. What is shorter than a pixel is put together by the
 * pixel in which it begins, in a grid that is the same for all views of one scale, so that rows stay when the view
 * moves.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tiles/state.h"
#include "util/error.h"

struct binning {
	struct sonde_tiles *tiles;
	const struct sonde_tile_lane_data *lane;
	struct sonde_tile_rows *rows;
	uint64_t from_ns, to_ns, start_ns, until_ns;
	double pixel_ns;
	double cell;      /* of the open row */
	uint64_t longest; /* of its slices */
	int is_open;      /* the last row takes more */
};

void sonde_tile_rows_fini(struct sonde_tile_rows *rows)
{
	free(rows->all);
	*rows = (struct sonde_tile_rows){0};
}

int sonde_tile_rows_add(struct sonde_tile_rows *rows, const struct sonde_tile_row *row)
{
	if (rows->count == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 256;
		struct sonde_tile_row *all = realloc(rows->all, cap * sizeof *all);
		if (!all)
			return sonde_error(ENOMEM, "out of memory for %zu bins", cap);
		rows->all = all;
		rows->cap = cap;
	}
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
	return sonde_tile_rows_add(binning->rows, &row);
}

static int is_out(const struct binning *binning, const struct sonde_tile_node *node)
{
	return node->to_ns < binning->from_ns || node->from_ns > binning->to_ns;
}

static int visit(struct binning *binning, unsigned level, size_t i);

static int take_slices(struct binning *binning, const struct sonde_tile_slice *slices, size_t count)
{
	int error = 0;
	for (size_t i = 0; i < count && !error; i++) {
		struct sonde_tile_node leaf = sonde_tile_slice_node(&slices[i]);
		error = is_out(binning, &leaf) ? 0 : take(binning, &leaf);
	}
	return error;
}

/* There is no time to decode the zones of a node. */
static int is_late(struct binning *binning, size_t i)
{
	uint32_t chunk = binning->lane->where[i].chunk;
	if (!binning->until_ns || chunk == UINT32_MAX || sonde_tile_cache_has(&binning->tiles->cache, chunk) ||
	    sonde_clock_now_ns() < binning->until_ns)
		return 0;
	binning->rows->is_coarse = 1;
	return 1;
}

/* Where its zones cannot be had, the node stands for them. */
static int visit_zones(struct binning *binning, size_t i)
{
	const struct sonde_tile_lane_data *lane = binning->lane;
	const struct sonde_tile_node *node = &lane->levels[0][i], *groups = NULL;
	const struct sonde_tile_slice *slices = NULL;
	if (node->many == 1 || is_late(binning, i))
		return take(binning, node);
	int got = sonde_tile_cache_slices(binning->tiles, lane, i, &slices, &groups), error = 0;
	if (got <= 0)
		return got ? got : take(binning, node);
	size_t count = (size_t)got;
	if (!groups)
		return take_slices(binning, slices, count);
	for (size_t at = 0; at < count && !error; at += SONDE_TILE_FAN, groups++) {
		if (is_out(binning, groups))
			continue;
		error = (double)(groups->to_ns - groups->from_ns) < binning->pixel_ns
			    ? take(binning, groups)
			    : take_slices(binning, &slices[at], groups->many);
	}
	return error;
}

static int visit_leaves(struct binning *binning, size_t node)
{
	const struct sonde_tile_lane_data *lane = binning->lane;
	if (lane->where)
		return visit_zones(binning, node);
	size_t end = (node + 1) * SONDE_TILE_FAN < lane->lane.count ? (node + 1) * SONDE_TILE_FAN : lane->lane.count;
	int error = 0;
	for (size_t i = node * SONDE_TILE_FAN; i < end && !error; i++) {
		struct sonde_tile_node leaf = sonde_tile_lane_leaf(lane, i);
		error = is_out(binning, &leaf) ? 0 : take(binning, &leaf);
	}
	return error;
}

static int visit(struct binning *binning, unsigned level, size_t i)
{
	const struct sonde_tile_lane_data *lane = binning->lane;
	const struct sonde_tile_node *node = &lane->levels[level][i];
	int error = 0;
	if (is_out(binning, node))
		return 0;
	if ((double)(node->to_ns - node->from_ns) < binning->pixel_ns)
		return take(binning, node);
	if (!level)
		return visit_leaves(binning, i);
	for (size_t at = i * SONDE_TILE_FAN; at < lane->counts[level - 1] && at < (i + 1) * SONDE_TILE_FAN && !error;
	     at++)
		error = visit(binning, level - 1, at);
	return error;
}

int sonde_tiles_bins(struct sonde_tiles *tiles, size_t id, const struct sonde_tile_view *view,
		     struct sonde_tile_rows *out)
{
	return sonde_tiles_bins_until(tiles, id, view, 0, out);
}

int sonde_tiles_bins_until(struct sonde_tiles *tiles, size_t id, const struct sonde_tile_view *view, uint64_t until_ns,
			   struct sonde_tile_rows *out)
{
	const struct sonde_tile_lane_data *lane = tiles->lanes[id];
	struct binning binning = {.tiles = tiles,
				  .lane = lane,
				  .rows = out,
				  .from_ns = view->from_ns,
				  .to_ns = view->to_ns,
				  .until_ns = until_ns,
				  .start_ns = sonde_session_run(tiles->session)->start_ns,
				  .pixel_ns = (double)(view->to_ns - view->from_ns) / view->width};
	out->count = 0;
	out->is_coarse = 0;
	if (lane->lane.kind == SONDE_TILE_CPU)
		return sonde_tile_cpu_bins(tiles, lane, view, out);
	int error = 0;
	for (size_t i = 0; lane->level_count && i < lane->counts[lane->level_count - 1] && !error; i++)
		error = visit(&binning, lane->level_count - 1, i);
	return error;
}
