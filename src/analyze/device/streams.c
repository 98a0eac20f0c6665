/* streams.c: GPU queues: how busy each was, how long it was idle, and what overlapped.
 *
 * One pass over activities by queue yields the queue's own figures. A second pass over the starts and ends of busy
 * times of all queues of a device, in order, yields overlaps: while only one queue is busy, the running XOR of the ids
 * of all busy queues is its id.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/device/times.h"
#include "analyze/marks.h"
#include "session/device_labels.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { QUEUE, COUNT, BUSY, GAPS, IDLE, LONGEST, DELAY, DEPTH, OVERLAP, HIDDEN, DEVICE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [QUEUE] = {"queue", "queue", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [COUNT] = {"activities", "activities", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [BUSY] = {"busy_share", "busy", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [GAPS] = {"gaps", "gaps", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [IDLE] = {"idle_ns", "in gaps", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [LONGEST] = {"longest_gap_ns", "longest gap", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [DELAY] = {"mean_delay_ns", "mean delay", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [DEPTH] = {"depth", "waiting", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 2},
    [OVERLAP] = {"overlap_share", "with others", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [HIDDEN] = {"copy_overlap_share", "copies overlapped", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 2},
    [DEVICE] = {"device", "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 3},
};

struct queue {
	struct sonde_device_union busy, copies;
	uint64_t count, delayed, delay_ns;
	/* activities with a known request time, including those that start after the window */
	uint64_t requested;
	uint64_t waiting_ns;         /* sum of times between request and start, within the window */
	uint64_t first_ns, last_ns;  /* from the first request to the last end, within the window */
	/* time with no other queue of the device busy; time of copies while a kernel ran */
	uint64_t alone_ns, under_ns;
	uint32_t id, device;
};

struct streams {
	const struct sonde_device_times *times;
	struct queue *queues;               /* by id */
	size_t count;                       /* of queues */
	struct sonde_device_union *kernels; /* by device */
};

/* --- per queue --------------------------------------------------------------------------------------------------- */

static void add_delay(struct queue *queue, const struct sonde_device_time *row)
{
	queue->delayed++;
	queue->delay_ns += row->start_ns - row->queued_ns;
}

/* Adds an activity's time from request to start. Call it only for queues that did something: others have no row. */
static void add_waiting(struct queue *queue, const struct sonde_window *window, const struct sonde_device_time *row)
{
	uint64_t requested_ns = row->queued_ns > window->from_ns ? row->queued_ns : window->from_ns;
	uint64_t until_ns = row->start_ns < window->to_ns ? row->start_ns : window->to_ns;
	queue->requested++;
	queue->first_ns = requested_ns < queue->first_ns ? requested_ns : queue->first_ns;
	if (until_ns <= requested_ns)
		return;
	queue->waiting_ns += until_ns - requested_ns;
	queue->last_ns = until_ns > queue->last_ns ? until_ns : queue->last_ns;
}

static int add(struct streams *streams, const struct sonde_device_time *row)
{
	uint64_t from_ns, to_ns;
	if (!sonde_device_times_is_work(streams->times, row))
		return 0;
	struct queue *queue = &streams->queues[row->queue];
	if (!sonde_device_times_busy(streams->times, row, &from_ns, &to_ns)) {
		/* Activities are sorted by start: those that start after the window follow all those within it. */
		if (row->queued_ns && row->queued_ns < streams->times->window.to_ns && queue->count)
			add_waiting(queue, &streams->times->window, row);
		return 0;
	}
	queue->first_ns = !queue->count++ || from_ns < queue->first_ns ? from_ns : queue->first_ns;
	queue->last_ns = to_ns > queue->last_ns ? to_ns : queue->last_ns;
	if (row->queued_ns) {
		add_delay(queue, row);
		add_waiting(queue, &streams->times->window, row);
	}
	int rc = sonde_device_union_add(&queue->busy, from_ns, to_ns);
	if (!rc && row->kind == SONDE_ACTIVITY_COPY)
		rc = sonde_device_union_add(&queue->copies, from_ns, to_ns);
	if (!rc && row->kind == SONDE_ACTIVITY_KERNEL)
		rc = sonde_device_union_add(&streams->kernels[queue->device], from_ns, to_ns);
	return rc;
}

