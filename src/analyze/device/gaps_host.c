/* gaps_host.c: what the host did while a GPU was idle (device/gaps.h).
 *
 * Everything known about the thread becomes a span with a cause. One sweep over the spans of a gap assigns each time to
 * the first cause that applies, so that shares never exceed the gap.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/cpu/by_function.h"
#include "analyze/device/gaps.h"
#include "format/wait.h"
#include "util/array.h"
#include "util/error.h"

#define SPANS_MAX ((size_t)4 << 20)

void sonde_gaps_fini(struct sonde_gaps *gaps)
{
	for (size_t i = 0; i < gaps->count; i++)
		free(gaps->all[i].spans);
	free(gaps->all);
	*gaps = (struct sonde_gaps){0};
}

/* --- finding the gaps of a time ---------------------------------------------------------------------------------- */

struct reading {
	struct sonde_gaps *gaps;
	struct sonde_session *session;
	uint64_t *ends_ns; /* running maximum of the ends of gaps */
	size_t spans;
};

/* The first gap that may end after a time. */
static size_t first_behind(const struct reading *reading, uint64_t time_ns)
{
	size_t low = 0, high = reading->gaps->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (reading->ends_ns[middle] > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int span_add(struct reading *reading, struct sonde_gap *gap, struct sonde_gap_span span)
{
	span.from_ns = span.from_ns > gap->from_ns ? span.from_ns : gap->from_ns;
	span.to_ns = span.to_ns < gap->to_ns ? span.to_ns : gap->to_ns;
	if (span.from_ns >= span.to_ns)
		return 0;
	if (reading->spans >= SPANS_MAX) {
		reading->gaps->left_out++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(gap->spans, gap->cap, gap->count + 1))
		return sonde_error(ENOMEM, "out of memory for what the host did");
	gap->spans[gap->count++] = span;
	reading->spans++;
	return 0;
}

/* Adds a span of a thread to all gaps that ended with work requested by this thread. */
static int add(struct reading *reading, uint32_t thread, struct sonde_gap_span span)
{
	int rc = 0;
	for (size_t i = first_behind(reading, span.from_ns); i < reading->gaps->count && !rc; i++) {
		struct sonde_gap *gap = &reading->gaps->all[i];
		if (gap->from_ns >= span.to_ns)
			break;
		if (thread && gap->thread == thread)
			rc = span_add(reading, gap, span);
	}
	return rc;
}

/* --- collecting spans -------------------------------------------------------------------------------------------- */

static int add_calls(struct reading *reading, const struct sonde_device_times *times)
{
	int rc = 0;
	for (size_t i = 0; i < times->count && !rc; i++) {
		const struct sonde_device_time *row = &times->rows[i];
		if (sonde_activity_row(row->kind)->where != SONDE_ACTIVITY_ON_HOST)
			continue;
		uint32_t cause = row->kind == SONDE_ACTIVITY_SYNC    ? SONDE_GAP_SYNC
				 : row->kind == SONDE_ACTIVITY_BUILD ? SONDE_GAP_BUILD
								     : SONDE_GAP_API;
		rc = add(reading, row->thread, (struct sonde_gap_span){row->start_ns, row->end_ns, 0, cause});
	}
	for (size_t i = 0; i < reading->gaps->count && !rc; i++) {
		struct sonde_gap *gap = &reading->gaps->all[i];
		if (gap->queued_ns)
			rc = span_add(reading, gap,
				      (struct sonde_gap_span){gap->queued_ns, gap->to_ns, 0, SONDE_GAP_REQUESTED});
	}
	return rc;
}

static int add_waits(struct reading *reading, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_wait_row *row = sonde_wait_row(batch->waits.kind[i]);
		if (!row->name || row->group == SONDE_WAIT_GROUP_HELD || batch->waits.status[i] & SONDE_WAIT_SAMPLED)
			continue;
		uint32_t cause = row->group == SONDE_WAIT_GROUP_IO ? SONDE_GAP_IO : SONDE_GAP_WAIT;
		uint64_t from_ns = batch->waits.start_ns[i];
		rc = add(reading, batch->waits.thread[i],
			 (struct sonde_gap_span){from_ns, from_ns + batch->waits.dur_ns[i], 0, cause});
	}
	return rc;
}

/* A sample represents the time before it. */
static int add_samples(struct reading *reading, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint64_t to_ns = batch->samples.time_ns[i], ns = batch->samples.weight_ns[i];
		rc = add(reading, batch->samples.thread[i],
			 (struct sonde_gap_span){ns < to_ns ? to_ns - ns : 0, to_ns, batch->samples.stack[i],
						 SONDE_GAP_RUNNING});
	}
	return rc;
}

