/* times.c: keeps single activities (device/times.h). */
#include "analyze/device/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device/memory_kinds.h"
#include "analyze/words.h"
#include "base/order.h"
#include "format/device_lost.h"
#include "sonde/device.h"
#include "util/array.h"
#include "util/error.h"

int sonde_device_times_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_device_times *times = state;
	times->session = session;
	times->options = *options;
	times->window = sonde_window_of(session, options);
	times->kinds = UINT32_MAX;
	return 0;
}

void sonde_device_times_end(void *state)
{
	struct sonde_device_times *times = state;
	free(times->rows);
}

/* --- feeding ----------------------------------------------------------------------------------------------------- */

static int ensure_capacity(struct sonde_device_times *times, size_t more)
{
	return SONDE_ARRAY_RESERVE(times->rows, times->cap, times->count + more)
		   ? sonde_error(ENOMEM, "out of memory for %zu device activities", times->count + more)
		   : 0;
}

static int is_kept(const struct sonde_device_times *times, const struct sonde_batch *batch, size_t i, uint32_t kind)
{
	if (!(times->kinds >> kind & 1))
		return 0;
	if (!kind || kind == SONDE_ACTIVITY_ALLOC || kind == SONDE_ACTIVITY_FREE || kind == SONDE_ACTIVITY_POOL)
		return kind != 0;
	if (times->options.selection.thread && !times->options.selection.thread[batch->activities.thread[i]])
		return 0;
	uint64_t requested_ns =
	    batch->activities.start_ns[i] - (batch->activities.queued_ns[i] ? batch->activities.queued_ns[i] - 1 : 0);
	return requested_ns <= times->window.to_ns &&
	       batch->activities.start_ns[i] + batch->activities.dur_ns[i] >= times->window.from_ns;
}

int sonde_device_times_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_device_times *times = state;
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_operation *operation =
		    sonde_session_operation(times->session, batch->activities.operation[i]);
		uint32_t kind = operation ? operation->kind : 0;
		if (!is_kept(times, batch, i, kind < SONDE_ACTIVITY_KINDS ? kind : 0))
			continue;
		if (times->count >= SONDE_DEVICE_TIMES_MAX) {
			times->left_out++;
			continue;
		}
		if (ensure_capacity(times, 1))
			return -ENOMEM;
		uint64_t start_ns = batch->activities.start_ns[i];
		times->rows[times->count++] = (struct sonde_device_time){
		    .start_ns = start_ns,
		    .end_ns = start_ns + batch->activities.dur_ns[i],
		    .queued_ns = batch->activities.queued_ns[i] ? start_ns - (batch->activities.queued_ns[i] - 1) : 0,
		    .size_b = batch->activities.size_b[i],
		    .address = batch->activities.address[i],
		    .operation = batch->activities.operation[i],
		    .queue = batch->activities.queue[i],
		    .thread = batch->activities.thread[i],
		    .kind = (uint8_t)kind,
		};
	}
	return 0;
}

