/* stacks.c: the samples of one thread in order of time, each with its stack, whereas a call tree merges them.
 *
 * Samples are recorded in the order in which they were read, which is nearly the order of time. Rows are collected;
 * whenever there are twice as many as requested, they are sorted and only the earliest are kept, so that memory grows
 * with the answer, not with the recording. Stacks are sent as one tree of functions, in which a stack is identified by
 * its last node: stacks with the same outer functions share the nodes of these. The functions are the same as in a call
 * tree.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/by_function.h"
#include "base/hash.h"
#include "serve/answer/answer.h"
#include "serve/answer/ask.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

enum { VERSION = 1, LIMIT = 100000, DEPTH_MAX = 1 << 16 };

struct row {
	uint64_t time_ns, weight_ns;
	uint32_t stack;
	uint32_t in_kernel;
};

struct rows {
	struct row *all;
	size_t count, cap, limit;
	uint64_t taken;        /* samples in the selected part */
	uint64_t unsampled_ns; /* CPU time without samples in the selected part */
};

struct node {
	uint32_t parent; /* index + 1, 0 = none */
	uint32_t function;
};

struct tree {
	const struct sonde_session *session;
	struct node *nodes; /* parents come first */
	size_t count, cap;
	struct sonde_map map;  /* (parent, function) → index + 1 */
	uint32_t *of_stack;    /* by trie node: index + 1, 0 = not added yet */
	uint32_t *of_function; /* by function id: index in the answer + 1 */
	uint32_t *functions;   /* ids of these functions */
	size_t function_count;
	int failed; /* out of memory */
	uint32_t path[DEPTH_MAX];
};

/* --- samples ------------------------------------------------------------------------------------------------------ */

static int compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static void keep_earliest(struct rows *rows)
{
	if (rows->count)
		qsort(rows->all, rows->count, sizeof *rows->all, compare);
	rows->count = rows->count < rows->limit ? rows->count : rows->limit;
}

static int rows_add(struct rows *rows, struct row row)
{
	rows->taken++;
	if (rows->count == 2 * rows->limit)
		keep_earliest(rows);
	if (SONDE_ARRAY_RESERVE(rows->all, rows->cap, rows->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu samples", rows->count + 1);
	rows->all[rows->count++] = row;
	return 0;
}

/* True if a row is a sample, taken at its time; other rows only have a weight. */
static int is_sample(uint8_t status)
{
	return sonde_sample_counts(status) || status & SONDE_SAMPLE_EXTRA;
}

static int rows_feed(struct rows *rows, const struct sonde_pass_options *options, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		uint8_t status = batch->samples.status[i];
		if (!sonde_pass_takes(options, batch->samples.time_ns[i], batch->samples.thread[i]))
			continue;
		if (is_sample(status))
			rc =
			    rows_add(rows, (struct row){batch->samples.time_ns[i], batch->samples.weight_ns[i],
							batch->samples.stack[i], status & SONDE_SAMPLE_KERNEL ? 1 : 0});
		else
			rows->unsampled_ns += batch->samples.weight_ns[i];
	}
	return rc;
}

static int rows_read(struct rows *rows, struct sonde_session *session, const struct sonde_ask *ask)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	struct sonde_cursor_wanted wanted = {
	    .from_ns = ask->pass.selection.from_ns, .to_ns = ask->pass.selection.to_ns, .thread = ask->thread};
	int rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_SAMPLES);
	if (rc)
		return rc;
	rc = sonde_cursor_want(cursor, &wanted);
	while (!rc) {
		int got = sonde_cursor_next(cursor, &batch);
		if (got == 0)
			break;
		if (got > 0)
			rc = rows_feed(rows, &ask->pass, batch);
		else if (got == -ENOMEM || got == -EIO)
			rc = got; /* otherwise: a chunk that cannot be decoded is skipped */
	}
	sonde_cursor_close(cursor);
	keep_earliest(rows);
	return rc;
}

/* --- stacks ------------------------------------------------------------------------------------------------------- */

struct looking {
	const struct tree *tree;
	struct node node;
};