static void add_zone(struct reading *reading, const struct sonde_batch *batch, size_t at)
{
	uint64_t from_ns = batch->zones.start_ns[at], to_ns = from_ns + batch->zones.dur_ns[at];
	for (size_t i = first_behind(reading, from_ns); i < reading->gaps->count; i++) {
		struct sonde_gap *gap = &reading->gaps->all[i];
		if (gap->from_ns >= to_ns)
			break;
		uint64_t in_ns =
		    (to_ns < gap->to_ns ? to_ns : gap->to_ns) - (from_ns > gap->from_ns ? from_ns : gap->from_ns);
		if (gap->to_ns <= from_ns || gap->thread != batch->thread || in_ns < (gap->to_ns - gap->from_ns) / 2 ||
		    batch->zones.depth[at] + 1u <= gap->zone_depth)
			continue;
		gap->zone_depth = batch->zones.depth[at] + 1u;
		gap->zone_site = batch->zones.site[at];
	}
}

static int take(struct reading *reading, const struct sonde_batch *batch)
{
	if (batch->type == SONDE_CHUNK_WAITS)
		return add_waits(reading, batch);
	if (batch->type == SONDE_CHUNK_SAMPLES)
		return add_samples(reading, batch);
	for (size_t i = 0; batch->thread && i < batch->count; i++)
		add_zone(reading, batch, i);
	return 0;
}

static int read_all(struct reading *reading)
{
	const struct sonde_gaps *gaps = reading->gaps;
	const struct sonde_cursor_wanted wanted = {.from_ns = gaps->all[0].from_ns,
						   .to_ns = reading->ends_ns[gaps->count - 1]};
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, reading->session,
				   1u << SONDE_CHUNK_WAITS | 1u << SONDE_CHUNK_ZONES | 1u << SONDE_CHUNK_SAMPLES);
	if (rc)
		return rc;
	rc = sonde_cursor_want(cursor, &wanted);
	while (!rc && (rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM) {
		reading->gaps->is_incomplete |= rc < 0;
		rc = rc > 0 ? take(reading, batch) : 0;
	}
	sonde_cursor_close(cursor);
	return rc;
}

/* --- assigning time to causes ------------------------------------------------------------------------------------ */

struct edge {
	uint64_t time_ns;
	uint32_t cause;
	int is_end;
};

static int by_time(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int share_out(struct sonde_gap *gap)
{
	size_t holds[SONDE_GAP_CAUSES] = {0};
	struct edge *edges = calloc(2 * gap->count + 1, sizeof *edges);
	if (!edges)
		return sonde_error(ENOMEM, "out of memory for what the host did");
	for (size_t i = 0; i < gap->count; i++) {
		edges[2 * i] = (struct edge){gap->spans[i].from_ns, gap->spans[i].cause, 0};
		edges[2 * i + 1] = (struct edge){gap->spans[i].to_ns, gap->spans[i].cause, 1};
	}
	qsort(edges, 2 * gap->count, sizeof *edges, by_time);
	for (size_t i = 0; i < 2 * gap->count; i++) {
		size_t cause = 0;
		while (cause < SONDE_GAP_CAUSES && !holds[cause])
			cause++;
		if (cause < SONDE_GAP_CAUSES)
			gap->cause_ns[cause] += edges[i].time_ns - edges[i - 1].time_ns;
		holds[edges[i].cause] += edges[i].is_end ? (size_t)-1 : 1;
	}
	free(edges);
	return 0;
}

static int by_stack(const void *left, const void *right)
{
	const struct sonde_gap_span *a = left, *b = right;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Finds the function with the most sampled time; replaces the stacks of spans by functions. */
static void name_function(struct sonde_gap *gap, const struct sonde_session *session)
{
	uint64_t most_ns = 0, ns = 0;
	size_t count = 0;
	for (size_t i = 0; i < gap->count; i++) {
		struct sonde_gap_span span = gap->spans[i];
		const struct sonde_node *node = sonde_session_node(session, span.stack);
		if (span.cause != SONDE_GAP_RUNNING || !node)
			continue;
		span.stack = sonde_function_of(session, sonde_session_frame(session, node->frame), 0);
		gap->spans[count++] = span;
	}
	gap->count = count;
	if (count)
		qsort(gap->spans, count, sizeof *gap->spans, by_stack);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_gap_span *span = &gap->spans[i];
		ns = (i && span->stack == span[-1].stack ? ns : 0) + (span->to_ns - span->from_ns);
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		gap->function = span->stack;
		gap->has_function = 1;
	}
}

int sonde_gaps_explain(struct sonde_gaps *gaps, const struct sonde_device_times *times)
{
	struct reading reading = {.gaps = gaps, .session = times->session};
	uint64_t end_ns = 0;
	if (!gaps->count)
		return 0;
	reading.ends_ns = calloc(gaps->count, sizeof *reading.ends_ns);
	if (!reading.ends_ns)
		return sonde_error(ENOMEM, "out of memory for %zu gaps", gaps->count);
	for (size_t i = 0; i < gaps->count; i++) {
		end_ns = gaps->all[i].to_ns > end_ns ? gaps->all[i].to_ns : end_ns;
		reading.ends_ns[i] = end_ns;
	}
	int rc = add_calls(&reading, times);
	rc = rc ? rc : read_all(&reading);
	for (size_t i = 0; i < gaps->count && !rc; i++) {
		rc = share_out(&gaps->all[i]);
		if (!rc)
			name_function(&gaps->all[i], times->session);
	}
	free(reading.ends_ns);
	return rc;
}
