/* stacks.c: one row per distinct stack, found by hash: memory grows with stacks, not with samples. */
#include "export/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "util/array.h"
#include "util/error.h"

/* Maximum depth: a deeper stack must come from a damaged file, because sonde does not record such stacks. */
enum { DEPTH_MAX = 1 << 16 };

static int same_stack(const void *context, uint32_t value)
{
	const struct sonde_stacks *stacks = context;
	const struct sonde_stack *new = &stacks->rows[stacks->count], *old = &stacks->rows[value - 1];
	return new->thread == old->thread &&new->node == old->node &&new->leaf == old->leaf;
}

static uint64_t hash_of(const struct sonde_stack *stack)
{
	return sonde_hash_pair((uint64_t)stack->leaf << 32 | stack->thread, stack->node);
}

/* Adds a stack's values to its row, or makes a new row. The key to look up is written behind the last row, where the
 * comparison function finds it. */
static int add(struct sonde_stacks *stacks, struct sonde_stack stack)
{
	if (stacks->count >= UINT32_MAX || SONDE_ARRAY_RESERVE(stacks->rows, stacks->cap, stacks->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu distinct stacks", stacks->count + 1);
	stacks->rows[stacks->count] = stack;
	uint64_t hash = hash_of(&stack);
	uint32_t at = sonde_map_find(&stacks->map, hash, same_stack, stacks);
	if (!at) {
		at = (uint32_t)++stacks->count;
		if (sonde_map_add(&stacks->map, hash, at))
			return sonde_error(ENOMEM, "out of memory for %zu distinct stacks", stacks->count);
	} else {
		stacks->rows[at - 1].count += stack.count;
		stacks->rows[at - 1].weight += stack.weight;
		stacks->rows[at - 1].unsampled_ns += stack.unsampled_ns;
		stacks->rows[at - 1].begins += stack.begins;
		stacks->rows[at - 1].begun_b += stack.begun_b;
	}
	stacks->samples += stack.count;
	stacks->weight += stack.weight;
	return 0;
}

int sonde_export_stacks_in_kernel(const struct sonde_session *session, const struct sonde_batch *batch, size_t i)
{
	if (!(batch->samples.status[i] & SONDE_SAMPLE_KERNEL))
		return 0;
	const struct sonde_node *node = sonde_session_node(session, batch->samples.stack[i]);
	const struct sonde_frame *frame = node ? sonde_session_frame(session, node->frame) : NULL;
	const struct sonde_module *module = frame ? sonde_session_module(session, frame->module) : NULL;
	return !module || !(module->flags & SONDE_MODULE_KERNEL);
}

struct folding {
	struct sonde_stacks *stacks;
	struct sonde_session *session;
	const struct sonde_selection *selection;
};

static int fold_batch(void *context, const struct sonde_batch *batch)
{
	const struct folding *folding = context;
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		if (!sonde_selection_takes(folding->selection, batch->samples.time_ns[i], batch->samples.thread[i]))
			continue;
		int counts = sonde_sample_counts(batch->samples.status[i]);
		rc = add(
		    folding->stacks,
		    (struct sonde_stack){.thread = batch->samples.thread[i],
					 .node = batch->samples.stack[i],
					 .leaf = (uint32_t)sonde_export_stacks_in_kernel(folding->session, batch, i),
					 .count = (uint64_t)counts,
					 .weight = batch->samples.weight_ns[i],
					 .unsampled_ns = counts ? 0 : batch->samples.weight_ns[i]});
	}
	return rc;
}

static int fold_samples(struct sonde_stacks *stacks, struct sonde_session *session,
			const struct sonde_format_options *options)
{
	struct folding folding = {stacks, session, &options->selection};
	return sonde_session_batches(session, 1u << SONDE_CHUNK_SAMPLES, fold_batch, &folding);
}

static int fold_weights(struct sonde_stacks *stacks, struct sonde_session *session,
			const struct sonde_format_options *options)
{
	const struct sonde_weigh_view view = {options->weigh, options->selection};
	struct sonde_weights weights;
	int rc = sonde_weights_take(&weights, session, &view);
	if (rc)
		return rc;
	int waits = sonde_weigh_of(&options->weigh) == SONDE_WEIGH_OF_WAITS;
	stacks->mean_b = weights.mean_b;
	for (size_t i = 0; i < weights.row_count && !rc; i++) {
		const struct sonde_weights_row *row = &weights.rows[i];
		rc = add(stacks,
			 (struct sonde_stack){.thread = row->thread,
					      .node = row->stack,
					      .leaf = waits ? SONDE_STACK_LEAF_WAIT + row->kind : SONDE_STACK_LEAF_NONE,
					      .count = row->count,
					      .weight = row->weight});
	}
	sonde_weights_fini(&weights);
	return rc;
}

int sonde_export_stacks_fold(struct sonde_stacks *stacks, struct sonde_session *session,
			     const struct sonde_format_options *options)
{
	*stacks = (struct sonde_stacks){0};
	int rc = sonde_weigh_of(&options->weigh) == SONDE_WEIGH_OF_SAMPLES ? fold_samples(stacks, session, options)
									   : fold_weights(stacks, session, options);
	if (rc < 0)
		sonde_export_stacks_fini(stacks);
	return rc;
}

int sonde_export_stacks_begun(struct sonde_stacks *stacks, struct sonde_session *session,
			      const struct sonde_format_options *options)
{
	struct sonde_format_options begun = *options;
	struct sonde_stacks all;
	begun.weigh.by = SONDE_WEIGH_ALLOCATED;
	int rc = sonde_export_stacks_fold(&all, session, &begun);
	if (rc)
		return rc;
	for (size_t i = 0; i < all.count && !rc; i++)
		rc = add(stacks, (struct sonde_stack){.thread = all.rows[i].thread,
						      .node = all.rows[i].node,
						      .begins = all.rows[i].count,
						      .begun_b = all.rows[i].weight});
	sonde_export_stacks_fini(&all);
	return rc;
}

void sonde_export_stacks_fini(struct sonde_stacks *stacks)
{
	free(stacks->rows);
	sonde_map_fini(&stacks->map);
	*stacks = (struct sonde_stacks){0};
}

static int push(struct sonde_stack_lines *lines, struct sonde_stack_line line)
{
	if (SONDE_ARRAY_RESERVE(lines->at, lines->cap, lines->count + 1))
		return sonde_error(ENOMEM, "out of memory for a stack of %zu lines", lines->count + 1);
	lines->at[lines->count++] = line;
	return 0;
}

const char *sonde_stack_function_name(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_function *function = sonde_session_function(session, id);
	if (!function && id == sonde_stack_kernel_id(session))
		return SONDE_STACKS_KERNEL;
	if (!function && id == sonde_stack_none_id(session))
		return SONDE_STACKS_NONE;
	if (!function && id > sonde_stack_none_id(session))
		return sonde_weigh_leaf(id - sonde_stack_wait_id(session, 0));
	return function && *function->name ? function->name : SONDE_STACKS_UNKNOWN;
}

uint32_t sonde_stack_frame_function(const struct sonde_session *session, uint32_t frame)
{
	uint32_t at = frame - (uint32_t)sonde_session_frame_count(session);
	return at == 0   ? sonde_stack_kernel_id(session)
	       : at == 1 ? sonde_stack_none_id(session)
			 : sonde_stack_wait_id(session, at - 2);
}

static int push_bare(struct sonde_stack_lines *lines, const struct sonde_session *session, uint32_t at)
{
	uint32_t frame = (uint32_t)sonde_session_frame_count(session) + at;
	return push(lines, (struct sonde_stack_line){sonde_stack_frame_function(session, frame), frame, 0, 0, ""});
}

static int push_frame(struct sonde_stack_lines *lines, const struct sonde_session *session, uint32_t index)
{
	const struct sonde_frame *frame = sonde_session_frame(session, index);
	for (uint32_t i = 0; frame && i < frame->location_count; i++) {
		const struct sonde_location *location = &frame->locations[i];
		int known = sonde_session_function(session, location->function) != NULL;
		struct sonde_stack_line line = {
		    .function = known ? location->function : sonde_stack_unknown_id(session),
		    .frame = index,
		    .line = location->line,
		    .file = location->file,
		};
		int rc = push(lines, line);
		if (rc)
			return rc;
	}
	return 0;
}

int sonde_stack_expand(struct sonde_stack_lines *lines, const struct sonde_session *session, uint32_t node_id,
		       uint32_t leaf)
{
	lines->count = 0;
	int rc = 0;
	if (leaf == SONDE_STACK_LEAF_KERNEL)
		rc = push_bare(lines, session, 0);
	else if (leaf)
		rc = push_bare(lines, session, leaf);
	size_t leaves = lines->count;
	for (size_t depth = 0; node_id && depth < DEPTH_MAX && !rc; depth++) {
		const struct sonde_node *node = sonde_session_node(session, node_id);
		if (!node)
			break;
		rc = push_frame(lines, session, node->frame);
		node_id = node->parent;
	}
	if (!rc && lines->count == leaves && leaf != SONDE_STACK_LEAF_KERNEL)
		rc = push_bare(lines, session, 1);
	return rc;
}

void sonde_stack_lines_fini(struct sonde_stack_lines *lines)
{
	free(lines->at);
	*lines = (struct sonde_stack_lines){0};
}

static int path_push(struct sonde_stack_path *path, uint32_t node)
{
	if (SONDE_ARRAY_RESERVE(path->nodes, path->cap, path->count + 1))
		return sonde_error(ENOMEM, "out of memory for a stack %zu deep", path->count + 1);
	path->nodes[path->count++] = node;
	return 0;
}

int sonde_stack_path_up(struct sonde_stack_path *path, const struct sonde_session *session, uint32_t node,
			uint32_t (*find)(const void *context, uint32_t node), const void *context, uint32_t *out)
{
	uint32_t found = 0;
	int rc = 0;
	path->count = 0;
	while (node && path->count < DEPTH_MAX && !rc && !(found = find(context, node))) {
		const struct sonde_node *row = sonde_session_node(session, node);
		rc = path_push(path, node);
		node = row ? row->parent : 0;
	}
	*out = found;
	return rc;
}

void sonde_stack_path_fini(struct sonde_stack_path *path)
{
	free(path->nodes);
	*path = (struct sonde_stack_path){0};
}