int sonde_device_times_merge(void *state, void *other)
{
	struct sonde_device_times *to = state;
	const struct sonde_device_times *from = other;
	size_t capacity = SONDE_DEVICE_TIMES_MAX - to->count, count = from->count < capacity ? from->count : capacity;
	to->left_out += from->left_out + (from->count - count);
	if (ensure_capacity(to, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		to->rows[to->count++] = from->rows[i];
	return 0;
}

/* --- queries ------------------------------------------------------------------------------------------------------ */

/* Compares every field: the order must not depend on the order of merging. */
static int by_start(const void *left, const void *right)
{
	const struct sonde_device_time *a = left, *b = right;
	int by = sonde_order(a->start_ns, b->start_ns);
	by = by ? by : sonde_order(a->end_ns, b->end_ns);
	by = by ? by : sonde_order(a->queue, b->queue);
	by = by ? by : sonde_order(a->operation, b->operation);
	by = by ? by : sonde_order(a->thread, b->thread);
	by = by ? by : sonde_order(a->address, b->address);
	return by ? by : sonde_order(a->size_b, b->size_b);
}

void sonde_device_times_sort(struct sonde_device_times *times)
{
	if (times->count && !times->is_sorted)
		qsort(times->rows, times->count, sizeof *times->rows, by_start);
	times->is_sorted = 1;
}

uint32_t sonde_device_same(const struct sonde_session *session, uint32_t device)
{
	const struct sonde_device *row = sonde_session_device(session, device);
	return row ? row->same : 0;
}

uint32_t sonde_device_of_queue(const struct sonde_session *session, uint32_t queue)
{
	const struct sonde_queue *row = sonde_session_queue(session, queue);
	return row ? sonde_device_same(session, row->device) : 0;
}

uint32_t sonde_device_of_end(const struct sonde_session *session, uint32_t reported, uint8_t kind, uint32_t own)
{
	uint32_t device = sonde_memory_is_host(kind) ? 0 : sonde_device_same(session, reported);
	int is_own = kind == SONDE_MEMORY_DEVICE || kind == SONDE_MEMORY_ARRAY;
	return device ? device : is_own ? own : 0;
}

int sonde_device_times_is_work(const struct sonde_device_times *times, const struct sonde_device_time *row)
{
	return row->kind != SONDE_ACTIVITY_MARKER && sonde_activity_row(row->kind)->where == SONDE_ACTIVITY_ON_DEVICE &&
	       sonde_device_of_queue(times->session, row->queue);
}

int sonde_device_times_busy(const struct sonde_device_times *times, const struct sonde_device_time *row,
			    uint64_t *from_ns, uint64_t *to_ns)
{
	if (!sonde_device_times_is_work(times, row))
		return 0;
	*from_ns = row->start_ns > times->window.from_ns ? row->start_ns : times->window.from_ns;
	*to_ns = row->end_ns < times->window.to_ns ? row->end_ns : times->window.to_ns;
	return *from_ns < *to_ns || (*from_ns == *to_ns && row->start_ns == row->end_ns);
}

struct sonde_window sonde_device_window(const struct sonde_device_times *times, uint32_t device)
{
	const struct sonde_device *row = sonde_session_device(times->session, device);
	const struct sonde_part *part = row ? sonde_session_part_of(times->session, row->process) : NULL;
	struct sonde_window window = times->window;
	if (part && part->start_ns > window.from_ns && part->start_ns <= window.to_ns)
		window.from_ns = part->start_ns;
	if (part && part->end_ns < window.to_ns && part->end_ns >= window.from_ns)
		window.to_ns = part->end_ns;
	return window;
}

const char *sonde_device_times_whole(const struct sonde_device_times *times, struct sonde_report *report)
{
	double window_s = sonde_window_s(&times->window);
	if (sonde_session_part_count(times->session) > 1)
		return sonde_report_text(report, "%.3f s of %s in the row's own recording", window_s,
					 times->window.what);
	return sonde_report_text(report, "%.3f s of %s", window_s, times->window.what);
}

/* Another profiler has taken over the GPU: its activities are unknown from then on, and it looks idle. */
static void note_taken(const struct sonde_device_times *times, struct sonde_report *report,
		       struct sonde_section *section)
{
	uint64_t start_ns = sonde_session_run(times->session)->start_ns, from_ns = UINT64_MAX;
	for (size_t i = 0; i < sonde_session_lost_count(times->session); i++) {
		const struct sonde_lost *lost = sonde_session_lost(times->session, i);
		if (!strcmp(lost->source, "gpu") &&
		    !strncmp(lost->cause, SONDE_DEVICE_LOST_TAKEN, strlen(SONDE_DEVICE_LOST_TAKEN)))
			from_ns = lost->from_ns < from_ns ? lost->from_ns : from_ns;
	}
	if (from_ns < start_ns || from_ns >= times->window.to_ns)
		return;
	sonde_report_note(report, section, 1,
			  "from %.3f s on, another profiler traced the GPUs of a process: shares of time are "
			  "too low",
			  (double)(from_ns - start_ns) / 1e9);
}

void sonde_device_times_note(const struct sonde_device_times *times, struct sonde_report *report,
			     struct sonde_section *section)
{
	if (times->left_out)
		sonde_report_note(report, section, 1,
				  "%llu activit%s exceeded the memory limit and %s left out: shares are too low",
				  (unsigned long long)times->left_out, sonde_word(times->left_out, "y has", "ies have"),
				  sonde_word(times->left_out, "is", "are"));
	note_taken(times, report, section);
	if (!times->options.selection.thread)
		return;
	sonde_report_note(report, section, 0, "only GPU work submitted by %s", times->options.thread_is);
}

/* --- unions of times --------------------------------------------------------------------------------------------- */

int sonde_device_union_add(struct sonde_device_union *of, uint64_t from_ns, uint64_t to_ns)
{
	struct sonde_device_span *last = of->count ? &of->all[of->count - 1] : NULL;
	if (last && from_ns <= last->to_ns) {
		of->total_ns += to_ns > last->to_ns ? to_ns - last->to_ns : 0;
		last->to_ns = to_ns > last->to_ns ? to_ns : last->to_ns;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(of->all, of->cap, of->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu times of devices", of->count + 1);
	of->all[of->count++] = (struct sonde_device_span){from_ns, to_ns, of->total_ns};
	of->total_ns += to_ns - from_ns;
	return 0;
}

/* Total covered time up to a time. */
static uint64_t covered_until(const struct sonde_device_union *of, uint64_t at_ns)
{
	size_t low = 0, high = of->count; /* searches the first span that begins after at_ns */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (of->all[middle].from_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	const struct sonde_device_span *span = &of->all[low - 1];
	return span->before_ns + (at_ns < span->to_ns ? at_ns : span->to_ns) - span->from_ns;
}

uint64_t sonde_device_union_covers(const struct sonde_device_union *of, uint64_t from_ns, uint64_t to_ns)
{
	return covered_until(of, to_ns) - covered_until(of, from_ns);
}

void sonde_device_union_fini(struct sonde_device_union *of)
{
	free(of->all);
	*of = (struct sonde_device_union){0};
}
