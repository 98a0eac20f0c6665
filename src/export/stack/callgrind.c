/* callgrind.c: Callgrind's profile format: self cost by line, and calls with their inclusive cost.
 *
 * Costs are estimates from samples: the number of samples ("Samples") and their CPU time ("CPU", in ns); or the number
 * of heap blocks and their bytes; or the number of waiting calls and their durations. A call's count is the number of
 * samples, blocks or waits that went through it, because calls were not counted. A call that occurs several times on a
 * stack (recursion) is charged once per sample. Every name is written in full once and referred to by number
 * afterwards.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "export/clean.h"
#include "export/format.h"
#include "export/intern.h"
#include "export/stacks.h"
#include "util/array.h"
#include "util/error.h"

enum { TEXT_MAX_B = 1 << 20 };

/* The self cost of a line (callee 0), or the inclusive cost of a call. */
struct cost {
	uint32_t function, line;
	uint32_t callee;
	uint32_t last; /* number, from 1, of the last stack that was charged to this row */
	uint64_t count, weight;
};

struct state {
	struct sonde_session *session;
	const struct sonde_format_options *options;
	FILE *out;
	struct cost *costs;
	size_t count, cap;
	struct sonde_map map;
	struct sonde_stack_lines stack;
	struct sonde_intern files, objects;
	unsigned char *named; /* by function id */
	size_t files_named, objects_named;
	struct sonde_buf scratch;
	int error;
};

static int same_cost(const void *context, uint32_t value)
{
	const struct state *state = context;
	const struct cost *new = &state->costs[state->count], *old = &state->costs[value - 1];
	return new->function == old->function &&new->line == old->line &&new->callee == old->callee;
}

