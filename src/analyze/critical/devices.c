/* devices.c: device activities, what each of them waited for, and which of them ended a thread's wait for a device.
 *
 * A wait ends with the activity that its own call submitted, if both have the same correlation. Otherwise, it ends with
 * the last activity that ended before the wait did: in the queue that the call names, if it names one, else in all
 * queues of the process. Activities that ended before the call began do not count. In an in-order queue, an activity
 * starts after its predecessor has ended: if it was already submitted by then, it waited for the predecessor, otherwise
 * for the submitting thread. In other queues, it is unknown what an activity waited for after its submission. The
 * submitter is recorded with the activity, or is the caller of the call with the same correlation; if neither is known,
 * the path continues in the waiting thread. Markers do nothing, and are left out. All of this uses sorting and binary
 * search: n log n.
 *
 * CUDA does not record a wait if a call copies and returns when the copy is done: such a call is treated as a wait if
 * its copy had ended when it returned.
 */
#include "analyze/critical/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/keys.h"
#include "base/order.h"
#include "format/device.h"
#include "sonde/device.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define BACK_TO_BACK_NS 10000u  /* gap that still implies queueing, if the submission time is unknown */
#define CLOCKS_APART_NS 100000u /* clock error by which an activity may seem to end after its own call */

/* The first call of a correlation. */
struct call {
	uint64_t from_ns; /* 0 = none */
	uint32_t thread;
};

struct reading {
	struct sonde_critical *critical;
	struct sonde_critical_device_wait *waits;
	size_t work_cap, wait_count, wait_cap;
	size_t seen; /* activities and waits seen */
	int is_full;
	struct sonde_critical_keys keys;
	struct call *calls; /* while reading calls: parallel to `keys`, at the first entry of each correlation */
};

/* 0 = unknown. */
static uint32_t known_process(const struct reading *reading, uint32_t id)
{
	return id <= sonde_session_process_count(reading->critical->session) ? id : 0;
}

static uint32_t process_of(const struct reading *reading, const struct sonde_critical_work *work)
{
	return known_process(reading, sonde_session_queue(reading->critical->session, work->queue)->process);
}

/* --- what was recorded -------------------------------------------------------------------------------------------- */

/* Makes space for one more of `count` rows; 0 if the limit is exceeded. */
static int capacity(struct reading *reading, void **rows, size_t *cap, size_t count, size_t row_b)
{
	reading->seen++;
	reading->is_full |= count >= SONDE_CRITICAL_WORKS_MAX;
	if (reading->is_full)
		return 0;
	if (sonde_array_reserve(rows, cap, count + 1, row_b))
		return sonde_error(ENOMEM, "out of memory for %zu device activities", count + 1);
	return 1;
}

static int add_work(struct reading *reading, const struct sonde_batch *batch, size_t i)
{
	struct sonde_critical *critical = reading->critical;
	int rc = capacity(reading, (void **)&critical->works, &reading->work_cap, critical->work_count + 1,
			  sizeof *critical->works);
	if (rc <= 0)
		return rc;
	if (!critical->work_count)
		critical->works[critical->work_count++] = (struct sonde_critical_work){0};
	uint32_t thread = batch->activities.thread[i] <= critical->threads ? batch->activities.thread[i] : 0;
	uint64_t start_ns = batch->activities.start_ns[i],
		 delay_ns = batch->activities.queued_ns[i] ? batch->activities.queued_ns[i] - 1 : 0;
	critical->works[critical->work_count++] =
	    (struct sonde_critical_work){.start_ns = start_ns,
					 .end_ns = start_ns + batch->activities.dur_ns[i],
					 .requested_ns = batch->activities.queued_ns[i] ? start_ns - delay_ns : 0,
					 .correlation = batch->activities.correlation[i],
					 .operation = batch->activities.operation[i],
					 .queue = batch->activities.queue[i],
					 .thread = thread};
	return 0;
}

