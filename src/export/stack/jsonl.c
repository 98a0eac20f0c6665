/* jsonl.c: single allocations, for programs: one JSON object per line, each with its "type".
 *
 * First comes "recording". Then "heap" (blocks of one kind in one process: malloc's, its mappings, a pool), "thread"
 * and "stack" (functions, innermost first), each before its first use, and the events: "alloc" and "free", with time,
 * size, heap, thread, and the stack that allocated the block. A heap's events are in order of time, interleaved with
 * those of other heaps. Times are ns since the start of the recording; a heap's line is repeated when its "time_every"
 * changes: the time is exact for one event in "time_every", and interpolated for the events in between. With "mean_b",
 * blocks were sampled: a block of s bytes was recorded with probability 1 − e^(−s / mean_b). Only ids already written
 * are kept in memory, so recordings of any length can be converted.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/format.h"
#include "export/stacks.h"
#include "util/error.h"
#include "util/json.h"

#define VERSION 1u

struct state {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	uint64_t start_ns;
	struct sonde_json json;
	uint32_t *time_every; /* by heap; 0 = not written yet */
	uint8_t *threads;     /* by id: already written */
	uint8_t *stacks;      /* by node: already written */
	struct sonde_stack_lines stack;
};

static void begin(struct state *state, const char *type)
{
	sonde_json_object(&state->json);
	sonde_json_put_text(&state->json, "type", type);
}

static void put_recording(struct state *state)
{
	const struct sonde_file_head *head = sonde_session_head(state->session);
	begin(state, "recording");
	sonde_json_put_text(&state->json, "format", "sonde-events");
	sonde_json_put_uint(&state->json, "version", VERSION);
	sonde_json_put_text(&state->json, "command", sonde_session_info(state->session, "run.command"));
	sonde_json_put_uint(&state->json, "start_unix_ns", head->start_real_ns);
	sonde_json_end(&state->json);
}

static void put_process(struct state *state, uint32_t id)
{
	const struct sonde_process *process = sonde_session_process(state->session, id);
	sonde_json_put_uint(&state->json, "pid", process ? process->pid : 0);
	sonde_json_put_text(&state->json, "process", process ? process->name : "");
}

static void put_heap(struct state *state, const struct sonde_batch *batch)
{
	static const char *const kinds[] = {
	    [SONDE_HEAP_MALLOC] = "malloc", [SONDE_HEAP_MAPPING] = "mappings", [SONDE_HEAP_POOL] = "pool"};
	const struct sonde_heap *heap = sonde_session_heap(state->session, batch->heap.id);
	uint32_t *known = &state->time_every[heap ? batch->heap.id : 0];
	if (*known == batch->heap.time_every)
		return;
	*known = batch->heap.time_every;
	begin(state, "heap");
	sonde_json_put_uint(&state->json, "id", batch->heap.id);
	sonde_json_put_text(&state->json, "kind",
			    heap && heap->kind < sizeof kinds / sizeof *kinds ? kinds[heap->kind] : NULL);
	if (heap && *heap->name)
		sonde_json_put_text(&state->json, "name", heap->name);
	put_process(state, heap ? heap->process : 0);
	sonde_json_put_uint(&state->json, "mean_b", batch->heap.mean_b);
	sonde_json_put_uint(&state->json, "time_every", batch->heap.time_every);
	sonde_json_end(&state->json);
}

static void put_thread(struct state *state, uint32_t id)
{
	const struct sonde_thread *thread = sonde_session_thread(state->session, id);
	if (!thread || state->threads[id])
		return;
	state->threads[id] = 1;
	begin(state, "thread");
	sonde_json_put_uint(&state->json, "id", id);
	sonde_json_put_uint(&state->json, "tid", thread->tid);
	sonde_json_put_text(&state->json, "name", thread->name);
	put_process(state, thread->process);
	sonde_json_end(&state->json);
}

