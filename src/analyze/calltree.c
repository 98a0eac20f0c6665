/* calltree.c: the call tree, root first: stacks merged by function, inlined functions included.
 *
 * Tree nodes are found by (parent, function) in a hash table while the stack trie is walked from the roots; the
 * children of a node are sorted at the end by one sort of all nodes. A recursive function is a chain of nodes, each
 * with its own total, as it was called.
 */
#include "analyze/by_function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "analyze/words.h"
#include "util/error.h"

struct node {
	uint32_t parent, function;
	struct sonde_weight self, total;
};

struct build {
	const struct sonde_samples *samples;
	struct node *nodes; /* 0 = the root */
	size_t count, cap;
	uint32_t *slots; /* open addressing; node, 0 = free */
	size_t slot_count;
	uint32_t at; /* where the walk is */
	int error;
};

static size_t slot_of(const struct build *build, uint32_t parent, uint32_t function)
{
	uint64_t hash = ((uint64_t)parent << 32 | function) * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(hash >> 32) & (build->slot_count - 1);
	while (build->slots[i] &&
	       (build->nodes[build->slots[i]].parent != parent || build->nodes[build->slots[i]].function != function))
		i = (i + 1) & (build->slot_count - 1);
	return i;
}

static int grow(struct build *build)
{
	size_t cap = build->cap ? build->cap * 2 : 1024;
	struct node *nodes = realloc(build->nodes, cap * sizeof *nodes);
	if (!nodes)
		return -ENOMEM;
	build->nodes = nodes;
	build->cap = cap;
	free(build->slots);
	build->slot_count = cap * 2;
	build->slots = calloc(build->slot_count, sizeof *build->slots);
	if (!build->slots)
		return -ENOMEM;
	for (uint32_t i = 1; i < build->count; i++)
		build->slots[slot_of(build, nodes[i].parent, nodes[i].function)] = i;
	return 0;
}

/* The child of `parent` for this function, made when new; 0 when out of memory. */
static uint32_t child_of(struct build *build, uint32_t parent, uint32_t function)
{
	size_t slot = slot_of(build, parent, function);
	if (build->slots[slot])
		return build->slots[slot];
	if (build->count == build->cap) {
		build->error = grow(build);
		if (build->error < 0)
			return 0;
		slot = slot_of(build, parent, function);
	}
	build->nodes[build->count] = (struct node){.parent = parent, .function = function};
	build->slots[slot] = (uint32_t)build->count;
	return (uint32_t)build->count++;
}

static void visit_node(void *state, const struct sonde_visit *visit)
{
	struct build *build = state;
	uint32_t count = visit->frame ? visit->frame->location_count : 0;
	if (build->error < 0)
		return;
	if (visit->leaving) {
		for (uint32_t i = 0; i < count; i++)
			build->at = build->nodes[build->at].parent;
		return;
	}
	for (uint32_t i = count; i > 0; i--) {
		uint32_t function = sonde_function_of(build->samples->session, visit->frame, i - 1);
		build->at = child_of(build, build->at, function);
		sonde_weight_add(&build->nodes[build->at].total, visit->total);
	}
	sonde_weight_add(&build->nodes[build->at].self, visit->self);
	if (!sonde_weight_is_any(visit->kernel))
		return;
	uint32_t kernel = child_of(build, build->at, 0);
	sonde_weight_add(&build->nodes[kernel].total, visit->kernel);
	sonde_weight_add(&build->nodes[kernel].self, visit->kernel);
}

