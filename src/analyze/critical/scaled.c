/* scaled.c: determines when each thread was in the scaled parts, as parts that do not overlap.
 *
 * Zones, holds and lifetimes of threads are exact, except for inferred holds (critical/holds.h). A function gets the
 * time between two samples of a thread if the later one has it on the stack. Where scales overlap, their factors
 * multiply; overlaps within one scale count once. Device activities are scaled by operation and have no parts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/holds.h"
#include "analyze/critical/replay.h"
#include "format/device.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

/* Start or end of a part. */
struct edge {
	uint64_t at_ns;
	uint32_t thread, scale;
	int32_t by; /* +1, −1 */
};

struct scaling {
	const struct sonde_critical *critical;
	const struct sonde_critical_scale *scales;
	size_t count, scale; /* scale: the one being read */
	struct edge *edges;
	size_t edge_count, edge_cap;
	uint8_t *wanted;      /* by node or object: matches the scale */
	uint64_t *sampled_ns; /* by thread: time of its last sample */
	int is_found;
	struct sonde_critical_holds holds; /* of the lock being read */
	uint64_t assumed;
	double *takes; /* by device operation: factor for its time */
};

static int add_edge(struct scaling *scaling, uint32_t thread, uint64_t at_ns, int by)
{
	if (SONDE_ARRAY_RESERVE(scaling->edges, scaling->edge_cap, scaling->edge_count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu parts of threads", scaling->edge_count + 1);
	scaling->edges[scaling->edge_count++] = (struct edge){at_ns, thread, (uint32_t)scaling->scale, by};
	return 0;
}

/* Only parts within the span are scaled. */
static int add_part(struct scaling *scaling, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct sonde_critical *critical = scaling->critical;
	scaling->is_found = 1;
	from_ns = from_ns > critical->from_ns ? from_ns : critical->from_ns;
	to_ns = to_ns < critical->to_ns ? to_ns : critical->to_ns;
	if (!thread || thread > critical->threads || to_ns <= from_ns)
		return 0;
	int rc = add_edge(scaling, thread, from_ns, 1);
	return rc ? rc : add_edge(scaling, thread, to_ns, -1);
}

/* --- parts in the recording --------------------------------------------------------------------------------------- */

static int take_zones(struct scaling *scaling, const struct sonde_batch *batch, const char *name)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_site *site = sonde_session_site(scaling->critical->session, batch->zones.site[i]);
		if (site && !(batch->zones.flags[i] & SONDE_ZONE_RECURSIVE) && !strcmp(site->name, name))
			rc = add_part(scaling, batch->thread, batch->zones.start_ns[i],
				      batch->zones.start_ns[i] + batch->zones.dur_ns[i]);
	}
	return rc;
}

static int take_samples(struct scaling *scaling, const struct sonde_batch *batch, const char *name)
{
	int rc = 0;
	(void)name;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint32_t thread = batch->samples.thread[i], stack = batch->samples.stack[i];
		if (!thread || thread > scaling->critical->threads || !sonde_sample_counts(batch->samples.status[i]))
			continue;
		uint64_t *last_ns = &scaling->sampled_ns[thread];
		uint64_t from_ns = *last_ns ? *last_ns : scaling->critical->lives[thread].start_ns;
		if (stack <= sonde_session_node_count(scaling->critical->session) && scaling->wanted[stack])
			rc = add_part(scaling, thread, from_ns, batch->samples.time_ns[i]);
		*last_ns = batch->samples.time_ns[i];
	}
	return rc;
}

static int take_holds(struct scaling *scaling, const struct sonde_batch *batch, const char *name)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_object *object =
		    sonde_session_object(scaling->critical->session, batch->waits.object[i]);
		char address[24];
		if (!object || !sonde_critical_holds_wants(batch, i))
			continue;
		snprintf(address, sizeof address, "0x%" PRIx64, object->address);
		if (!strcmp(object->name, name) || !strcmp(address, name))
			rc = sonde_critical_holds_take(&scaling->holds, batch, i);
	}
	return rc;
}

/* Adds the recorded and the inferred holds. */
static int add_holds(struct scaling *scaling)
{
	struct sonde_critical_holds *holds = &scaling->holds;
	int rc = sonde_critical_holds_finish(holds, scaling->critical);
	for (size_t i = 0; !rc && i < holds->count; i++)
		if (holds->row[i].is_hold)
			rc = add_part(scaling, holds->row[i].thread, holds->row[i].from_ns, holds->row[i].to_ns);
	scaling->assumed += holds->assumed;
	sonde_critical_holds_fini(holds);
	return rc;
}

