/* speedscope.c: speedscope's JSON: one sampled profile per thread, weights in ns of CPU time or waiting time, or bytes
 * or blocks of the heap.
 *
 * Samples and waiting calls stay in order of time, so that speedscope's view in time order shows what ran or waited at
 * which time; equal neighbours are merged. They are read once into 16 bytes each (calls, which come unordered: 24
 * bytes) and then sorted by thread. Heap stacks have no order in time. Frames are functions; the table of frames
 * follows the profiles, once it is known which frames were used.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/format.h"
#include "export/origin.h"
#include "export/stacks.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/error.h"
#include "util/json.h"

enum { NAME_MAX_B = 1 << 20 };
#define COMMAND_MAX_B 65536 /* limit for the command in the name */

struct sample {
	uint32_t thread, node;
	uint64_t weight; /* the weight; in the top byte, the leaf (stacks.h) */
};
#define LEAF_SHIFT 56
#define WEIGHT_MASK ((UINT64_C(1) << LEAF_SHIFT) - 1)
_Static_assert(SONDE_STACK_LEAVES <= 256, "a leaf is a byte");

struct call {
	uint64_t start_ns;
	struct sample sample;
};

struct state {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	struct sonde_json json;
	struct sample *samples; /* sorted by thread */
	size_t count, cap;
	uint32_t *frame_of; /* function id → frame number + 1 */
	uint32_t *used;     /* frame number → function id */
	uint32_t used_count;
	struct sonde_stack_lines stack;
};

static int ensure_capacity(struct state *state, size_t more)
{
	return SONDE_ARRAY_RESERVE(state->samples, state->cap, state->count + more)
		   ? sonde_error(ENOMEM, "out of memory for %zu samples", state->count + more)
		   : 0;
}

static struct sample sample_of(uint32_t thread, uint32_t node, uint32_t leaf, uint64_t weight)
{
	return (struct sample){thread, node, (weight & WEIGHT_MASK) | (uint64_t)leaf << LEAF_SHIFT};
}

static int add_batch(void *context, const struct sonde_batch *batch)
{
	struct state *state = context;
	int rc = ensure_capacity(state, batch->count);
	if (rc)
		return rc;
	for (size_t i = 0; i < batch->count; i++) {
		if (!sonde_selection_takes(&state->options->selection, batch->samples.time_ns[i],
					   batch->samples.thread[i]))
			continue;
		int in_kernel = sonde_export_stacks_in_kernel(state->session, batch, i);
		state->samples[state->count++] =
		    sample_of(batch->samples.thread[i], batch->samples.stack[i],
			      in_kernel ? SONDE_STACK_LEAF_KERNEL : SONDE_STACK_LEAF_NONE, batch->samples.weight_ns[i]);
	}
	return 0;
}

static int read_weights(struct state *state)
{
	struct sonde_stacks stacks;
	int rc = sonde_export_stacks_fold(&stacks, state->session, state->options);
	if (rc)
		return rc;
	rc = ensure_capacity(state, stacks.count);
	for (size_t i = 0; i < stacks.count && !rc; i++) {
		const struct sonde_stack *row = &stacks.rows[i];
		if (row->weight)
			state->samples[state->count++] = sample_of(row->thread, row->node, row->leaf, row->weight);
	}
	sonde_export_stacks_fini(&stacks);
	return rc;
}

/* --- waiting calls ----------------------------------------------------------------------------------------------- */

struct calls {
	const struct state *state;
	struct sonde_selection range;
	struct call *rows;
	size_t count, cap;
};

/* Adds the waiting calls of a batch, weighted as in session/wait/weights.c, so that formats agree. */
static int add_calls(void *context, const struct sonde_batch *batch)
{
	struct calls *calls = context;
	const struct sonde_selection *range = &calls->range;
	uint32_t groups = sonde_weigh_rows[calls->state->options->weigh.by].groups;
	for (size_t i = 0; i < batch->count; i++) {
		uint64_t start_ns = batch->waits.start_ns[i], dur_ns = batch->waits.dur_ns[i];
		if (!(groups & 1u << sonde_wait_row(batch->waits.kind[i])->group) ||
		    (range->thread && !range->thread[batch->waits.thread[i]]) ||
		    !sonde_weigh_cut(range, &start_ns, &dur_ns) || !dur_ns)
			continue;
		if (SONDE_ARRAY_RESERVE(calls->rows, calls->cap, calls->count + 1))
			return sonde_error(ENOMEM, "out of memory for %zu blocking calls", calls->count + 1);
		calls->rows[calls->count++] =
		    (struct call){start_ns, sample_of(batch->waits.thread[i], batch->waits.stack[i],
						      SONDE_STACK_LEAF_WAIT + batch->waits.kind[i], dur_ns)};
	}
	return 0;
}

