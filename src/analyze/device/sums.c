/* sums.c: sums GPU activities by operation and device (device/sums.h). */
#include "analyze/device/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device/occupancy.h"
#include "analyze/device/shape.h"
#include "analyze/device/times.h"
#include "base/hash.h"
#include "session/device_labels.h"
#include "util/array.h"
#include "util/error.h"

int sonde_device_sums_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_device_sums *sums = state;
	sums->session = session;
	sums->options = *options;
	sums->window = sonde_window_of(session, options);
	return 0;
}

void sonde_device_sums_end(void *state)
{
	struct sonde_device_sums *sums = state;
	sonde_map_fini(&sums->map);
	free(sums->cells);
}

void sonde_device_sum_add(struct sonde_device_sum *into, const struct sonde_device_sum *from)
{
	int is_first = !into->whole;
	into->count += from->count;
	into->total_ns += from->total_ns;
	into->size_b += from->size_b;
	into->queued += from->queued;
	into->queued_ns += from->queued_ns;
	into->occupied_ns += from->occupied_ns;
	into->unoccupied = into->unoccupied ? into->unoccupied : from->unoccupied;
	into->filled_ns += from->filled_ns;
	into->unfilled = into->unfilled ? into->unfilled : from->unfilled;
	into->lanes_ns += from->lanes_ns;
	into->unlaned = into->unlaned ? into->unlaned : from->unlaned;
	if (from->limited_ns > into->limited_ns) {
		into->limited_by = from->limited_by;
		into->limited_ns = from->limited_ns;
	}
	into->whole += from->whole;
	into->whole_ns += from->whole_ns;
	into->whole_b += from->whole_b;
	if (!from->whole)
		return;
	into->min_ns = is_first || from->min_ns < into->min_ns ? from->min_ns : into->min_ns;
	into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
}

/* --- feeding ----------------------------------------------------------------------------------------------------- */

struct sought {
	const struct sonde_device_cell *cells;
	uint32_t operation, device;
};

static int is_cell(const void *context, uint32_t value)
{
	const struct sought *sought = context;
	const struct sonde_device_cell *cell = &sought->cells[value - 1];
	return cell->operation == sought->operation && cell->device == sought->device;
}

static int cell_add(struct sonde_device_sums *sums, const struct sonde_device_cell *cell)
{
	uint64_t hash = sonde_hash_pair(cell->operation, cell->device);
	struct sought sought = {sums->cells, cell->operation, cell->device};
	uint32_t found = sonde_map_find(&sums->map, hash, is_cell, &sought);
	if (found) {
		sonde_device_sum_add(&sums->cells[found - 1].sum, &cell->sum);
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(sums->cells, sums->cap, sums->count + 1))
		return sonde_error(ENOMEM, "out of memory for operations of devices");
	if (sonde_map_add(&sums->map, hash, (uint32_t)sums->count + 1))
		return sonde_error(ENOMEM, "out of memory for operations of devices");
	sums->cells[sums->count++] = *cell;
	return 0;
}

/* Fills `out` with the part of an activity that is within the window; returns 0 if there is none. */
static int sum_of(struct sonde_device_sum *out, const struct sonde_device_sums *sums, const struct sonde_batch *batch,
		  size_t i)
{
	uint64_t start_ns = batch->activities.start_ns[i], end_ns = start_ns + batch->activities.dur_ns[i];
	uint64_t from_ns = start_ns > sums->window.from_ns ? start_ns : sums->window.from_ns;
	uint64_t to_ns = end_ns < sums->window.to_ns ? end_ns : sums->window.to_ns;
	if (to_ns < from_ns || (to_ns == from_ns && batch->activities.dur_ns[i]))
		return 0;
	*out =
	    (struct sonde_device_sum){.count = 1, .total_ns = to_ns - from_ns, .size_b = batch->activities.size_b[i]};
	if (from_ns == start_ns && to_ns == end_ns) {
		out->whole = 1;
		out->whole_ns = out->min_ns = out->max_ns = batch->activities.dur_ns[i];
		out->whole_b = batch->activities.size_b[i];
	}
	if (batch->activities.queued_ns[i]) {
		out->queued = 1;
		out->queued_ns = batch->activities.queued_ns[i] - 1;
	}
	return 1;
}