/* --- overlaps ---------------------------------------------------------------------------------------------------- */

struct edge {
	uint64_t time_ns;
	uint32_t device, queue;
	int is_end;
};

static int by_time(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void add_alone(struct streams *streams, const struct edge *edges, size_t count)
{
	uint32_t busy = 0, which = 0;
	for (size_t i = 0; i < count; i++) {
		if (busy == 1)
			streams->queues[which].alone_ns += edges[i].time_ns - edges[i - 1].time_ns;
		busy = edges[i].is_end ? busy - 1 : busy + 1;
		which ^= edges[i].queue;
	}
}

static int overlaps(struct streams *streams)
{
	size_t most = 0, count = 0;
	for (size_t id = 1; id <= streams->count; id++)
		most += 2 * streams->queues[id].busy.count;
	struct edge *edges = calloc(most + 1, sizeof *edges);
	if (!edges)
		return sonde_error(ENOMEM, "out of memory for %zu times of queues", most);
	for (uint32_t id = 1; id <= streams->count; id++) {
		struct queue *queue = &streams->queues[id];
		for (size_t i = 0; i < queue->busy.count; i++) {
			const struct sonde_device_span *span = &queue->busy.all[i];
			if (span->from_ns == span->to_ns)
				continue;
			edges[count++] = (struct edge){span->from_ns, queue->device, id, 0};
			edges[count++] = (struct edge){span->to_ns, queue->device, id, 1};
		}
		for (size_t i = 0; i < queue->copies.count; i++)
			queue->under_ns += sonde_device_union_covers(
			    &streams->kernels[queue->device], queue->copies.all[i].from_ns, queue->copies.all[i].to_ns);
	}
	qsort(edges, count, sizeof *edges, by_time);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && edges[to].device == edges[from].device;)
			to++;
		add_alone(streams, &edges[from], to - from);
	}
	free(edges);
	return 0;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct sonde_session *session, uint32_t id, struct sonde_report *report)
{
	char label[SONDE_DEVICE_LABEL_MAX_B];
	return sonde_report_text(report, "%s", sonde_queue_label_put(session, id, label, sizeof label));
}

static struct sonde_cell share(uint64_t part_ns, uint64_t all_ns, const char *why)
{
	return all_ns ? sonde_cell_real((double)part_ns / (double)all_ns, 0) : sonde_cell_absent(why);
}