static int compare(const void *left, const void *right, void *state)
{
	const struct node *nodes = state;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (nodes[a].parent != nodes[b].parent)
		return nodes[a].parent < nodes[b].parent ? -1 : 1;
	if (nodes[a].total.ns != nodes[b].total.ns)
		return nodes[a].total.ns > nodes[b].total.ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void tree_node_fill(struct sonde_tree_node *out, const struct build *build, const struct node *node)
{
	const struct sonde_session *session = build->samples->session;
	const struct sonde_function *function = sonde_session_function(session, node->function);
	out->name = sonde_function_name(session, node->function);
	out->module = sonde_function_module(session, node->function);
	out->file = function ? function->file : "";
	out->line = function ? function->line : 0;
	out->self = node->self.ns;
	out->total = node->total.ns;
	out->count = node->total.count;
}

/* Lays the nodes out in the report, siblings together and sorted, and links them. */
static int tree_link(const struct build *build, struct sonde_report *report, struct sonde_tree_node *root)
{
	size_t count = build->count;
	struct sonde_tree_node *out = sonde_arena_alloc(&report->arena, count * sizeof *out);
	uint32_t *order = malloc(count * sizeof *order);
	struct sonde_tree_node **by_id = malloc(count * sizeof *by_id);
	int rc = out && order && by_id ? 0 : sonde_error(ENOMEM, "out of memory for a call tree");
	if (rc == 0) {
		for (uint32_t i = 0; i < count; i++)
			order[i] = i;
		qsort_r(order + 1, count - 1, sizeof *order, compare, build->nodes);
		by_id[0] = root;
		for (size_t i = 1; i < count; i++) {
			by_id[order[i]] = &out[i];
			tree_node_fill(&out[i], build, &build->nodes[order[i]]);
		}
		for (size_t i = count - 1; i > 0; i--) {
			struct sonde_tree_node *parent = by_id[build->nodes[order[i]].parent];
			out[i].next = parent->child;
			parent->child = &out[i];
		}
	}
	free(order);
	free(by_id);
	return rc;
}

static int notes_add(const struct sonde_samples *samples, struct sonde_report *report, struct sonde_section *section)
{
	uint64_t broken = sonde_samples_broken(samples), stacks = sonde_samples_stacks(samples);
	int rc = sonde_samples_note_shares(samples, report, section);
	if (rc == 0 && broken)
		rc = sonde_report_note(report, section, 1,
				       "%llu of %llu stack%s (%.1f %%) did not reach the thread's root: they start "
				       "where unwinding stopped",
				       (unsigned long long)broken, (unsigned long long)stacks, sonde_plural(stacks),
				       100 * sonde_stats_share((double)broken, (double)stacks));
	return rc < 0 ? rc : sonde_samples_note_missing(samples, report, section);
}

static int section_build(struct build *build, struct sonde_report *report)
{
	const struct sonde_samples *samples = build->samples;
	struct sonde_section *section =
	    sonde_report_tree(report, "calltree", "Call tree by CPU time", SONDE_UNIT_NS, "CPU time");
	if (!section)
		return sonde_error(ENOMEM, "out of memory for a call tree");
	if (samples->kernel && sonde_weight_is_any(samples->kernel[0])) {
		uint32_t kernel = child_of(build, 0, 0);
		if (build->error < 0)
			return build->error;
		sonde_weight_add(&build->nodes[kernel].total, samples->kernel[0]);
		sonde_weight_add(&build->nodes[kernel].self, samples->kernel[0]);
	}
	section->tree.root->total = samples->all.ns;
	section->tree.root->count = samples->all.count;
	section->tree.root->self = samples->self[0].ns;
	int rc = tree_link(build, report, section->tree.root);
	return rc < 0 ? rc : notes_add(samples, report, section);
}

static int calltree_finish(void *state, struct sonde_report *report)
{
	struct sonde_samples *samples = state;
	struct build build = {.samples = samples, .count = 1};
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, "calltree", "Call tree");
	int rc = sonde_samples_fold(samples);
	if (rc == 0)
		rc = grow(&build);
	if (rc == 0) {
		build.nodes[0] = (struct node){0};
		rc = sonde_samples_walk(samples, visit_node, &build);
	}
	if (rc == 0)
		rc = build.error;
	if (rc == 0)
		rc = section_build(&build, report);
	free(build.nodes);
	free(build.slots);
	return rc;
}

const struct sonde_pass sonde_pass_calltree = {
    .name = "calltree",
    .title = "call tree, root first",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = calltree_finish,
    .end = sonde_samples_end,
};
