/* thread_entries.c: finds each thread's entry function with one pass over nodes and one over samples. */
#include "analyze/cpu/thread_entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

/* Majority vote of stacks: a stack that differs from the candidate votes it down (Boyer and Moore). */
struct vote {
	uint32_t function;
	uint64_t ahead;
};

static int begins_every_thread(const struct sonde_module *module)
{
	static const char *const names[] = {"libc.",      "libc-",   "libpthread", "ld-",
					    "libstdc++.", "libc++.", "libgcc_s.",  "ld.so"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(module->name, names[i], strlen(names[i])) == 0)
			return 1;
	return (module->flags & SONDE_MODULE_KERNEL) != 0;
}

static uint32_t function_of(const struct sonde_session *session, const struct sonde_node *node)
{
	const struct sonde_frame *frame = sonde_session_frame(session, node->frame);
	const struct sonde_module *module = frame ? sonde_session_module(session, frame->module) : NULL;
	if (!module || !frame->location_count || begins_every_thread(module))
		return 0;
	return frame->locations[frame->location_count - 1].function;
}

/* Returns by node id: the outermost function of the node's stack. Relies on parents having smaller ids. */
static uint32_t *entries_of_nodes(const struct sonde_session *session)
{
	size_t count = sonde_session_node_count(session);
	uint32_t *entries = calloc(count + 1, sizeof *entries);
	for (size_t id = 1; entries && id <= count; id++) {
		const struct sonde_node *node = sonde_session_node(session, (uint32_t)id);
		if (node)
			entries[id] = entries[node->parent] ? entries[node->parent] : function_of(session, node);
	}
	return entries;
}

static int reaches_root(uint8_t status)
{
	unsigned how = sonde_sample_status(status);
	return sonde_stack_is_complete(how);
}

static void count_votes(struct vote *votes, size_t threads, const uint32_t *entries, size_t nodes,
			const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		uint32_t thread = batch->samples.thread[i], node = batch->samples.stack[i];
		uint32_t entry = node <= nodes && reaches_root(batch->samples.status[i]) ? entries[node] : 0;
		if (!entry || thread > threads)
			continue;
		struct vote *vote = &votes[thread];
		if (!vote->ahead)
			vote->function = entry;
		if (vote->function == entry)
			vote->ahead++;
		else
			vote->ahead--;
	}
}

int sonde_thread_entries(struct sonde_session *session, uint32_t **out_functions)
{
	size_t threads = sonde_session_thread_count(session), nodes = sonde_session_node_count(session);
	uint32_t *entries = entries_of_nodes(session), *functions = calloc(threads + 1, sizeof *functions);
	struct vote *votes = calloc(threads + 1, sizeof *votes);
	struct sonde_cursor *cursor = NULL;
	const struct sonde_batch *batch;
	int rc = entries && functions && votes ? 0 : sonde_error(ENOMEM, "out of memory for %zu threads", threads),
	    more;
	rc = rc ? rc : sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SAMPLES);
	while (!rc && (more = sonde_cursor_next(cursor, &batch)) != 0)
		if (more > 0)
			count_votes(votes, threads, entries, nodes, batch);
	if (cursor)
		sonde_cursor_close(cursor);
	for (size_t i = 1; !rc && i <= threads; i++)
		functions[i] = votes[i].function;
	free(votes);
	free(entries);
	if (rc) {
		free(functions);
		functions = NULL;
	}
	*out_functions = functions;
	return rc;
}
