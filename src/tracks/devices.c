/* devices.c: device activity: a track for each queue of a device, and a track next to each thread for its calls to
 * devices. Links lead from a call to the activities that it submitted.
 *
 * Activities of a queue may overlap: each goes to the first lane of its queue or thread that is free. All are held in
 * memory and sorted, up to SLICES_MAX; those beyond, or without a free lane, are counted. If threads were selected, the
 * activities shown are those that they submitted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "session/device_labels.h"
#include "session/weigh.h"
#include "tracks/tracks_state.h"
#include "util/array.h"
#include "util/error.h"

enum { LANES_MAX = 64, LABEL_B = 160 };
#define SLICES_MAX ((size_t)8 << 20) /* most slices in memory, of 80 bytes each */

struct slice {
	uint64_t from_ns, to_ns;
	uint64_t delay_ns; /* time from submission to start, + 1; 0 = unknown */
	uint64_t correlation, size_b, address;
	uint32_t operation, queue, thread; /* ids; queue 0: a call of the host */
	uint32_t lane;                     /* index among the lanes of its queue, or of its thread's calls */
	uint32_t kind;                     /* a number of activities.def */
	struct sonde_track_links links;
};

struct devices {
	struct slice *all; /* sorted by queue (calls of the host: by thread), lane and time */
	size_t count, cap, next;
	uint64_t omitted;
	char title[LABEL_B], device[LABEL_B]; /* titles of the current track and its device */
	uint32_t device_id;
};

