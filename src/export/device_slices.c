/* device_slices.c: device work, cut to the selected time, in lanes, with arrows (device_slices.h). */
#include "export/device_slices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "export/stack/stacks.h"
#include "session/device_labels.h"
#include "util/array.h"
#include "util/error.h"

void sonde_device_slices_fini(struct sonde_device_slices *slices)
{
	free(slices->all);
	free(slices->calls);
	*slices = (struct sonde_device_slices){0};
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

struct reading {
	struct sonde_device_slices *slices;
	struct sonde_session *session;
	struct sonde_selection range;
};

static int add(struct sonde_device_slices *slices, const struct sonde_device_slice *slice)
{
	if (slices->count >= SONDE_DEVICE_SLICES_MAX) {
		slices->left_out++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(slices->all, slices->cap, slices->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu device activities", slices->count + 1);
	slices->all[slices->count++] = *slice;
	return 0;
}

static int take(struct reading *reading, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_operation *operation =
		    sonde_session_operation(reading->session, batch->activities.operation[i]);
		const struct sonde_queue *queue = sonde_session_queue(reading->session, batch->activities.queue[i]);
		uint32_t kind = operation ? operation->kind : 0, thread = batch->activities.thread[i];
		uint64_t start_ns = batch->activities.start_ns[i], dur_ns = batch->activities.dur_ns[i];
		enum sonde_activity_where where = sonde_activity_row(kind)->where;
		int has_track = where == SONDE_ACTIVITY_ON_DEVICE ? queue && queue->id : thread != 0;
		if (where == SONDE_ACTIVITY_ON_NOTHING || !has_track ||
		    (reading->range.thread && !reading->range.thread[thread]) ||
		    !sonde_weigh_cut(&reading->range, &start_ns, &dur_ns))
			continue;
		rc = add(reading->slices,
			 &(struct sonde_device_slice){
			     .from_ns = start_ns,
			     .to_ns = start_ns + dur_ns,
			     .delay_ns = batch->activities.queued_ns[i],
			     .correlation = batch->activities.correlation[i],
			     .size_b = batch->activities.size_b[i],
			     .address = batch->activities.address[i],
			     .operation = batch->activities.operation[i],
			     .queue = where == SONDE_ACTIVITY_ON_DEVICE ? batch->activities.queue[i] : 0,
			     .thread = thread,
			     .kind = kind,
			 });
	}
	return rc;
}

/* --- lanes ------------------------------------------------------------------------------------------------------- */

static int same_track(const struct sonde_device_slice *a, const struct sonde_device_slice *b)
{
	return a->queue == b->queue && (a->queue || a->thread == b->thread);
}

static int by_track(const struct sonde_device_slice *a, const struct sonde_device_slice *b)
{
	int by = sonde_order(a->queue, b->queue);
	return by || a->queue ? by : sonde_order(a->thread, b->thread);
}

static int by_time(const void *left, const void *right)
{
	const struct sonde_device_slice *a = left, *b = right;
	int by = by_track(a, b);
	by = by ? by : sonde_order(a->from_ns, b->from_ns);
	by = by ? by : sonde_order(b->to_ns, a->to_ns);
	by = by ? by : sonde_order(a->operation, b->operation);
	return by ? by : sonde_order(a->correlation, b->correlation);
}

static int by_lane(const void *left, const void *right)
{
	const struct sonde_device_slice *a = left, *b = right;
	int by = by_track(a, b);
	by = by ? by : sonde_order(a->lane, b->lane);
	return by ? by : by_time(left, right);
}

/* Puts each slice into the first free lane of its track; slices without one are left out. */
static void lay(struct sonde_device_slices *slices)
{
	uint64_t ends_ns[SONDE_DEVICE_LANES_MAX] = {0};
	size_t kept = 0;
	uint32_t lanes = 0;
	for (size_t i = 0; i < slices->count; i++) {
		struct sonde_device_slice slice = slices->all[i];
		lanes = kept && same_track(&slices->all[kept - 1], &slice) ? lanes : 0;
		uint32_t lane = 0;
		while (lane < lanes && ends_ns[lane] > slice.from_ns)
			lane++;
		if (lane == SONDE_DEVICE_LANES_MAX) {
			slices->left_out++;
			continue;
		}
		lanes = lane == lanes ? lanes + 1 : lanes;
		ends_ns[lane] = slice.to_ns;
		slice.lane = lane;
		slices->all[kept++] = slice;
	}
	slices->count = kept;
}

/* --- arrows ------------------------------------------------------------------------------------------------------ */

/* A slice, by what links it to others. */
struct tie {
	uint64_t correlation;
	uint32_t process, slice;
	int is_device;
};

static int by_correlation(const void *left, const void *right)
{
	const struct tie *a = left, *b = right;
	int by = sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->correlation, b->correlation);
	by = by ? by : a->is_device - b->is_device;
	return by ? by : sonde_order(a->slice, b->slice);
}

static void draw(struct sonde_device_slices *slices, const struct tie *ties, size_t count)
{
	const struct tie *call = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct tie *tie = &ties[i];
		if (!call || call->process != tie->process || call->correlation != tie->correlation)
			call = NULL;
		if (!tie->is_device) {
			call = call ? call : tie;
			continue;
		}
		struct sonde_device_slice *from = call ? &slices->all[call->slice] : NULL;
		if (!from || from->from_ns > slices->all[tie->slice].from_ns)
			continue;
		slices->calls[slices->arrow_count++] = call->slice;
		from->arrow = from->arrow ? from->arrow : (uint32_t)slices->arrow_count;
		from->arrows++;
		slices->all[tie->slice].arrow = (uint32_t)slices->arrow_count;
	}
}