static uint64_t longest_gap(const struct sonde_device_union *busy)
{
	uint64_t longest_ns = 0;
	for (size_t i = 1; i < busy->count; i++) {
		uint64_t ns = busy->all[i].from_ns - busy->all[i - 1].to_ns;
		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}

static void row_add(const struct streams *streams, const struct queue *queue, struct sonde_report *report,
		    struct sonde_section *section)
{
	static const char unasked[] = "their submission was not recorded", instant[] = "its total time is 0";
	const struct sonde_device_union *busy = &queue->busy;
	const struct sonde_window window = sonde_device_window(streams->times, queue->device);
	const char *name = name_of(streams->times->session, queue->id, report);
	const char *device = sonde_device_label(streams->times->session, queue->device, report);
	struct sonde_cell *row = sonde_report_row(report, section);
	uint64_t lasted_ns = busy->all[busy->count - 1].to_ns - busy->all[0].from_ns;
	row[QUEUE] = sonde_cell_text(name);
	row[COUNT] = sonde_cell_int(queue->count);
	row[BUSY] = share(busy->total_ns, window.to_ns - window.from_ns, "the selected time is empty");
	row[GAPS] = sonde_cell_int(busy->count - 1);
	row[IDLE] = sonde_cell_int(lasted_ns - busy->total_ns);
	row[LONGEST] = busy->count > 1 ? sonde_cell_int(longest_gap(busy)) : sonde_cell_absent("it has no gap");
	row[DELAY] = queue->delayed ? sonde_cell_int(queue->delay_ns / queue->delayed) : sonde_cell_absent(unasked);
	row[DEPTH] = queue->requested ? share(queue->waiting_ns, queue->last_ns - queue->first_ns, instant)
				      : sonde_cell_absent(unasked);
	row[OVERLAP] = share(busy->total_ns - queue->alone_ns, busy->total_ns, instant);
	row[HIDDEN] = share(queue->under_ns, queue->copies.total_ns, "it copied nothing");
	row[DEVICE] = sonde_cell_text(device);
}

static int by_busy(const void *left, const void *right)
{
	const struct queue *a = *(const struct queue *const *)left, *b = *(const struct queue *const *)right;
	if (a->busy.total_ns != b->busy.total_ns)
		return a->busy.total_ns > b->busy.total_ns ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static void notes(const struct streams *streams, struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(
	    report, section, 0,
	    "busy: active time ÷ %s; delay: from submission to start; waiting: mean number of unstarted items",
	    sonde_device_times_whole(streams->times, report));
	sonde_report_note(report, section, 0,
			  "with others: overlap with other queues; copies overlapped: share of copy time "
			  "with a kernel running");
	sonde_device_times_note(streams->times, report, section);
}

static int rows_add(const struct streams *streams, struct sonde_report *report)
{
	size_t limit = streams->times->options.limit ? streams->times->options.limit : DEFAULT_ROWS, count = 0;
	const struct queue **used = calloc(streams->count + 1, sizeof *used);
	if (!used)
		return sonde_error(ENOMEM, "out of memory for %zu queues", streams->count);
	for (size_t id = 1; id <= streams->count; id++)
		if (streams->queues[id].count)
			used[count++] = &streams->queues[id];
	qsort(used, count, sizeof *used, by_busy);
	struct sonde_section *section =
	    count ? sonde_report_table(report, "streams", "GPU queues", columns, COLUMNS) : NULL;
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(streams, used[i], report, section);
	sonde_device_rows_apart(report, section);
	free(used);
	if (!section)
		return sonde_pass_nothing(&streams->times->options, report, "streams", "GPU queues",
					  "no GPU queue was active");
	section->table.omitted = count > limit ? count - limit : 0;
	notes(streams, report, section);
	return 0;
}

static int streams_finish(void *state, struct sonde_report *report)
{
	struct sonde_device_times *times = state;
	size_t devices = sonde_session_device_count(times->session);
	struct streams streams = {.times = times, .count = sonde_session_queue_count(times->session)};
	streams.queues = calloc(streams.count + 1, sizeof *streams.queues);
	streams.kernels = calloc(devices + 1, sizeof *streams.kernels);
	int rc = streams.queues && streams.kernels ? 0 : sonde_error(ENOMEM, "out of memory for queues");
	sonde_device_times_sort(times);
	for (uint32_t id = 1; !rc && id <= streams.count; id++) {
		streams.queues[id].id = id;
		streams.queues[id].device = sonde_device_of_queue(times->session, id);
	}
	for (size_t i = 0; !rc && i < times->count; i++)
		rc = add(&streams, &times->rows[i]);
	rc = rc ? rc : overlaps(&streams);
	rc = rc ? rc : rows_add(&streams, report);
	for (size_t id = 0; streams.queues && id <= streams.count; id++) {
		sonde_device_union_fini(&streams.queues[id].busy);
		sonde_device_union_fini(&streams.queues[id].copies);
	}
	for (size_t id = 0; streams.kernels && id <= devices; id++)
		sonde_device_union_fini(&streams.kernels[id]);
	free(streams.queues);
	free(streams.kernels);
	return rc;
}

const struct sonde_pass sonde_pass_streams = {
    .name = "streams",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "GPU queues (streams): busy, idle, overlap, delay",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .standard = 1,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_times),
    .begin = sonde_device_times_begin,
    .feed = sonde_device_times_feed,
    .merge = sonde_device_times_merge,
    .finish = streams_finish,
    .end = sonde_device_times_end,
};
