/* samples.c: CPU samples in V8's format: a "Profile" event for each thread, then a "ProfileChunk" for each batch with
 * the new stack nodes, the samples, and the time deltas between them.
 *
 * A node is a function under a parent. V8's node ids are unique only within a profile; ours are unique in the whole
 * file, because some readers expect it. The ids of the lines of a trie node are consecutive from the outermost inwards,
 * so one id per (thread, trie node) is stored: the innermost's.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "export/chrome/event.h"
#include "export/stacks.h"
#include "util/error.h"
#include "util/map.h"

#define CATEGORY "disabled-by-default-v8.cpu_profiler"

struct samples {
	struct sonde_chrome *chrome;
	struct sonde_map nodes; /* (thread, trie node, kernel) → id */
	uint32_t last_id;
	uint64_t *last_ns; /* by thread id: time of its last sample; 0 = none yet */
	size_t thread_count;
	struct sonde_stack_path path; /* from a node up to one that has an id */
	uint32_t *order;              /* the samples of a batch, sorted by thread */
	uint32_t *ids;
	size_t batch_cap;
};

static uint64_t key_of(uint32_t thread, uint32_t node, uint32_t kernel)
{
	return sonde_hash_pair((uint64_t)thread << 1 | kernel, node);
}

static void put_node(struct samples *samples, uint32_t parent, uint32_t function)
{
	struct sonde_json *json = &samples->chrome->json;
	sonde_json_object(json);
	sonde_json_put_uint(json, "id", ++samples->last_id);
	if (parent)
		sonde_json_put_uint(json, "parent", parent);
	sonde_json_put_object(json, "callFrame");
	sonde_json_put_text(json, "functionName", sonde_stack_function_name(samples->chrome->session, function));
	sonde_json_put_text(json, "url", "");
	sonde_json_put_uint(json, "scriptId", 0);
	sonde_json_key(json, "lineNumber");
	sonde_json_int(json, -1);
	sonde_json_key(json, "columnNumber");
	sonde_json_int(json, -1);
	sonde_json_end(json);
	sonde_json_end(json);
}

/* Writes the lines of a trie node, outermost first. */
static void put_frame(struct samples *samples, uint32_t parent, uint32_t node_id)
{
	const struct sonde_session *session = samples->chrome->session;
	const struct sonde_node *node = sonde_session_node(session, node_id);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	for (uint32_t i = frame ? frame->location_count : 0; i > 0; i--) {
		uint32_t function = frame->locations[i - 1].function;
		put_node(samples, parent,
			 sonde_session_function(session, function) ? function : sonde_stack_unknown_id(session));
		parent = samples->last_id;
	}
	if (!frame)
		put_node(samples, parent, sonde_stack_unknown_id(session));
}

static int remember(struct samples *samples, uint64_t key)
{
	return sonde_map_add(&samples->nodes, key, samples->last_id) ? sonde_error(ENOMEM, "out of memory for stacks")
								     : 0;
}

/* Context for looking up the ids of a thread's nodes. */
struct known {
	const struct sonde_map *nodes;
	uint32_t thread;
};

static uint32_t find(const void *context, uint32_t node)
{
	const struct known *known = context;
	return sonde_map_find(known->nodes, key_of(known->thread, node, 0), NULL, NULL);
}

/* Returns the id of a stack in the thread's profile, after writing its new nodes. 0 on error. */
static uint32_t stack_id(struct samples *samples, uint32_t thread, uint32_t node, uint32_t kernel, int *error)
{
	const struct known known = {&samples->nodes, thread};
	const struct sonde_stack_path *path = &samples->path;
	uint32_t id = sonde_map_find(&samples->nodes, key_of(thread, node, kernel), NULL, NULL);
	if (id)
		return id;
	*error = sonde_stack_path_up(&samples->path, samples->chrome->session, node, find, &known, &id);
	for (size_t depth = path->count; depth > 0 && !*error; depth--) {
		put_frame(samples, id, path->nodes[depth - 1]);
		id = samples->last_id;
		*error = remember(samples, key_of(thread, path->nodes[depth - 1], 0));
	}
	if (!*error && (kernel || !node)) {
		const struct sonde_session *session = samples->chrome->session;
		put_node(samples, id, kernel ? sonde_stack_kernel_id(session) : sonde_stack_unknown_id(session));
		id = samples->last_id;
		*error = remember(samples, key_of(thread, node, kernel));
	}
	return id;
}

static void begin_event(struct samples *samples, const char *name, uint32_t thread, uint64_t time_ns)
{
	struct sonde_chrome_event event = {
	    .phase = "P", .name = name, .category = CATEGORY, .thread = thread, .time_ns = time_ns};
	char id[24];
	snprintf(id, sizeof id, "0x%x", thread);
	sonde_chrome_begin(samples->chrome, &event);
	sonde_json_put_text(&samples->chrome->json, "id", id);
	sonde_chrome_args(samples->chrome);
	sonde_json_put_object(&samples->chrome->json, "data");
}