static int is_node(const void *context, uint32_t value)
{
	const struct looking *looking = context;
	const struct node *node = &looking->tree->nodes[value - 1];
	return node->parent == looking->node.parent && node->function == looking->node.function;
}

/* Returns the child of `parent` for a function, which is created if new: its index + 1; if memory is short, 0, and
 * `failed` is set. */
static uint32_t child_of(struct tree *tree, uint32_t parent, uint32_t function)
{
	struct looking looking = {tree, {parent, function}};
	uint64_t hash = sonde_hash_pair(parent, function);
	uint32_t found = sonde_map_find(&tree->map, hash, is_node, &looking);
	if (found)
		return found;
	if (tree->count >= UINT32_MAX || SONDE_ARRAY_RESERVE(tree->nodes, tree->cap, tree->count + 1)) {
		tree->failed = 1;
		return 0;
	}
	tree->nodes[tree->count++] = looking.node;
	tree->failed |= sonde_map_add(&tree->map, hash, (uint32_t)tree->count) != 0;
	if (!tree->of_function[function]) {
		tree->functions[tree->function_count++] = function;
		tree->of_function[function] = (uint32_t)tree->function_count;
	}
	return (uint32_t)tree->count;
}

/* Adds a trie node below `at`: its inlined functions, outermost first. */
static uint32_t add_frame(struct tree *tree, uint32_t at, const struct sonde_frame *frame)
{
	for (uint32_t i = frame ? frame->location_count : 0; i > 0 && !tree->failed; i--)
		at = child_of(tree, at, sonde_function_of(tree->session, frame, i - 1));
	return at;
}

/* Adds a stack and returns the index + 1 of its last node; 0 if the stack is missing. */
static uint32_t add_stack(struct tree *tree, uint32_t stack)
{
	const struct sonde_node *node;
	size_t depth = 0;
	uint32_t at = 0, id = stack;
	while (id && (node = sonde_session_node(tree->session, id)) && !tree->of_stack[id] && depth < DEPTH_MAX) {
		tree->path[depth++] = id;
		id = node->parent < id ? node->parent : 0;
	}
	if (id && sonde_session_node(tree->session, id))
		at = tree->of_stack[id];
	while (depth > 0) {
		id = tree->path[--depth];
		node = sonde_session_node(tree->session, id);
		at = add_frame(tree, at, sonde_session_frame(tree->session, node->frame));
		tree->of_stack[id] = at;
	}
	return at;
}

/* True if [kernel] must be added: the sample hit the kernel, but its stack has no kernel function. */
static int needs_kernel(const struct sonde_session *session, const struct row *row)
{
	const struct sonde_node *node = sonde_session_node(session, row->stack);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	const struct sonde_module *module = frame ? sonde_session_module(session, frame->module) : NULL;
	return row->in_kernel && !(module && module->flags & SONDE_MODULE_KERNEL);
}

/* Replaces each row's stack by its last node. */
static int tree_fill(struct tree *tree, struct rows *rows)
{
	for (size_t i = 0; i < rows->count && !tree->failed; i++) {
		struct row *row = &rows->all[i];
		int is_kernel = needs_kernel(tree->session, row);
		row->stack = add_stack(tree, row->stack);
		if (is_kernel && !tree->failed)
			row->stack = child_of(tree, row->stack, 0);
	}
	return tree->failed ? sonde_error(ENOMEM, "out of memory for stacks in order of time") : 0;
}

static int tree_new(struct tree **out, const struct sonde_session *session)
{
	struct tree *tree = calloc(1, sizeof *tree);
	size_t functions = sonde_session_function_count(session) + 1;
	if (tree) {
		tree->session = session;
		tree->of_stack = calloc(sonde_session_node_count(session) + 1, sizeof *tree->of_stack);
		tree->of_function = calloc(functions, sizeof *tree->of_function);
		tree->functions = calloc(functions, sizeof *tree->functions);
	}
	*out = tree;
	return tree && tree->of_stack && tree->of_function && tree->functions
		   ? 0
		   : sonde_error(ENOMEM, "out of memory for stacks in order of time");
}