/* Finds the stacks that contain the function: a node's parent has a lower id. */
static int find_stacks(struct scaling *scaling, const char *name)
{
	const struct sonde_session *session = scaling->critical->session;
	uint32_t nodes = (uint32_t)sonde_session_node_count(session);
	scaling->wanted = calloc((size_t)nodes + 1, 1);
	scaling->sampled_ns = calloc((size_t)scaling->critical->threads + 1, sizeof *scaling->sampled_ns);
	if (!scaling->wanted || !scaling->sampled_ns)
		return sonde_error(ENOMEM, "out of memory for %u stacks", nodes);
	for (uint32_t id = 1; id <= nodes; id++) {
		const struct sonde_node *node = sonde_session_node(session, id);
		const struct sonde_frame *frame = sonde_session_frame(session, node->frame);
		scaling->wanted[id] = node->parent < id && scaling->wanted[node->parent];
		for (uint32_t i = 0; frame && i < frame->location_count && !scaling->wanted[id]; i++) {
			const struct sonde_function *function =
			    sonde_session_function(session, frame->locations[i].function);
			scaling->wanted[id] = function && !strcmp(function->name, name);
		}
	}
	return 0;
}

static int add_threads(struct scaling *scaling, const char *name)
{
	const struct sonde_critical *critical = scaling->critical;
	int rc = 0;
	for (uint32_t id = 1; id <= critical->threads && !rc; id++) {
		const struct sonde_thread *thread = sonde_session_thread(critical->session, id);
		char tid[16];
		snprintf(tid, sizeof tid, "%u", thread->tid);
		if (!strcmp(thread->name, name) || !strcmp(tid, name))
			rc = add_part(scaling, id, critical->lives[id].start_ns, critical->lives[id].end_ns);
	}
	return rc;
}

/* All operations of that name, whatever the launch configuration. */
static int add_operations(struct scaling *scaling, const char *name)
{
	const struct sonde_session *session = scaling->critical->session;
	const struct sonde_critical_scale *scale = &scaling->scales[scaling->scale];
	uint32_t kind = scale->of == SONDE_CRITICAL_OF_COPY ? SONDE_ACTIVITY_COPY : SONDE_ACTIVITY_KERNEL;
	size_t count = sonde_session_operation_count(session);
	double *takes = scaling->takes ? scaling->takes : malloc((count + 1) * sizeof *takes);
	if (!takes)
		return sonde_error(ENOMEM, "out of memory for %zu operations of devices", count);
	for (size_t id = 0; id <= count && !scaling->takes; id++)
		takes[id] = 1;
	scaling->takes = takes;
	for (uint32_t id = 1; id <= count; id++) {
		const struct sonde_operation *operation = sonde_session_operation(session, id);
		if (operation->kind != kind || strcmp(operation->name, name) != 0)
			continue;
		scaling->is_found = 1;
		takes[id] /= scale->speed;
	}
	return 0;
}

static const struct reader {
	enum sonde_chunk_type type;
	int (*take)(struct scaling *scaling, const struct sonde_batch *batch, const char *name);
	int (*finish)(struct scaling *scaling);                /* NULL = nothing to finish */
	int (*add)(struct scaling *scaling, const char *name); /* replaces both if nothing has to be read */
} readers[SONDE_CRITICAL_OFS] = {
    [SONDE_CRITICAL_OF_ZONE] = {SONDE_CHUNK_ZONES, take_zones, NULL, NULL},
    [SONDE_CRITICAL_OF_FUNCTION] = {SONDE_CHUNK_SAMPLES, take_samples, NULL, NULL},
    [SONDE_CRITICAL_OF_LOCK] = {SONDE_CHUNK_WAITS, take_holds, add_holds, NULL},
    [SONDE_CRITICAL_OF_THREAD] = {.add = add_threads},
    [SONDE_CRITICAL_OF_KERNEL] = {.add = add_operations},
    [SONDE_CRITICAL_OF_COPY] = {.add = add_operations},
};