static void close(void *context)
{
	free(((struct devices *)context)->all);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int add(struct devices *devices, const struct slice *slice)
{
	if (devices->count >= SLICES_MAX) {
		devices->omitted++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(devices->all, devices->cap, devices->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu device activities", devices->count + 1);
	devices->all[devices->count++] = *slice;
	return 0;
}

static int take(struct sonde_tracks *tracks, struct devices *devices, const struct sonde_selection *range,
		const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_operation *operation =
		    sonde_session_operation(tracks->session, batch->activities.operation[i]);
		const struct sonde_queue *queue = sonde_session_queue(tracks->session, batch->activities.queue[i]);
		uint32_t kind = operation ? operation->kind : 0, thread = batch->activities.thread[i];
		uint64_t start_ns = batch->activities.start_ns[i], dur_ns = batch->activities.dur_ns[i];
		enum sonde_activity_where where = sonde_activity_row(kind)->where;
		int has_track = where == SONDE_ACTIVITY_ON_DEVICE ? queue && queue->id : thread != 0;
		if (where == SONDE_ACTIVITY_ON_NOTHING || !has_track || (range->thread && !range->thread[thread]) ||
		    !sonde_weigh_cut(range, &start_ns, &dur_ns))
			continue;
		rc = add(devices, &(struct slice){
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

/* --- lanes -------------------------------------------------------------------------------------------------------- */

static int by_owner(const struct slice *a, const struct slice *b)
{
	int by = sonde_order(a->queue, b->queue);
	return by || a->queue ? by : sonde_order(a->thread, b->thread);
}

static int by_time(const void *left, const void *right)
{
	const struct slice *a = left, *b = right;
	int by = by_owner(a, b);
	by = by ? by : sonde_order(a->from_ns, b->from_ns);
	by = by ? by : sonde_order(b->to_ns, a->to_ns);
	by = by ? by : sonde_order(a->operation, b->operation);
	return by ? by : sonde_order(a->correlation, b->correlation);
}

static int by_lane(const void *left, const void *right)
{
	const struct slice *a = left, *b = right;
	int by = by_owner(a, b);
	by = by ? by : sonde_order(a->lane, b->lane);
	return by ? by : by_time(left, right);
}

static void lay(struct devices *devices)
{
	uint64_t ends_ns[LANES_MAX] = {0};
	size_t kept = 0;
	uint32_t lanes = 0;
	for (size_t i = 0; i < devices->count; i++) {
		struct slice slice = devices->all[i];
		lanes = kept && !by_owner(&devices->all[kept - 1], &slice) ? lanes : 0;
		uint32_t lane = 0;
		while (lane < lanes && ends_ns[lane] > slice.from_ns)
			lane++;
		if (lane == LANES_MAX) {
			devices->omitted++;
			continue;
		}
		lanes = lane == lanes ? lanes + 1 : lanes;
		ends_ns[lane] = slice.to_ns;
		slice.lane = lane;
		devices->all[kept++] = slice;
	}
	devices->count = kept;
}

/* --- links -------------------------------------------------------------------------------------------------------- */

/* A slice with what identifies the slices that it has links to: process and correlation id. */
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

static void link_all(struct devices *devices, const struct tie *ties, size_t count)
{
	const struct tie *call = NULL;
	uint32_t links = 0;
	for (size_t i = 0; i < count; i++) {
		const struct tie *tie = &ties[i];
		if (!call || call->process != tie->process || call->correlation != tie->correlation)
			call = NULL;
		if (!tie->is_device) {
			call = call ? call : tie;
			continue;
		}
		struct slice *from = call ? &devices->all[call->slice] : NULL, *to = &devices->all[tie->slice];
		if (!from || from->from_ns > to->from_ns)
			continue;
		to->links.end = ++links;
		from->links.first = from->links.first ? from->links.first : links;
		from->links.count++;
		to->links.first = from->links.first;
	}
}

static int tie_up(struct devices *devices, const struct sonde_session *session)
{
	struct tie *ties = calloc(devices->count + 1, sizeof *ties);
	size_t count = 0;
	if (!ties)
		return sonde_error(ENOMEM, "out of memory for %zu device activities", devices->count);
	for (size_t i = 0; i < devices->count; i++) {
		const struct slice *slice = &devices->all[i];
		if (slice->correlation && (slice->queue || slice->kind == SONDE_ACTIVITY_API))
			ties[count++] = (struct tie){slice->correlation,
						     sonde_session_operation(session, slice->operation)->process,
						     (uint32_t)i, slice->queue != 0};
	}
	qsort(ties, count, sizeof *ties, by_correlation);
	link_all(devices, ties, count);
	free(ties);
	return 0;
}

static int open(struct sonde_tracks *tracks, void *context)
{
	struct devices *devices = context;
	const struct sonde_selection range = sonde_weigh_range(tracks->session, &tracks->options.selection);
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int error = 0, rc = sonde_cursor_open(&cursor, tracks->session, 1u << SONDE_CHUNK_ACTIVITIES);
	if (rc)
		return rc;
	while (!error && (rc = sonde_tracks_batch(cursor, &batch)) > 0)
		error = take(tracks, devices, &range, batch);
	sonde_cursor_close(cursor);
	if (error || rc || !devices->count)
		return error ? error : rc;
	qsort(devices->all, devices->count, sizeof *devices->all, by_time);
	lay(devices);
	qsort(devices->all, devices->count, sizeof *devices->all, by_lane);
	tracks->left[SONDE_TRACK_DEVICES].omitted = devices->omitted;
	return tie_up(devices, tracks->session);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Names the track that begins with a slice. */
static void begin_track(const struct sonde_session *session, struct devices *devices, const struct slice *slice)
{
	const struct sonde_queue *queue = sonde_session_queue(session, slice->queue);
	const struct sonde_device *first = queue ? sonde_device_first(session, queue->device) : NULL;
	char label[LABEL_B];
	devices->device_id = first ? first->id : 0;
	if (!queue || !*sonde_device_label_put(session, queue->device, devices->device, LABEL_B))
		snprintf(devices->device, LABEL_B, "device");
	if (!queue || !*sonde_queue_label_put(session, slice->queue, label, sizeof label))
		snprintf(label, sizeof label, "GPU API calls");
	if (slice->lane)
		snprintf(devices->title, LABEL_B, "%.140s (%" PRIu32 ")", label, slice->lane + 1);
	else
		snprintf(devices->title, LABEL_B, "%s", label);
}

static void put_args(struct sonde_tracks *tracks, const struct slice *slice, const struct sonde_operation *operation)
{
	const struct {
		const char *key;
		uint64_t number;
		const uint32_t *sizes;
	} known[] = {
	    {"bytes", slice->size_b, NULL},
	    {"correlation", slice->correlation, NULL},
	    {"address", slice->address, NULL},
	    {"grid", operation->grid[0], operation->grid},
	    {"block", operation->block[0], operation->block},
	    {"registers", operation->registers, NULL},
	    {"local_b", operation->local_b, NULL},
	    {"static_shared_b", operation->static_shared_b, NULL},
	    {"dynamic_shared_b", operation->dynamic_shared_b, NULL},
	};
	sonde_tracks_text(tracks, "kind", sonde_activity_row(slice->kind)->name);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].number && known[i].sizes)
			sonde_tracks_sizes(tracks, known[i].key, known[i].sizes);
		else if (known[i].number)
			sonde_tracks_uint(tracks, known[i].key, known[i].number);
	if (slice->delay_ns)
		sonde_tracks_uint(tracks, "delay_ns", slice->delay_ns - 1);
}

static int next(struct sonde_tracks *tracks, void *context)
{
	struct devices *devices = context;
	struct sonde_track_event *event = &tracks->event;
	if (devices->next >= devices->count)
		return 0;
	const struct slice *slice = &devices->all[devices->next++];
	const struct sonde_operation *operation = sonde_session_operation(tracks->session, slice->operation);
	const struct sonde_thread *thread = sonde_session_thread(tracks->session, slice->thread);
	const struct sonde_queue *queue = sonde_session_queue(tracks->session, slice->queue);
	if (devices->next == 1 || slice[-1].lane != slice->lane || by_owner(&slice[-1], slice))
		begin_track(tracks->session, devices, slice);
	event->form = SONDE_TRACK_SLICE;
	event->track.process = queue ? queue->process : thread ? thread->process : 0;
	event->track.thread = queue ? 0 : slice->thread;
	event->track.queue = slice->queue;
	event->track.device = devices->device_id;
	event->track.device_title = devices->device;
	event->track.sub = slice->lane;
	event->track.title = devices->title;
	event->thread = slice->thread;
	event->category = queue ? "device" : "GPU API call";
	event->what = sonde_activity_row(slice->kind)->name;
	event->name = operation->name;
	event->from_ns = slice->from_ns;
	event->to_ns = slice->to_ns;
	event->links = slice->links;
	put_args(tracks, slice, operation);
	return 1;
}

const struct sonde_tracks_row sonde_tracks_devices = {
    .state_b = sizeof(struct devices), .open = open, .next = next, .close = close};