static void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	sonde_map_fini(&tree->map);
	free(tree->nodes);
	free(tree->of_stack);
	free(tree->of_function);
	free(tree->functions);
	free(tree);
}

/* --- the answer --------------------------------------------------------------------------------------------------- */

static void put_rows(struct sonde_json *json, const struct rows *rows, uint64_t start_ns)
{
	sonde_json_put_array(json, "time_ns");
	for (size_t i = 0; i < rows->count; i++)
		sonde_json_uint(json, rows->all[i].time_ns > start_ns ? rows->all[i].time_ns - start_ns : 0);
	sonde_json_end(json);
	sonde_json_put_array(json, "weight_ns");
	for (size_t i = 0; i < rows->count; i++)
		sonde_json_uint(json, rows->all[i].weight_ns);
	sonde_json_end(json);
	sonde_json_put_array(json, "node");
	for (size_t i = 0; i < rows->count; i++)
		sonde_json_int(json, (int64_t)rows->all[i].stack - 1);
	sonde_json_end(json);
}

static void put_nodes(struct sonde_json *json, const struct tree *tree)
{
	sonde_json_put_object(json, "nodes");
	sonde_json_put_array(json, "parent");
	for (size_t i = 0; i < tree->count; i++)
		sonde_json_int(json, (int64_t)tree->nodes[i].parent - 1);
	sonde_json_end(json);
	sonde_json_put_array(json, "function");
	for (size_t i = 0; i < tree->count; i++)
		sonde_json_uint(json, tree->of_function[tree->nodes[i].function] - 1);
	sonde_json_end(json);
	sonde_json_end(json);
}

static void put_functions(struct sonde_json *json, const struct tree *tree)
{
	sonde_json_put_array(json, "functions");
	for (size_t i = 0; i < tree->function_count; i++) {
		uint32_t id = tree->functions[i];
		const struct sonde_function *function = sonde_session_function(tree->session, id);
		sonde_json_object(json);
		sonde_json_put_text(json, "name", sonde_function_name(tree->session, id));
		sonde_json_put_text(json, "module", sonde_function_module(tree->session, id));
		sonde_json_put_text(json, "file", function ? function->file : "");
		sonde_json_put_uint(json, "line", function ? function->line : 0);
		sonde_json_end(json);
	}
	sonde_json_end(json);
}

static int put_all(const struct rows *rows, const struct tree *tree, uint32_t thread, struct sonde_buf *out)
{
	struct sonde_json json;
	if (!sonde_answer_begin(&json, out, VERSION))
		return -ENOMEM;
	sonde_json_put_uint(&json, "thread", thread);
	sonde_json_put_uint(&json, "count", rows->taken);
	sonde_json_put_uint(&json, "omitted", rows->taken - rows->count);
	sonde_json_put_uint(&json, "beside_ns", rows->unsampled_ns);
	put_rows(&json, rows, sonde_session_run(tree->session)->start_ns);
	put_nodes(&json, tree);
	put_functions(&json, tree);
	return sonde_answer_end(&json, out);
}

int sonde_answer_stacks(struct sonde_session *session, const struct sonde_params *params, struct sonde_buf *out)
{
	static const char *const known[] = {"thread", "from", "to", "limit", "token", NULL};
	struct sonde_ask ask;
	struct rows rows = {0};
	struct tree *tree = NULL;
	int rc = sonde_ask_part(&ask, session, params, known);
	if (!rc && !ask.thread)
		rc = sonde_error(EINVAL, "which thread? thread=ID, from /api/recording");
	rows.limit = ask.pass.limit ? ask.pass.limit : LIMIT;
	rc = rc ? rc : rows_read(&rows, session, &ask);
	rc = rc ? rc : tree_new(&tree, session);
	rc = rc ? rc : tree_fill(tree, &rows);
	rc = rc ? rc : put_all(&rows, tree, ask.thread, out);
	tree_free(tree);
	free(rows.all);
	sonde_ask_fini(&ask);
	return rc;
}