static int tie_up(struct sonde_device_slices *slices, const struct sonde_session *session)
{
	struct tie *ties = calloc(slices->count + 1, sizeof *ties);
	size_t count = 0;
	slices->calls = calloc(slices->count + 1, sizeof *slices->calls);
	if (!ties || !slices->calls) {
		free(ties);
		return sonde_error(ENOMEM, "out of memory for %zu device activities", slices->count);
	}
	for (size_t i = 0; i < slices->count; i++) {
		const struct sonde_device_slice *slice = &slices->all[i];
		if (slice->correlation && (slice->queue || slice->kind == SONDE_ACTIVITY_API))
			ties[count++] = (struct tie){slice->correlation,
						     sonde_session_operation(session, slice->operation)->process,
						     (uint32_t)i, slice->queue != 0};
	}
	qsort(ties, count, sizeof *ties, by_correlation);
	draw(slices, ties, count);
	free(ties);
	return 0;
}

int sonde_device_slices_read(struct sonde_device_slices *out, struct sonde_session *session,
			     const struct sonde_format_options *options)
{
	const struct sonde_selection wanted = options->selection;
	struct reading reading = {out, session, sonde_weigh_range(session, &wanted)};
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	*out = (struct sonde_device_slices){0};
	int error = 0, rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_ACTIVITIES);
	if (rc)
		return rc;
	while (!error && (rc = sonde_export_stacks_next(cursor, &batch)) > 0)
		error = take(&reading, batch);
	sonde_cursor_close(cursor);
	error = error ? error : rc;
	if (!error && out->count) {
		qsort(out->all, out->count, sizeof *out->all, by_time);
		lay(out);
		qsort(out->all, out->count, sizeof *out->all, by_lane);
		error = tie_up(out, session);
	}
	if (error)
		sonde_device_slices_fini(out);
	return error;
}

/* --- what they are called ---------------------------------------------------------------------------------------- */

const char *sonde_device_slices_device(const struct sonde_session *session, uint32_t device,
				       char out[SONDE_DEVICE_LABEL_B])
{
	if (!*sonde_device_label_put(session, device, out, SONDE_DEVICE_LABEL_B))
		snprintf(out, SONDE_DEVICE_LABEL_B, "device");
	return out;
}

/* The lane's number, if there are several. */
static const char *put_lane(const struct sonde_device_slice *slice, char out[SONDE_DEVICE_LABEL_B], const char *name)
{
	if (slice->lane)
		snprintf(out, SONDE_DEVICE_LABEL_B, "%.140s (%" PRIu32 ")", name, slice->lane + 1);
	else
		snprintf(out, SONDE_DEVICE_LABEL_B, "%.159s", name);
	return out;
}

const char *sonde_device_slices_queue(const struct sonde_session *session, const struct sonde_device_slice *slice,
				      char out[SONDE_DEVICE_LABEL_B])
{
	char name[SONDE_DEVICE_LABEL_B];
	sonde_queue_name_put(session, slice->queue, name, sizeof name);
	return put_lane(slice, out, *name ? name : "GPU API calls");
}

const char *sonde_device_slices_track(const struct sonde_session *session, const struct sonde_device_slice *slice,
				      char out[SONDE_DEVICE_LABEL_B])
{
	char label[SONDE_DEVICE_LABEL_B];
	sonde_queue_label_put(session, slice->queue, label, sizeof label);
	return put_lane(slice, out, *label ? label : "GPU API calls");
}

const char *sonde_device_slices_name(const struct sonde_session *session, const struct sonde_device_slice *slice)
{
	const struct sonde_operation *operation = sonde_session_operation(session, slice->operation);
	return *operation->name ? operation->name : sonde_activity_row(slice->kind)->name;
}

size_t sonde_device_slices_args(const struct sonde_session *session, const struct sonde_device_slice *slice,
				struct sonde_device_arg out[SONDE_DEVICE_ARGS_MAX])
{
	const struct sonde_operation *operation = sonde_session_operation(session, slice->operation);
	const struct sonde_device_arg known[] = {
	    {"bytes", slice->size_b},
	    {"correlation", slice->correlation},
	    {"address", slice->address},
	    {"grid_x", operation->grid[0]},
	    {"grid_y", operation->grid[1]},
	    {"grid_z", operation->grid[2]},
	    {"block_x", operation->block[0]},
	    {"block_y", operation->block[1]},
	    {"block_z", operation->block[2]},
	    {"registers", operation->registers},
	    {"local_b", operation->local_b},
	    {"static_shared_b", operation->static_shared_b},
	    {"dynamic_shared_b", operation->dynamic_shared_b},
	};
	_Static_assert(sizeof known / sizeof *known < SONDE_DEVICE_ARGS_MAX, "room for all and the delay");
	size_t count = 0;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].value)
			out[count++] = known[i];
	if (slice->delay_ns)
		out[count++] = (struct sonde_device_arg){"delay_ns", slice->delay_ns - 1};
	return count;
}