/* Orders calls by thread and time; a call comes before the calls that a signal handler makes during it. */
static int compare_calls(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	uint64_t a_ns = a->sample.weight & WEIGHT_MASK, b_ns = b->sample.weight & WEIGHT_MASK;
	return (a_ns < b_ns) - (a_ns > b_ns);
}

static int read_calls(struct state *state)
{
	const struct sonde_selection wanted = state->options->selection;
	struct calls calls = {.state = state, .range = sonde_weigh_range(state->session, &wanted)};
	int rc = sonde_session_batches(state->session, 1u << SONDE_CHUNK_WAITS, add_calls, &calls);
	rc = rc ? rc : ensure_capacity(state, calls.count);
	if (!rc && calls.count)
		qsort(calls.rows, calls.count, sizeof *calls.rows, compare_calls);
	for (size_t i = 0; i < calls.count && !rc; i++)
		state->samples[state->count++] = calls.rows[i].sample;
	free(calls.rows);
	return rc;
}

/* --- profiles ---------------------------------------------------------------------------------------------------- */

/* Sorts by thread, with a stable counting sort. Samples of an unknown thread come first. */
static int sort_by_thread(struct state *state)
{
	size_t threads = sonde_session_thread_count(state->session);
	size_t *start = calloc(threads + 2, sizeof *start);
	struct sample *sorted = malloc((state->count + 1) * sizeof *sorted);
	if (!start || !sorted) {
		free(start);
		free(sorted);
		return sonde_error(ENOMEM, "out of memory for %zu samples", state->count);
	}
	for (size_t i = 0; i < state->count; i++) {
		if (state->samples[i].thread > threads)
			state->samples[i].thread = 0;
		start[state->samples[i].thread + 1]++;
	}
	for (size_t i = 1; i <= threads; i++)
		start[i] += start[i - 1];
	for (size_t i = 0; i < state->count; i++)
		sorted[start[state->samples[i].thread]++] = state->samples[i];
	free(start);
	free(state->samples);
	state->samples = sorted;
	return 0;
}

static uint32_t frame_number(struct state *state, uint32_t function)
{
	if (!state->frame_of[function]) {
		state->used[state->used_count] = function;
		state->frame_of[function] = ++state->used_count;
	}
	return state->frame_of[function] - 1;
}

static int same_stack(const struct sample *a, const struct sample *b)
{
	return a->thread == b->thread && a->node == b->node && a->weight >> LEAF_SHIFT == b->weight >> LEAF_SHIFT;
}

static int put_stacks(struct state *state, size_t from, size_t to)
{
	struct sonde_json *json = &state->json;
	sonde_json_put_array(json, "samples");
	for (size_t i = from; i < to; i++) {
		const struct sample *sample = &state->samples[i];
		if (i > from && same_stack(sample - 1, sample))
			continue;
		int rc = sonde_stack_expand(&state->stack, state->session, sample->node,
					    (uint32_t)(sample->weight >> LEAF_SHIFT));
		if (rc)
			return rc;
		sonde_json_array(json);
		for (size_t line = state->stack.count; line > 0; line--)
			sonde_json_uint(json, frame_number(state, state->stack.at[line - 1].function));
		sonde_json_end(json);
	}
	sonde_json_end(json);
	return 0;
}

/* Returns the sum of the weights. */
static uint64_t put_weights(struct state *state, size_t from, size_t to)
{
	uint64_t all = 0;
	sonde_json_put_array(&state->json, "weights");
	for (size_t i = from; i < to;) {
		uint64_t weight = 0;
		const struct sample *first = &state->samples[i];
		for (; i < to && same_stack(first, &state->samples[i]); i++)
			weight += state->samples[i].weight & WEIGHT_MASK;
		sonde_json_uint(&state->json, weight);
		all += weight;
	}
	sonde_json_end(&state->json);
	return all;
}

static int put_profile(struct state *state, size_t from, size_t to)
{
	const struct sonde_thread *thread = sonde_session_thread(state->session, state->samples[from].thread);
	const struct sonde_process *process = thread ? sonde_session_process(state->session, thread->process) : NULL;
	char name[256] = "unknown thread";
	if (thread)
		snprintf(name, sizeof name, "%s/%s (%u/%u)", process ? process->name : "", thread->name,
			 process ? process->pid : 0, thread->tid);
	struct sonde_json *json = &state->json;
	enum sonde_unit unit = sonde_export_stacks_unit(state->options);
	sonde_json_object(json);
	sonde_json_put_text(json, "type", "sampled");
	sonde_json_put_text(json, "name", name);
	sonde_json_put_text(json, "unit",
			    unit == SONDE_UNIT_NS      ? "nanoseconds"
			    : unit == SONDE_UNIT_BYTES ? "bytes"
						       : "none");
	int rc = put_stacks(state, from, to);
	if (rc)
		return rc;
	uint64_t all = put_weights(state, from, to);
	sonde_json_put_uint(json, "startValue", 0);
	sonde_json_put_uint(json, "endValue", all);
	sonde_json_end(json);
	return 0;
}