static void end_event(struct samples *samples)
{
	sonde_json_end(&samples->chrome->json);
	sonde_chrome_end(samples->chrome);
}

static void put_profile(struct samples *samples, uint32_t thread, uint64_t time_ns)
{
	begin_event(samples, "Profile", thread, time_ns);
	sonde_json_key(&samples->chrome->json, "startTime");
	sonde_chrome_micros_value(samples->chrome, (int64_t)(time_ns - samples->chrome->base_ns));
	end_event(samples);
	samples->last_ns[thread] = time_ns;
}

/* Writes the samples order[0 … count − 1], all of one thread. */
static int put_chunk(struct samples *samples, const struct sonde_batch *batch, const uint32_t *order, size_t count)
{
	struct sonde_json *json = &samples->chrome->json;
	uint32_t thread = batch->samples.thread[order[0]];
	int rc = 0;
	if (!samples->last_ns[thread])
		put_profile(samples, thread, batch->samples.time_ns[order[0]]);
	begin_event(samples, "ProfileChunk", thread, batch->samples.time_ns[order[0]]);
	sonde_json_put_object(json, "cpuProfile");
	sonde_json_put_array(json, "nodes");
	for (size_t i = 0; i < count && !rc; i++) {
		uint32_t kernel = (uint32_t)sonde_export_stacks_in_kernel(samples->chrome->session, batch, order[i]);
		samples->ids[i] = stack_id(samples, thread, batch->samples.stack[order[i]], kernel, &rc);
	}
	if (rc)
		return rc;
	sonde_json_end(json);
	sonde_json_put_array(json, "samples");
	for (size_t i = 0; i < count; i++)
		sonde_json_uint(json, samples->ids[i]);
	sonde_json_end(json);
	sonde_json_end(json);
	sonde_json_put_array(json, "timeDeltas");
	for (size_t i = 0; i < count; i++) {
		sonde_chrome_micros_value(samples->chrome,
					  (int64_t)(batch->samples.time_ns[order[i]] - samples->last_ns[thread]));
		samples->last_ns[thread] = batch->samples.time_ns[order[i]];
	}
	sonde_json_end(json);
	sonde_json_put_array(json, "cpuNanoseconds"); /* weight of each sample; other readers ignore it */
	for (size_t i = 0; i < count; i++)
		sonde_json_uint(json, batch->samples.weight_ns[order[i]]);
	sonde_json_end(json);
	end_event(samples);
	return 0;
}

static int by_thread(const void *left, const void *right, void *state)
{
	const struct sonde_batch *batch = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (batch->samples.thread[a] != batch->samples.thread[b])
		return batch->samples.thread[a] < batch->samples.thread[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int put_batch(void *context, const struct sonde_batch *batch)
{
	struct samples *samples = context;
	if (batch->count > samples->batch_cap) {
		free(samples->order);
		free(samples->ids);
		samples->order = malloc(batch->count * sizeof *samples->order);
		samples->ids = malloc(batch->count * sizeof *samples->ids);
		samples->batch_cap = batch->count;
		if (!samples->order || !samples->ids)
			return sonde_error(ENOMEM, "out of memory for %zu samples", batch->count);
	}
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++)
		if (sonde_selection_takes(&samples->chrome->options->selection, batch->samples.time_ns[i],
					  batch->samples.thread[i]))
			samples->order[count++] = (uint32_t)i;
	qsort_r(samples->order, count, sizeof *samples->order, by_thread, (void *)(uintptr_t)batch);
	int rc = 0;
	for (size_t from = 0, to; from < count && !rc; from = to) {
		uint32_t thread = batch->samples.thread[samples->order[from]];
		for (to = from; to < count && batch->samples.thread[samples->order[to]] == thread;)
			to++;
		if (thread < samples->thread_count)
			rc = put_chunk(samples, batch, samples->order + from, to - from);
	}
	return rc;
}

int sonde_chrome_samples(struct sonde_chrome *chrome)
{
	struct samples samples = {.chrome = chrome};
	samples.thread_count = sonde_session_thread_count(chrome->session) + 1;
	samples.last_ns = calloc(samples.thread_count, sizeof *samples.last_ns);
	int rc = samples.last_ns
		     ? sonde_session_batches(chrome->session, 1u << SONDE_CHUNK_SAMPLES, put_batch, &samples)
		     : sonde_error(ENOMEM, "out of memory for %zu threads", samples.thread_count);
	sonde_map_fini(&samples.nodes);
	free(samples.last_ns);
	sonde_stack_path_fini(&samples.path);
	free(samples.order);
	free(samples.ids);
	return rc;
}