static int add_wait(struct reading *reading, const struct sonde_batch *batch, size_t i, uint32_t is_copy)
{
	const struct sonde_thread *thread =
	    sonde_session_thread(reading->critical->session, batch->activities.thread[i]);
	if (!thread || !batch->activities.dur_ns[i] || batch->activities.thread[i] > reading->critical->threads)
		return 0;
	int rc = capacity(reading, (void **)&reading->waits, &reading->wait_cap, reading->wait_count,
			  sizeof *reading->waits);
	if (rc <= 0)
		return rc;
	reading->waits[reading->wait_count++] =
	    (struct sonde_critical_device_wait){.from_ns = batch->activities.start_ns[i],
						.to_ns = batch->activities.start_ns[i] + batch->activities.dur_ns[i],
						.correlation = batch->activities.correlation[i],
						.thread = batch->activities.thread[i],
						.process = known_process(reading, thread->process),
						.queue = batch->activities.queue[i],
						.is_copy = is_copy};
	return 0;
}

/* True for "cudaMemcpy", "cuMemcpyDtoH_v2"; false for "cudaMemcpyAsync". */
static int is_blocking_copy(const struct sonde_operation *operation)
{
	const char *name = operation->name;
	name += strncmp(name, "cuda", 4) == 0 ? 4 : strncmp(name, "cu", 2) == 0 ? 2 : 0;
	return operation->kind == SONDE_ACTIVITY_API && name != operation->name && strncmp(name, "Memcpy", 6) == 0 &&
	       !strstr(name, "Async");
}

/* Ends and starts outside the span are not on the path. */
static int take(struct reading *reading, const struct sonde_batch *batch, size_t i,
		const struct sonde_operation *operation)
{
	const struct sonde_critical *critical = reading->critical;
	uint32_t kind = operation->kind;
	if (batch->activities.start_ns[i] >= critical->to_ns ||
	    batch->activities.start_ns[i] + batch->activities.dur_ns[i] <= critical->from_ns)
		return 0;
	if (kind == SONDE_ACTIVITY_SYNC)
		return add_wait(reading, batch, i, 0);
	if (batch->activities.correlation[i] && is_blocking_copy(operation))
		return add_wait(reading, batch, i, 1);
	if (sonde_activity_row(kind)->where != SONDE_ACTIVITY_ON_DEVICE || kind == SONDE_ACTIVITY_MARKER ||
	    !sonde_session_queue(critical->session, batch->activities.queue[i]))
		return 0;
	return add_work(reading, batch, i);
}

typedef int each_fn(struct reading *reading, const struct sonde_batch *batch, size_t i,
		    const struct sonde_operation *operation);

