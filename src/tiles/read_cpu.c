/* read_cpu.c: CPU time of a thread's samples as a curve: CPU time in a bin ÷ length of the bin.
 *
 * A sample stands for CPU time that was spent before it, within a span of wall time that is at least as long. The CPU
 * time is spread evenly over that span, so the running sum over the recording is a polyline. A leaf is a straight part
 * of it: `least` is the sum at its start, in ns, `most` its slope. A few samples say little about a time range: a bin
 * is wide enough for ten.
 */
#include <errno.h>
#include <stdlib.h>

#include "session/intervals.h"
#include "tiles/tiles_state.h"
#include "util/error.h"

enum { SAMPLES_A_BIN = 10 };

static int take(void *context, const struct sonde_batch *batch)
{
	void **both = context;
	struct sonde_tiles *tiles = both[0];
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint64_t to_ns = batch->samples.time_ns[i], ns = batch->samples.weight_ns[i], from_ns, end_ns;
		const struct sonde_thread *thread = sonde_session_thread(tiles->session, batch->samples.thread[i]);
		if (!thread || !ns || !to_ns)
			continue;
		sonde_interval_life(tiles->session, thread, &from_ns, &end_ns);
		from_ns = ns < to_ns && to_ns - ns > from_ns ? to_ns - ns : from_ns;
		from_ns = from_ns < to_ns ? from_ns : to_ns - 1;
		const struct sonde_tile_item item = {.from_ns = from_ns,
						     .to_ns = to_ns,
						     .process = thread->process,
						     .thread = thread->id,
						     .value = (double)ns / (double)(to_ns - from_ns)};
		rc = sonde_tile_items_add(tiles, both[1], item);
	}
	return rc;
}

/* A change of the sum's slope. */
struct bend {
	uint64_t at_ns;
	double slope;
};

static int by_time(const void *left, const void *right)
{
	const struct bend *a = left, *b = right;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static int add_bends(struct sonde_tiles *tiles, struct sonde_tile_lane_data *lane, const struct bend *bends,
		     size_t count)
{
	double sum_ns = 0, slope = 0;
	int rc = 0;
	for (size_t i = 0; i + 1 < count && !rc;) {
		uint64_t at_ns = bends[i].at_ns;
		for (; i < count && bends[i].at_ns == at_ns; i++)
			slope += bends[i].slope;
		slope = i == count || slope < 1e-9 ? 0 : slope; /* the remainder is rounding */
		uint64_t next_ns = i < count ? bends[i].at_ns : at_ns;
		const struct sonde_tile_piece piece = {at_ns, next_ns, sum_ns, slope};
		rc = sonde_tile_lane_piece(lane, piece, &tiles->room_b);
		sum_ns += slope * (double)(next_ns - at_ns);
	}
	lane->lane.most = 1;
	sonde_interval_life(tiles->session, sonde_session_thread(tiles->session, lane->lane.thread),
			    &lane->life_from_ns, &lane->life_to_ns);
	return rc;
}

static int add_thread(struct sonde_tiles *tiles, const struct sonde_tile_item *items, size_t count)
{
	const struct sonde_tile_of of = {.kind = SONDE_TILE_CPU,
					 .form = SONDE_TILE_CURVE,
					 .process = items->process,
					 .thread = items->thread,
					 .title = "CPU"};
	struct sonde_tile_lane_data *lane = sonde_tiles_lane_of(tiles, &of);
	struct bend *bends = malloc(2 * count * sizeof *bends);
	int rc = lane && bends ? 0 : sonde_error(ENOMEM, "out of memory for %zu samples", count);
	for (size_t i = 0; i < count && !rc; i++) {
		bends[2 * i] = (struct bend){items[i].from_ns, items[i].value};
		bends[2 * i + 1] = (struct bend){items[i].to_ns, -items[i].value};
	}
	if (!rc) {
		qsort(bends, 2 * count, sizeof *bends, by_time);
		rc = add_bends(tiles, lane, bends, 2 * count);
		lane->lane.count = rc ? 0 : lane->lane.count;
	}
	free(bends);
	return rc;
}

int sonde_tile_read_cpu(struct sonde_tiles *tiles)
{
	struct sonde_tile_items items = {0};
	void *both[2] = {tiles, &items};
	int rc = sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_SAMPLES, take, both);
	sonde_tile_items_sort(&items);
	for (size_t from = 0, to; from < items.count && !rc; from = to) {
		for (to = from; to < items.count && items.all[to].thread == items.all[from].thread;)
			to++;
		rc = add_thread(tiles, &items.all[from], to - from);
	}
	sonde_tile_items_fini(tiles, &items);
	return rc;
}

/* --- bins --------------------------------------------------------------------------------------------------------- */

/* CPU time up to a given time. */
static double sum_to(const struct sonde_tile_lane_data *lane, uint64_t at_ns)
{
	size_t low = 0, high = lane->lane.count; /* index of the first piece that begins after at_ns */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (lane->pieces[middle].from_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	const struct sonde_tile_piece *piece = &lane->pieces[low - 1];
	uint64_t to_ns = at_ns < piece->to_ns ? at_ns : piece->to_ns;
	return piece->least + (double)(to_ns - piece->from_ns) * piece->most;
}

int sonde_tile_cpu_bins(struct sonde_tiles *tiles, const struct sonde_tile_lane_data *lane,
			const struct sonde_tile_view *view, struct sonde_tile_rows *out)
{
	uint64_t start_ns = sonde_session_run(tiles->session)->start_ns;
	uint64_t life_from_ns = lane->life_from_ns, life_to_ns = lane->life_to_ns;
	double bin_ns = (double)(view->to_ns - view->from_ns) / view->width;
	double least_ns = SAMPLES_A_BIN * (double)tiles->period_ns;
	int rc = 0;
	bin_ns = bin_ns > least_ns ? bin_ns : least_ns;
	bin_ns = bin_ns > 1 ? bin_ns : 1;
	uint64_t at_ns = view->from_ns > life_from_ns ? view->from_ns : life_from_ns;
	uint64_t end_ns = view->to_ns < life_to_ns ? view->to_ns : life_to_ns;
	if (at_ns >= end_ns)
		return 0;
	uint64_t first = (uint64_t)((double)(at_ns - start_ns) / bin_ns);
	at_ns = start_ns + (uint64_t)((double)first * bin_ns);
	at_ns = at_ns > life_from_ns ? at_ns : life_from_ns;
	double sum_ns = sum_to(lane, at_ns);
	for (uint64_t bin = first + 1; at_ns < end_ns && !rc; bin++) {
		double since_ns = (double)bin * bin_ns;
		uint64_t next_ns =
		    since_ns < (double)(life_to_ns - start_ns) ? start_ns + (uint64_t)since_ns : life_to_ns;
		next_ns = next_ns < life_to_ns ? next_ns : life_to_ns;
		if (next_ns <= at_ns)
			continue;
		double next_sum_ns = sum_to(lane, next_ns), share = (next_sum_ns - sum_ns) / (double)(next_ns - at_ns);
		struct sonde_tile_row row = {.from_ns = at_ns, .to_ns = next_ns, .most = share, .many = 1};
		row.least = share;
		rc = sonde_tile_rows_add(out, &row);
		sum_ns = next_sum_ns;
		at_ns = next_ns;
	}
	return rc;
}