static void put_line(struct state *state, const struct sonde_stack_line *line)
{
	const struct sonde_function *function = sonde_session_function(state->session, line->function);
	const struct sonde_module *module = function ? sonde_session_module(state->session, function->module) : NULL;
	sonde_json_object(&state->json);
	sonde_json_put_text(&state->json, "function", sonde_stack_function_name(state->session, line->function));
	if (module)
		sonde_json_put_text(&state->json, "module", module->name);
	if (*line->file)
		sonde_json_put_text(&state->json, "file", line->file);
	if (line->line)
		sonde_json_put_uint(&state->json, "line", line->line);
	sonde_json_end(&state->json);
}

static int put_stack(struct state *state, uint32_t node)
{
	if (!sonde_session_node(state->session, node) || state->stacks[node])
		return 0;
	int rc = sonde_stack_expand(&state->stack, state->session, node, 0);
	if (rc)
		return rc;
	state->stacks[node] = 1;
	begin(state, "stack");
	sonde_json_put_uint(&state->json, "id", node);
	sonde_json_put_array(&state->json, "frames");
	for (size_t i = 0; i < state->stack.count; i++)
		put_line(state, &state->stack.at[i]);
	sonde_json_end(&state->json);
	sonde_json_end(&state->json);
	return 0;
}

static int put_event(struct state *state, const struct sonde_batch *batch, size_t i)
{
	const struct sonde_heap_site *site = sonde_session_heap_site(state->session, batch->heap.site[i]);
	uint64_t time_ns = batch->heap.time_ns[i];
	/* a block belongs to the thread that allocated it, whichever thread frees it */
	if (!sonde_selection_takes(&state->options->selection, time_ns, site ? site->thread : 0))
		return 0;
	put_heap(state, batch);
	put_thread(state, batch->heap.thread[i]);
	int rc = site ? put_stack(state, site->stack) : 0;
	begin(state, batch->heap.ends[i] ? "free" : "alloc");
	sonde_json_put_uint(&state->json, "time_ns", time_ns > state->start_ns ? time_ns - state->start_ns : 0);
	sonde_json_put_uint(&state->json, "size_b", batch->heap.size_b[i]);
	sonde_json_put_uint(&state->json, "heap", batch->heap.id);
	sonde_json_put_uint(&state->json, "thread", batch->heap.thread[i]);
	if (site && site->stack)
		sonde_json_put_uint(&state->json, "stack", site->stack);
	sonde_json_end(&state->json);
	return rc;
}

/* Writes the events of a batch; stops after a write error, which the caller finds with ferror(). */
static int put_events(void *context, const struct sonde_batch *batch)
{
	struct state *state = context;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++)
		rc = put_event(state, batch, i);
	return rc ? rc : ferror(state->json.out) != 0;
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct state state = {.session = session, .options = options, .start_ns = sonde_session_run(session)->start_ns};
	sonde_json_init(&state.json, out, 0);
	state.time_every = calloc(sonde_session_heap_count(session) + 1, sizeof *state.time_every);
	state.threads = calloc(sonde_session_thread_count(session) + 1, 1);
	state.stacks = calloc(sonde_session_node_count(session) + 1, 1);
	int rc = 0;
	if (!state.time_every || !state.threads || !state.stacks)
		rc = sonde_error(ENOMEM, "out of memory for the stacks of allocations");
	if (!rc)
		put_recording(&state);
	if (!rc)
		rc = sonde_session_batches(session, 1u << SONDE_CHUNK_HEAP, put_events, &state);
	sonde_stack_lines_fini(&state.stack);
	free(state.time_every);
	free(state.threads);
	free(state.stacks);
	return rc < 0 ? rc : 0;
}

const struct sonde_format sonde_format_jsonl = {
    .name = "jsonl",
    .extension = ".jsonl",
    .title = "each allocation with time, size and stack, as JSON lines",
    .export = export,
};