/* Reads activities from from_ns (0 = all) to the end of the span, and possibly some outside of this time. */
static int read_activities(struct reading *reading, uint64_t from_ns, each_fn *each)
{
	const struct sonde_critical *critical = reading->critical;
	const struct sonde_cursor_wanted wanted = {.from_ns = from_ns, .to_ns = critical->to_ns};
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int error = 0, rc = sonde_cursor_open(&cursor, critical->session, 1u << SONDE_CHUNK_ACTIVITIES);
	if (rc)
		return rc;
	rc = sonde_cursor_want(cursor, &wanted);
	while (rc >= 0 && !error && (rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
		for (size_t i = 0; rc > 0 && i < batch->count && !error; i++) {
			const struct sonde_operation *operation =
			    sonde_session_operation(critical->session, batch->activities.operation[i]);
			error = operation ? each(reading, batch, i, operation) : 0;
		}
		rc = 0; /* unreadable chunks are no error here: critical/path.c reports how many bytes are missing */
	}
	sonde_cursor_close(cursor);
	return error ? error : rc;
}

/* --- ends of waits ------------------------------------------------------------------------------------------------ */

/* Indexes waits by correlation, and corrects the ends of activities: when a call that waits for an activity returns (of
 * several such calls, the last), the activity has ended, so a slightly later end is a clock error. */
static int key_waits(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	int rc = sonde_critical_keys_begin(&reading->keys, reading->wait_count);
	for (size_t i = 0; !rc && i < reading->wait_count; i++)
		if (reading->waits[i].correlation)
			reading->keys.all[reading->keys.count++] =
			    (struct sonde_critical_key){reading->waits[i].correlation, reading->waits[i].to_ns,
							reading->waits[i].process, (uint32_t)i};
	if (rc)
		return rc;
	sonde_critical_keys_sort(&reading->keys);
	for (size_t id = 1; id < critical->work_count && reading->keys.count; id++) {
		struct sonde_critical_work *work = &critical->works[id];
		const struct sonde_critical_key *last =
		    work->correlation ? sonde_critical_keys_last(&reading->keys, work->correlation,
								 process_of(reading, work), UINT64_MAX)
				      : NULL;
		if (last && work->end_ns > last->ended_ns && work->end_ns - last->ended_ns <= CLOCKS_APART_NS &&
		    work->start_ns < last->ended_ns)
			work->end_ns = last->ended_ns;
	}
	return 0;
}

static int compare_works(const void *left, const void *right)
{
	const struct sonde_critical_work *a = left, *b = right;
	int by = sonde_order(a->queue, b->queue);
	by = by ? by : sonde_order(a->end_ns, b->end_ns);
	by = by ? by : sonde_order(a->start_ns, b->start_ns);
	by = by ? by : sonde_order(a->operation, b->operation);
	by = by ? by : sonde_order(a->thread, b->thread);
	by = by ? by : sonde_order(a->requested_ns, b->requested_ns);
	return by ? by : sonde_order(a->correlation, b->correlation);
}

static void sort_works(struct sonde_critical *critical)
{
	size_t at = 2;
	while (at < critical->work_count && compare_works(&critical->works[at - 1], &critical->works[at]) <= 0)
		at++;
	if (at < critical->work_count)
		qsort(critical->works + 1, critical->work_count - 1, sizeof *critical->works, compare_works);
}

/* True if the end of this activity may have ended the wait. */
static int can_end(const struct sonde_critical_device_wait *wait, const struct sonde_critical_work *work)
{
	return work->end_ns > wait->from_ns && work->end_ns <= wait->to_ns;
}

static int compare_ends(const void *left, const void *right, void *context)
{
	const struct sonde_critical_work *works = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int by = sonde_order(works[a].end_ns, works[b].end_ns);
	return by ? by : sonde_order(a, b);
}

static int compare_waits(const void *left, const void *right)
{
	const struct sonde_critical_device_wait *a = left, *b = right;
	int by = sonde_order(a->to_ns, b->to_ns);
	by = by ? by : sonde_order(a->from_ns, b->from_ns);
	by = by ? by : sonde_order(a->thread, b->thread);
	return by ? by : sonde_order(a->correlation, b->correlation);
}

/* Iterates over activities by end time, keeping the last one of each queue and of each process. */
static void sweep(struct reading *reading, const uint32_t *by_end, uint32_t *of_queue, uint32_t *of_process)
{
	const struct sonde_critical *critical = reading->critical;
	const struct sonde_critical_work *works = critical->works;
	size_t at = 0;
	for (size_t i = 0; i < reading->wait_count; i++) {
		struct sonde_critical_device_wait *wait = &reading->waits[i];
		for (; at + 1 < critical->work_count && works[by_end[at]].end_ns <= wait->to_ns; at++) {
			of_queue[works[by_end[at]].queue] = by_end[at];
			of_process[process_of(reading, &works[by_end[at]])] = by_end[at];
		}
		uint32_t last = wait->queue ? of_queue[wait->queue] : of_process[wait->process];
		if (!wait->work && !wait->is_copy && last && can_end(wait, &works[last]))
			wait->work = last;
	}
}

/* Assigns to each wait the last activity with the wait's correlation that ended during the wait. */
static int end_by_correlation(struct reading *reading)
{
	const struct sonde_critical *critical = reading->critical;
	if (!reading->keys.count) /* no wait has a correlation */
		return 0;
	int rc = sonde_critical_keys_begin(&reading->keys, critical->work_count);
	if (rc)
		return rc;
	for (size_t id = 1; id < critical->work_count; id++) {
		const struct sonde_critical_work *work = &critical->works[id];
		if (work->correlation)
			reading->keys.all[reading->keys.count++] = (struct sonde_critical_key){
			    work->correlation, work->end_ns, process_of(reading, work), (uint32_t)id};
	}
	sonde_critical_keys_sort(&reading->keys);
	for (size_t i = 0; i < reading->wait_count; i++) {
		struct sonde_critical_device_wait *wait = &reading->waits[i];
		const struct sonde_critical_key *last =
		    wait->correlation
			? sonde_critical_keys_last(&reading->keys, wait->correlation, wait->process, wait->to_ns)
			: NULL;
		if (last && can_end(wait, &critical->works[last->id]))
			wait->work = last->id;
	}
	return 0;
}

static int end_waits(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	int rc = end_by_correlation(reading);
	if (rc)
		return rc;
	size_t processes = sonde_session_process_count(critical->session), works = critical->work_count;
	size_t queues = sonde_session_queue_count(critical->session);
	uint32_t *of_queue = calloc(queues + 1, sizeof *of_queue), *by_end = calloc(works + 1, sizeof *by_end);
	uint32_t *of_process = calloc(processes + 1, sizeof *of_process);
	rc = of_queue && by_end && of_process ? 0
					      : sonde_error(ENOMEM, "out of memory for %zu device activities", works);
	if (!rc) {
		for (size_t id = 1; id < works; id++)
			by_end[id - 1] = (uint32_t)id;
		qsort_r(by_end, works - 1, sizeof *by_end, compare_ends, critical->works);
		qsort(reading->waits, reading->wait_count, sizeof *reading->waits, compare_waits);
		sweep(reading, by_end, of_queue, of_process);
	}
	free(of_queue);
	free(by_end);
	free(of_process);
	return rc;
}

/* --- what activities waited for ----------------------------------------------------------------------------------- */

static int is_requested(const struct sonde_critical_work *work)
{
	return work->requested_ns && work->thread;
}

/* Activities do not record their submitting call, so it is the first call with the same correlation; a wait for the
 * activity may have that correlation, too. */
static int take_call(struct reading *reading, const struct sonde_batch *batch, size_t i,
		     const struct sonde_operation *operation)
{
	struct sonde_critical *critical = reading->critical;
	const struct sonde_thread *thread = sonde_session_thread(critical->session, batch->activities.thread[i]);
	uint32_t kind = operation->kind;
	uint64_t correlation = batch->activities.correlation[i], from_ns = batch->activities.start_ns[i];
	if ((kind != SONDE_ACTIVITY_API && kind != SONDE_ACTIVITY_SYNC) || !correlation || !thread || !from_ns ||
	    batch->activities.thread[i] > critical->threads)
		return 0;
	size_t at = sonde_critical_keys_find(&reading->keys, correlation, thread->process);
	if (!sonde_critical_keys_is(&reading->keys, at, correlation, thread->process))
		return 0;
	struct call *call = &reading->calls[at];
	if (!call->from_ns || from_ns < call->from_ns ||
	    (from_ns == call->from_ns && batch->activities.thread[i] < call->thread))
		*call = (struct call){from_ns, batch->activities.thread[i]};
	return 0;
}

/* Assigns the call of a correlation to all of its activities that do not start before it. */
static void put_calls(struct reading *reading)
{
	const struct call *call = reading->calls;
	for (size_t at = 0; at < reading->keys.count; at++) {
		const struct sonde_critical_key *keyed = &reading->keys.all[at];
		struct sonde_critical_work *work = &reading->critical->works[keyed->id];
		if (at && !sonde_critical_keys_is(&reading->keys, at - 1, keyed->correlation, keyed->process))
			call = &reading->calls[at];
		if (!call->from_ns || work->start_ns < call->from_ns)
			continue;
		work->requested_ns = call->from_ns;
		work->thread = call->thread;
	}
}

static int find_calls(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	int rc = sonde_critical_keys_begin(&reading->keys, critical->work_count);
	for (size_t id = 1; !rc && id < critical->work_count; id++)
		if (!is_requested(&critical->works[id]) && critical->works[id].correlation)
			reading->keys.all[reading->keys.count++] =
			    (struct sonde_critical_key){.correlation = critical->works[id].correlation,
							.process = process_of(reading, &critical->works[id]),
							.id = (uint32_t)id};
	if (rc || !reading->keys.count)
		return rc;
	sonde_critical_keys_sort(&reading->keys);
	reading->calls = calloc(reading->keys.count, sizeof *reading->calls);
	if (!reading->calls)
		return sonde_error(ENOMEM, "out of memory for %zu calls for devices", reading->keys.count);
	rc = read_activities(reading, 0, take_call); /* activities within the span may have been submitted before it */
	put_calls(reading);
	free(reading->calls);
	return rc;
}

/* Handles one queue, which has the activities `first` … `end` − 1. */
static void find_before(struct sonde_critical *critical, size_t first, size_t end)
{
	struct sonde_critical_work *works = critical->works;
	if (sonde_session_queue(critical->session, works[first].queue)->flags & SONDE_QUEUE_OUT_OF_ORDER)
		return;
	for (size_t id = first; id < end; id++) {
		struct sonde_critical_work *work = &works[id];
		size_t after = SONDE_SEARCH(i, first, id, works[i].end_ns <= work->start_ns);
		if (after == first)
			continue;
		work->before = (uint32_t)(after - 1);
		uint64_t ended_ns = works[work->before].end_ns;
		work->is_after =
		    work->requested_ns ? ended_ns > work->requested_ns : work->start_ns - ended_ns <= BACK_TO_BACK_NS;
	}
}

static void find_all_before(struct sonde_critical *critical)
{
	for (size_t first = 1, end; first < critical->work_count; first = end) {
		uint32_t queue = critical->works[first].queue;
		end = SONDE_SEARCH(i, first, critical->work_count, critical->works[i].queue <= queue);
		find_before(critical, first, end);
	}
}

/* Where the submitter is unknown, uses the thread that waited for the activity, or for a later activity in the same
 * queue. */
static void find_unasked(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	for (size_t i = 0; i < reading->wait_count; i++) {
		uint32_t id = reading->waits[i].work;
		while (id && !critical->works[id].is_waited_for) {
			struct sonde_critical_work *work = &critical->works[id];
			work->is_waited_for = 1;
			id = work->is_after ? work->before : 0;
			if (id || is_requested(work))
				continue;
			work->is_unasked = 1;
			work->thread = reading->waits[i].thread;
			work->requested_ns = work->requested_ns ? work->requested_ns : work->start_ns;
		}
	}
}

static void count_waits(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	for (size_t i = 0; i < reading->wait_count; i++) {
		const struct sonde_critical_device_wait *wait = &reading->waits[i];
		critical->device_waits += wait->work || !wait->is_copy;
		critical->unended_waits += !wait->work && !wait->is_copy;
	}
}

static int connect(struct reading *reading)
{
	struct sonde_critical *critical = reading->critical;
	int rc = key_waits(reading);
	if (rc)
		return rc;
	sort_works(critical);
	rc = end_waits(reading);
	rc = rc ? rc : find_calls(reading);
	if (rc)
		return rc;
	find_all_before(critical);
	find_unasked(reading);
	count_waits(reading);
	return sonde_critical_device_waits_put(critical, reading->waits, reading->wait_count);
}

int sonde_critical_devices_read(struct sonde_critical *critical)
{
	struct reading reading = {.critical = critical};
	int rc = critical->to_ns > critical->from_ns ? read_activities(&reading, critical->from_ns, take) : 0;
	if (reading.is_full) {
		critical->devices_left_out = reading.seen;
		critical->work_count = 0;
	} else if (!rc && critical->work_count && reading.wait_count) {
		rc = connect(&reading);
	} else {
		count_waits(&reading);
	}
	free(reading.waits);
	free(reading.keys.all);
	return rc;
}