static void put_frames(struct state *state)
{
	struct sonde_json *json = &state->json;
	sonde_json_put_object(json, "shared");
	sonde_json_put_array(json, "frames");
	for (uint32_t i = 0; i < state->used_count; i++) {
		const struct sonde_function *function = sonde_session_function(state->session, state->used[i]);
		sonde_json_object(json);
		sonde_json_put_text(json, "name", sonde_stack_function_name(state->session, state->used[i]));
		if (function && *function->file)
			sonde_json_put_text(json, "file", function->file);
		if (function && function->line)
			sonde_json_put_uint(json, "line", function->line);
		sonde_json_end(json);
	}
	sonde_json_end(json);
	sonde_json_end(json);
}

/* Writes the profile's name: the weight, and the command or else the recording; then in parentheses the origin of an
 * imported recording and what the recording lacks, because the format has no other place for this. */
static int put_name(struct state *state)
{
	const struct sonde_session *session = state->session;
	const char *command = sonde_session_info(session, "run.command"), *args;
	char text[256];
	struct sonde_origin origin = {0};
	struct sonde_buf name;
	sonde_buf_init(&name, NAME_MAX_B);
	if (sonde_weigh_of(&state->options->weigh) == SONDE_WEIGH_OF_SAMPLES) {
		sonde_buf_printf(&name, "%.*s", COMMAND_MAX_B, command ? command : sonde_session_path(session));
	} else {
		sonde_weigh_say(&state->options->weigh, session, text, sizeof text);
		sonde_buf_text(&name, text);
	}
	const char *between = " (";
	for (; (args = sonde_origin_next(&origin, session)); between = "; ")
		sonde_buf_printf(&name, "%s%s", between, args);
	if (sonde_origin_missing(session, text, sizeof text)) {
		sonde_buf_printf(&name, "%sthe recording is incomplete: %s", between, text);
		between = "; ";
	}
	sonde_buf_text(&name, *between == ';' ? ")" : "");
	sonde_buf_append(&name, "", 1);
	int rc = sonde_buf_error(&name);
	if (!rc)
		sonde_json_put_text(&state->json, "name", (const char *)name.data);
	sonde_buf_fini(&name);
	return rc;
}

static int put_document(struct state *state)
{
	struct sonde_json *json = &state->json;
	sonde_json_object(json);
	sonde_json_put_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	sonde_json_put_text(json, "exporter", "sonde");
	int rc = put_name(state);
	if (rc)
		return rc;
	sonde_json_put_array(json, "profiles");
	for (size_t from = 0, to; from < state->count; from = to) {
		for (to = from; to < state->count && state->samples[to].thread == state->samples[from].thread;)
			to++;
		rc = put_profile(state, from, to);
		if (rc)
			return rc;
	}
	sonde_json_end(json);
	put_frames(state);
	sonde_json_end(json);
	return 0;
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct state state = {.session = session, .options = options};
	size_t rows = sonde_stack_id_end(session);
	sonde_json_init(&state.json, out, 0);
	state.frame_of = calloc(rows, sizeof *state.frame_of);
	state.used = calloc(rows, sizeof *state.used);
	int rc = state.frame_of && state.used ? 0 : sonde_error(ENOMEM, "out of memory for %zu functions", rows);
	enum sonde_weigh_of of = sonde_weigh_of(&options->weigh);
	if (!rc)
		rc = of == SONDE_WEIGH_OF_SAMPLES
			 ? sonde_session_batches(session, 1u << SONDE_CHUNK_SAMPLES, add_batch, &state)
		     : of == SONDE_WEIGH_OF_WAITS ? read_calls(&state)
						  : read_weights(&state);
	if (!rc)
		rc = sort_by_thread(&state);
	if (!rc)
		rc = put_document(&state);
	sonde_stack_lines_fini(&state.stack);
	free(state.samples);
	free(state.frame_of);
	free(state.used);
	return rc;
}

const struct sonde_format sonde_format_speedscope = {
    .name = "speedscope",
    .extension = ".speedscope.json",
    .title = "samples or blocking calls by thread, for speedscope",
    .weighs = 1,
    .export = export,
};