int sonde_device_sums_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_device_sums *sums = state;
	for (size_t i = 0; i < batch->count; i++) {
		uint32_t device = sonde_device_of_queue(sums->session, batch->activities.queue[i]);
		struct sonde_device_cell cell = {batch->activities.operation[i], device, {0}};
		if (sums->options.selection.thread && !sums->options.selection.thread[batch->activities.thread[i]])
			continue;
		int rc = sum_of(&cell.sum, sums, batch, i) ? cell_add(sums, &cell) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

int sonde_device_sums_merge(void *state, void *other)
{
	const struct sonde_device_sums *from = other;
	int rc = 0;
	for (size_t i = 0; !rc && i < from->count; i++)
		rc = cell_add(state, &from->cells[i]);
	return rc;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

struct named {
	struct sonde_device_cell cell;
	const char *name;
	uint32_t kind;
};

static int by_name(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->cell.device != b->cell.device)
		return a->cell.device < b->cell.device ? -1 : 1;
	int order = strcmp(a->name, b->name);
	return order ? order : (a->cell.operation > b->cell.operation) - (a->cell.operation < b->cell.operation);
}

static int by_time(const void *left, const void *right)
{
	const struct sonde_device_cell *a = left, *b = right;
	if (a->sum.total_ns != b->sum.total_ns)
		return a->sum.total_ns > b->sum.total_ns ? -1 : 1;
	return (a->operation > b->operation) - (a->operation < b->operation);
}

static void occupy(const struct sonde_session *session, struct sonde_device_cell *cell)
{
	struct sonde_device_occupancy occupancy;
	struct sonde_device_sum *sum = &cell->sum;
	const struct sonde_device *device = sonde_session_device(session, cell->device);
	const struct sonde_operation *operation = sonde_session_operation(session, cell->operation);
	double filled = 0, lanes = 0;
	sum->unfilled = sonde_device_filled(&filled, device, operation);
	sum->unlaned = sonde_device_lanes(&lanes, device, operation);
	sum->filled_ns = filled * (double)sum->total_ns;
	sum->lanes_ns = lanes * (double)sum->total_ns;
	sum->unoccupied = sonde_device_occupancy(&occupancy, device, operation);
	if (sum->unoccupied)
		return;
	sum->occupied_ns = occupancy.share * (double)sum->total_ns;
	sum->limited_by = occupancy.limited_by;
	sum->limited_ns = sum->total_ns;
}

static size_t name_cells(struct named *out, const struct sonde_device_sums *sums, uint32_t kinds)
{
	size_t count = 0;
	for (size_t i = 0; i < sums->count; i++) {
		const struct sonde_operation *operation =
		    sonde_session_operation(sums->session, sums->cells[i].operation);
		if (!operation || !operation->kind || !(kinds >> operation->kind & 1))
			continue;
		out[count] = (struct named){sums->cells[i], operation->name, operation->kind};
		/* Activities of this kind are on the host even if they name a queue. */
		if (sonde_activity_row(operation->kind)->where == SONDE_ACTIVITY_ON_HOST)
			out[count].cell.device = 0;
		if (operation->kind == SONDE_ACTIVITY_KERNEL)
			occupy(sums->session, &out[count].cell);
		count++;
	}
	return count;
}

ptrdiff_t sonde_device_sums_by_name(struct sonde_device_cell **rows, const struct sonde_device_sums *sums,
				    uint32_t kinds)
{
	struct named *named = calloc(sums->count + 1, sizeof *named);
	struct sonde_device_cell *out = calloc(sums->count + 1, sizeof *out);
	size_t count = 0;
	*rows = out;
	if (!named || !out) {
		free(named);
		return sonde_error(ENOMEM, "out of memory for %zu operations of devices", sums->count);
	}
	size_t all = name_cells(named, sums, kinds);
	qsort(named, all, sizeof *named, by_name);
	for (size_t i = 0; i < all; i++) {
		const struct named *before = i ? &named[i - 1] : NULL;
		int is_same = before && before->kind == named[i].kind && before->cell.device == named[i].cell.device &&
			      !strcmp(before->name, named[i].name);
		if (is_same)
			sonde_device_sum_add(&out[count - 1].sum, &named[i].cell.sum);
		else
			out[count++] = named[i].cell;
	}
	free(named);
	qsort(out, count, sizeof *out, by_time);
	return (ptrdiff_t)count;
}

const char *sonde_device_label(const struct sonde_session *session, uint32_t device, struct sonde_report *report)
{
	char label[SONDE_DEVICE_LABEL_MAX_B];
	return sonde_report_text(report, "%s", sonde_device_label_put(session, device, label, sizeof label));
}