static int read_scale(struct scaling *scaling)
{
	const struct sonde_critical_scale *scale = &scaling->scales[scaling->scale];
	const struct reader *reader = &readers[scale->of];
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	if (reader->add)
		return reader->add(scaling, scale->name);
	int error = scale->of == SONDE_CRITICAL_OF_FUNCTION ? find_stacks(scaling, scale->name) : 0;
	int rc = error ? error : sonde_cursor_open(&cursor, scaling->critical->session, 1u << reader->type);
	if (rc < 0)
		return rc;
	while (!error && (rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		error = rc > 0 ? reader->take(scaling, batch, scale->name) : 0;
	sonde_cursor_close(cursor);
	error = error || rc < 0 || !reader->finish ? error : reader->finish(scaling);
	return error ? error : rc;
}

/* --- parts that do not overlap ------------------------------------------------------------------------------------ */

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return b->by - a->by;
}

static double saved_by(const struct scaling *scaling, const uint32_t *open)
{
	double takes = 1;
	for (size_t i = 0; i < scaling->count; i++)
		takes /= open[i] ? scaling->scales[i].speed : 1;
	return 1 - takes;
}

static int lay_flat(struct sonde_critical_scaled *out, struct scaling *scaling)
{
	size_t threads = (size_t)scaling->critical->threads + 2, count = 0;
	uint32_t *open = calloc(scaling->count + 1, sizeof *open);
	out->parts = calloc(scaling->edge_count + 1, sizeof *out->parts);
	out->begin = calloc(threads, sizeof *out->begin);
	if (!open || !out->parts || !out->begin) {
		free(open);
		return sonde_error(ENOMEM, "out of memory for %zu parts of threads", scaling->edge_count);
	}
	if (scaling->edge_count)
		qsort(scaling->edges, scaling->edge_count, sizeof *scaling->edges, compare_edges);
	double saved_ns = 0;
	for (size_t i = 0; i < scaling->edge_count; i++) {
		const struct edge *edge = &scaling->edges[i], *next = edge + 1;
		open[edge->scale] += (uint32_t)edge->by;
		if (i + 1 == scaling->edge_count || next->thread != edge->thread) {
			saved_ns = 0;
			continue;
		}
		double saves = saved_by(scaling, open);
		if (next->at_ns == edge->at_ns || saves == 0)
			continue;
		out->parts[count++] = (struct sonde_critical_part){edge->at_ns, next->at_ns, saved_ns, saves};
		out->begin[edge->thread + 1]++;
		saved_ns += (double)(next->at_ns - edge->at_ns) * saves;
	}
	for (size_t id = 1; id < threads; id++)
		out->begin[id] += out->begin[id - 1];
	free(open);
	return 0;
}

int sonde_critical_scaled_read(struct sonde_critical_scaled *out, const struct sonde_critical *critical,
			       const struct sonde_critical_scale *scales, size_t count)
{
	struct scaling scaling = {.critical = critical, .scales = scales, .count = count};
	int rc = 0;
	*out = (struct sonde_critical_scaled){.is_found = 1};
	for (; rc >= 0 && scaling.scale < count; scaling.scale++) {
		scaling.is_found = 0;
		rc = read_scale(&scaling);
		out->is_found &= scaling.is_found;
		free(scaling.wanted);
		free(scaling.sampled_ns);
		sonde_critical_holds_fini(&scaling.holds);
		scaling.wanted = NULL;
		scaling.sampled_ns = NULL;
	}
	out->assumed = scaling.assumed;
	out->takes = scaling.takes;
	rc = rc < 0 ? rc : lay_flat(out, &scaling);
	free(scaling.edges);
	if (rc < 0)
		sonde_critical_scaled_fini(out);
	return rc < 0 ? rc : 0;
}

void sonde_critical_scaled_fini(struct sonde_critical_scaled *scaled)
{
	free(scaled->parts);
	free(scaled->begin);
	free(scaled->takes);
	*scaled = (struct sonde_critical_scaled){0};
}

double sonde_critical_scaled_takes(const struct sonde_critical_scaled *scaled, uint32_t operation)
{
	return scaled->takes ? scaled->takes[operation] : 1;
}

static double saved_until(const struct sonde_critical_scaled *scaled, uint32_t thread, uint64_t time_ns)
{
	size_t first = scaled->begin[thread];
	size_t next = SONDE_SEARCH(i, first, scaled->begin[thread + 1], scaled->parts[i].from_ns < time_ns);
	if (next == first)
		return 0;
	const struct sonde_critical_part *part = &scaled->parts[next - 1];
	uint64_t to_ns = time_ns < part->to_ns ? time_ns : part->to_ns;
	return part->saved_before_ns + (double)(to_ns - part->from_ns) * part->saves;
}

double sonde_critical_scaled_saved(const struct sonde_critical_scaled *scaled, uint32_t thread, uint64_t from_ns,
				   uint64_t to_ns)
{
	return saved_until(scaled, thread, to_ns) - saved_until(scaled, thread, from_ns);
}