static int charge(struct state *state, struct cost cost, uint32_t stack, const struct sonde_stack *sum)
{
	if (state->count >= UINT32_MAX || SONDE_ARRAY_RESERVE(state->costs, state->cap, state->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu lines and calls", state->count + 1);
	state->costs[state->count] = cost; /* same_cost() compares with this row */
	uint64_t hash = sonde_hash_pair((uint64_t)cost.function << 32 | cost.line, cost.callee);
	uint32_t at = sonde_map_find(&state->map, hash, same_cost, state);
	if (!at) {
		at = (uint32_t)++state->count;
		if (sonde_map_add(&state->map, hash, at))
			return sonde_error(ENOMEM, "out of memory for %zu lines and calls", state->count);
	}
	struct cost *row = &state->costs[at - 1];
	if (row->last == stack)
		return 0;
	row->last = stack;
	row->count += sum->count;
	row->weight += sum->weight;
	return 0;
}

static int charge_stack(struct state *state, const struct sonde_stack *sum, uint32_t stack)
{
	int rc = sonde_stack_expand(&state->stack, state->session, sum->node, sum->leaf);
	for (size_t i = 0; i < state->stack.count && !rc; i++) {
		const struct sonde_stack_line *line = &state->stack.at[i];
		struct cost cost = {.function = line->function, .line = line->line};
		cost.callee = i ? state->stack.at[i - 1].function : 0;
		rc = charge(state, cost, stack, sum);
	}
	return rc;
}

static int by_function(const void *left, const void *right)
{
	const struct cost *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (!a->callee != !b->callee)
		return a->callee ? 1 : -1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/* Writes "KEY=(3) name", or "KEY=(3)" if the name was written before. Numbers ascend, so a name is new if its number
 * exceeds all previous ones. */
static void put_name(struct state *state, const char *key, struct sonde_intern *names, size_t *named, const char *name)
{
	const char *clean = sonde_clean_text(&state->scratch, *name ? name : "???");
	uint32_t number = sonde_intern(names, clean, &state->error);
	fprintf(state->out, "%s=(%" PRIu32 ")", key, number);
	if (number > *named) {
		fprintf(state->out, " %s", clean);
		*named = number;
	}
	putc('\n', state->out);
}

/* Writes the three lines that name a function; `called` prefixes each key with c. */
static void put_function(struct state *state, uint32_t id, int called)
{
	const struct sonde_function *function = sonde_session_function(state->session, id);
	const struct sonde_module *module = function ? sonde_session_module(state->session, function->module) : NULL;
	const char *object = module                                        ? module->path
			     : id == sonde_stack_kernel_id(state->session) ? SONDE_STACKS_KERNEL
									   : "";
	put_name(state, called ? "cob" : "ob", &state->objects, &state->objects_named, object);
	put_name(state, called ? "cfi" : "fl", &state->files, &state->files_named, function ? function->file : "");
	fprintf(state->out, "%s=(%" PRIu32 ")", called ? "cfn" : "fn", id);
	if (!state->named[id]) {
		const char *name = sonde_stack_function_name(state->session, id);
		fprintf(state->out, " %s", sonde_clean_text(&state->scratch, name));
	}
	state->named[id] = 1;
	putc('\n', state->out);
}

/* Writes the costs: only one if heap blocks are weighted by their number, since count and weight are then equal. */
static void put_costs(struct state *state, uint64_t count, uint64_t weight)
{
	fprintf(state->out, " %" PRIu64, count);
	if (sonde_export_stacks_unit(state->options) != SONDE_UNIT_COUNT)
		fprintf(state->out, " %" PRIu64, weight);
	putc('\n', state->out);
}

static void put_cost(struct state *state, const struct cost *cost)
{
	if (cost->callee) {
		const struct sonde_function *callee = sonde_session_function(state->session, cost->callee);
		put_function(state, cost->callee, 1);
		fprintf(state->out, "calls=%" PRIu64 " %" PRIu32 "\n", cost->count, callee ? callee->line : 0);
	}
	fprintf(state->out, "%" PRIu32, cost->line);
	put_costs(state, cost->count, cost->weight);
}

static void put_waits_head(struct state *state)
{
	char value[256];
	sonde_weigh_say(&state->options->weigh, state->session, value, sizeof value);
	fprintf(state->out,
		"desc: Costs: %s (all threads); Waiting is in nanoseconds\ndesc: Calls: waits with the call on their "
		"stack (calls were not counted)\n\npositions: line\nevents: Waits Waiting\n",
		sonde_clean_text(&state->scratch, value));
}

static void put_heap_head(struct state *state)
{
	char value[256];
	sonde_weigh_say(&state->options->weigh, state->session, value, sizeof value);
	fprintf(state->out,
		"desc: Costs: %s\ndesc: Calls: blocks with the call on their stack (calls were not "
		"counted)\n\npositions: line\nevents: Blocks%s\n",
		sonde_clean_text(&state->scratch, value),
		sonde_export_stacks_unit(state->options) == SONDE_UNIT_COUNT ? "" : " Bytes");
}

static void put_head(struct state *state, const struct sonde_stacks *stacks)
{
	const char *command = sonde_session_info(state->session, "run.command");
	const struct sonde_process *root =
	    sonde_session_process(state->session, sonde_session_run(state->session)->root_process);
	fputs("# callgrind format\nversion: 1\ncreator: sonde\n", state->out);
	if (root)
		fprintf(state->out, "pid: %" PRIu32 "\n", root->pid);
	fprintf(state->out, "cmd: %s\n", sonde_clean_text(&state->scratch, command ? command : ""));
	fputs("part: 1\n\n", state->out);
	enum sonde_weigh_of of = sonde_weigh_of(&state->options->weigh);
	if (of == SONDE_WEIGH_OF_HEAP)
		put_heap_head(state);
	else if (of == SONDE_WEIGH_OF_WAITS)
		put_waits_head(state);
	else
		fputs("desc: Costs: estimated from CPU samples; CPU is in nanoseconds\ndesc: Calls: samples with the "
		      "call on their stack (calls were not counted)\n\npositions: line\nevents: Samples CPU\n",
		      state->out);
	fputs("summary:", state->out);
	put_costs(state, stacks->samples, stacks->weight);
}

static int put_all(struct state *state, const struct sonde_stacks *stacks)
{
	int rc = 0;
	for (size_t i = 0; i < stacks->count && !rc; i++)
		rc = charge_stack(state, &stacks->rows[i], (uint32_t)i + 1);
	if (rc)
		return rc;
	if (state->count)
		qsort(state->costs, state->count, sizeof *state->costs, by_function);
	put_head(state, stacks);
	for (size_t i = 0; i < state->count && !state->error; i++) {
		if (i == 0 || state->costs[i].function != state->costs[i - 1].function) {
			putc('\n', state->out);
			put_function(state, state->costs[i].function, 0);
		}
		put_cost(state, &state->costs[i]);
	}
	fputs("\ntotals:", state->out);
	put_costs(state, stacks->samples, stacks->weight);
	return state->error;
}

static int export(struct sonde_session *session, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_stacks stacks;
	int rc = sonde_export_stacks_fold(&stacks, session, options);
	if (rc)
		return rc;
	struct state state = {.session = session, .options = options, .out = out};
	sonde_buf_init(&state.scratch, TEXT_MAX_B);
	state.named = calloc(sonde_stack_id_end(session), 1);
	rc = state.named ? put_all(&state, &stacks) : sonde_error(ENOMEM, "out of memory for function names");
	free(state.named);
	free(state.costs);
	sonde_map_fini(&state.map);
	sonde_stack_lines_fini(&state.stack);
	sonde_intern_fini(&state.files);
	sonde_intern_fini(&state.objects);
	sonde_buf_fini(&state.scratch);
	sonde_export_stacks_fini(&stacks);
	return rc;
}

const struct sonde_format sonde_format_callgrind = {
    .name = "callgrind",
    .extension = ".callgrind",
    .title = "cost by line and call, for KCachegrind",
    .weighs = 1,
    .export = export,
};
