/* calltree.c: the call tree from the root: stacks merged by function, inlined functions included, weighted by CPU time,
 * by allocated or live heap, or by waiting time (session/weigh.h).
 *
 * While the stack trie is walked from the roots, tree nodes are found in a hash table by (parent, function); at the end
 * a single sort of all nodes orders the children. A recursive function is a chain of nodes, one per level, each with
 * its own total. Stacks of waiting calls end in a node for the kind of call: "[mutex]". Weight without a stack is one
 * node below the root; CPU time without a stack is reported in a note and has no node.
 */
#include "analyze/cpu/calltree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/cpu/by_function.h"
#include "analyze/sizes.h"
#include "analyze/marks.h"
#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/array.h"
#include "util/error.h"
#include "util/search.h"

#define WEIGH_LEFT "--metric live-at-exit"
#define HEAP_OF "for others use --heap-of"
#define NO_STACK UINT32_MAX                      /* stands in place of a function's id */
#define CALL_LEAST (NO_STACK - SONDE_WAIT_KINDS) /* + enum sonde_wait_kind */

struct node {
	uint32_t parent, function;
	struct sonde_weight self, total;
};

struct build {
	const struct sonde_samples *samples;
	const struct sonde_weights *calls; /* sorted by stack; NULL = none */
	struct node *nodes;                /* 0 = the root */
	size_t count, cap;
	uint32_t *slots; /* open addressing; node, 0 = free */
	size_t slot_count;
	uint32_t at; /* current node of the walk */
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
	if (SONDE_ARRAY_RESERVE(build->nodes, build->cap, build->cap + 1))
		return -ENOMEM;
	free(build->slots);
	build->slot_count = build->cap * 2;
	build->slots = calloc(build->slot_count, sizeof *build->slots);
	if (!build->slots)
		return -ENOMEM;
	for (uint32_t i = 1; i < build->count; i++)
		build->slots[slot_of(build, build->nodes[i].parent, build->nodes[i].function)] = i;
	return 0;
}

/* The child of `parent` for this function, created if new; 0 if out of memory. */
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

/* The first row of this stack, or of the next one. */
static size_t calls_find(const struct sonde_weights *calls, uint32_t stack)
{
	return SONDE_SEARCH(i, 0, calls->row_count, calls->rows[i].stack < stack);
}

/* Splits a stack's weight by the kinds of its calls. */
static void calls_add(struct build *build, uint32_t parent, uint32_t stack)
{
	const struct sonde_weights *calls = build->calls;
	for (size_t i = calls_find(calls, stack); i < calls->row_count && calls->rows[i].stack == stack; i++) {
		struct sonde_weight weight = {calls->rows[i].weight, calls->rows[i].count};
		uint32_t leaf = child_of(build, parent, CALL_LEAST + calls->rows[i].kind);
		if (build->error < 0)
			return;
		sonde_weight_add(&build->nodes[leaf].total, weight);
		sonde_weight_add(&build->nodes[leaf].self, weight);
	}
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
	if (build->calls && sonde_weight_is_any(visit->self))
		calls_add(build, build->at, visit->node);
	else
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
	int is_call = node->function >= CALL_LEAST && node->function != NO_STACK;
	out->name = node->function == NO_STACK ? "(no stack)"
		    : is_call                  ? sonde_weigh_leaf(node->function - CALL_LEAST)
					       : sonde_function_name(session, node->function);
	out->module = sonde_function_module(session, node->function);
	out->file = function ? function->file : "";
	out->line = function ? function->line : 0;
	out->self = node->self.ns;
	out->total = node->total.ns;
	out->count = node->total.count;
}

/* Adds the nodes to the report, siblings adjacent and sorted, and links them. */
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

/* Adds a node below the root that is not a function of the program. */
static void bare_add(struct build *build, uint32_t function, struct sonde_weight weight)
{
	if (!sonde_weight_is_any(weight))
		return;
	uint32_t node = child_of(build, 0, function);
	if (build->error < 0)
		return;
	sonde_weight_add(&build->nodes[node].total, weight);
	if (build->calls)
		calls_add(build, node, 0);
	else
		sonde_weight_add(&build->nodes[node].self, weight);
}

int sonde_calltree_fill(struct sonde_samples *samples, const struct sonde_weights *calls, struct sonde_report *report,
			struct sonde_tree_node *root)
{
	int is_weighed = sonde_weigh_of(&samples->options.weigh) != SONDE_WEIGH_OF_SAMPLES;
	struct build build = {.samples = samples, .calls = calls, .count = 1};
	int rc = sonde_samples_fold(samples);
	if (rc == 0)
		rc = grow(&build);
	if (rc == 0) {
		build.nodes[0] = (struct node){0};
		rc = sonde_samples_walk(samples, visit_node, &build);
	}
	if (rc == 0 && build.error == 0 && samples->kernel)
		bare_add(&build, 0, samples->kernel[0]);
	if (rc == 0 && build.error == 0 && is_weighed)
		bare_add(&build, NO_STACK, samples->self[0]);
	if (rc == 0)
		rc = build.error;
	root->total = samples->all.ns;
	root->count = samples->all.count;
	root->self = is_weighed ? 0 : samples->self[0].ns;
	if (rc == 0)
		rc = tree_link(&build, report, root);
	free(build.nodes);
	free(build.slots);
	return rc;
}

static void note_broken(uint64_t broken, uint64_t stacks, struct sonde_report *report, struct sonde_section *section)
{
	if (!broken)
		return;
	sonde_report_note(report, section, 1,
			  "%llu of %llu stack%s (%.1f %%) are incomplete: they start where unwinding stopped",
			  (unsigned long long)broken, (unsigned long long)stacks, sonde_plural(stacks),
			  100 * sonde_stats_share((double)broken, (double)stacks));
}

static void notes_add(const struct sonde_samples *samples, struct sonde_report *report, struct sonde_section *section)
{
	sonde_samples_note_shares(samples, report, section);
	note_broken(sonde_samples_broken(samples), sonde_samples_stacks(samples), report, section);
	sonde_samples_note_missing(samples, report, section);
}

/* --- weights of heap and waits ------------------------------------------------------------------------------------ */

static int compare_stacks(const void *left, const void *right)
{
	const struct sonde_weights_row *a = left, *b = right;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Assigns the weights to stacks, as samples would. */
static int weights_take(struct sonde_samples *samples, struct sonde_weights *out)
{
	const struct sonde_pass_options *options = &samples->options;
	const struct sonde_weigh_view view = {options->weigh, options->selection};
	int rc = sonde_weights_take(out, samples->session, &view);
	for (size_t i = 0; rc == 0 && i < out->row_count; i++) {
		const struct sonde_weights_row *row = &out->rows[i];
		struct sonde_weight weight = {row->weight, row->count};
		sonde_weight_add(&samples->self[row->stack], weight);
		sonde_weight_add(&samples->all, weight);
	}
	if (rc == 0 && out->row_count)
		qsort(out->rows, out->row_count, sizeof *out->rows, compare_stacks);
	return rc;
}

/* Notes what 100 % is, and its uncertainty. */
static void note_heap_whole(const struct sonde_samples *samples, const struct sonde_weights *heap, const char *what,
			    struct sonde_report *report, struct sonde_section *section)
{
	char known[96] = "all recorded", peak[96] = "";
	enum sonde_weigh_by by = samples->options.weigh.by;
	int in_blocks = sonde_weigh_rows[by].unit == SONDE_WEIGH_BLOCKS;
	const char *size = in_blocks ? "" : sonde_size_text(report, heap->weight, heap->variance);
	const char *mean = sonde_size_text(report, heap->mean_b, 0);
	const char *blocks = sonde_count_text(report, (double)heap->count);
	if (heap->mean_b)
		snprintf(known, sizeof known, "%sestimated, one sample per %s ",
			 heap->variance > 0 && !in_blocks ? "± is the 95 % interval, " : "", mean);
	if (by == SONDE_WEIGH_PEAK && heap->heaps > 1)
		snprintf(peak, sizeof peak, "; the sum of the peaks of %zu heaps, each at its own time", heap->heaps);
	else if (by == SONDE_WEIGH_PEAK)
		snprintf(peak, sizeof peak, "; the peak was at %.3f s",
			 (double)(heap->peak_ns - sonde_session_run(samples->session)->start_ns) / 1e9);
	sonde_report_note(report, section, 0, "100 %% = %s%s%s block%s: %s, %s%s", size, in_blocks ? "" : " in ",
			  blocks, sonde_plural(heap->count), what, known, peak);
}

static void note_unseen(const struct sonde_weights *heap, const char *more, struct sonde_report *report,
			struct sonde_section *section)
{
	const char *size = sonde_size_text(report, heap->unseen_b, 0);
	if (!heap->unseen_b)
		return;
	sonde_report_note(
	    report, section, 1, "%s%s live at exit may or may not be reachable%s%s%s; " WEIGH_LEFT " includes them",
	    size ? size : "", more, *heap->unseen_why ? " (" : "", heap->unseen_why, *heap->unseen_why ? ")" : "");
	sonde_report_advise(report, section, SONDE_ACTION_METRIC, WEIGH_LEFT);
}

/* Memory outside malloc is missing: Python's arenas, for example, are mappings. */
static void note_others(const struct sonde_samples *samples, struct sonde_report *report, struct sonde_section *section)
{
	const char *names[8], *text = "";
	size_t count = sonde_weigh_heaps(samples->session, names, sizeof names / sizeof *names);
	for (size_t i = 0; i < count && text && sonde_weigh_is_malloc(&samples->options.weigh); i++)
		if (strcmp(names[i], SONDE_WEIGH_MALLOC) != 0)
			text = sonde_report_text(report, "%s%s%s", text, *text ? ", " : "", names[i]);
	if (!*text)
		return;
	sonde_report_note(report, section, 0, "malloc only; " HEAP_OF ": %s", text);
	sonde_report_advise(report, section, SONDE_ACTION_HEAP, HEAP_OF);
}

static void note_waits_whole(const struct sonde_weights *waits, const char *what, struct sonde_report *report,
			     struct sonde_section *section)
{
	const char *calls = sonde_count_text(report, (double)waits->count);
	sonde_report_note(report, section, 0, "100 %% = %.3f s in %s call%s: %s (all threads)",
			  (double)waits->weight / 1e9, calls, sonde_plural(waits->count), what);
	if (!waits->sampled)
		return;
	sonde_report_note(report, section, 0, "%.3f s of it were sampled from outside, not measured",
			  (double)waits->sampled / 1e9);
}

static void weights_notes_add(const struct sonde_samples *samples, const struct sonde_weights *weights,
			      const char *what, struct sonde_report *report, struct sonde_section *section)
{
	int of_heap = sonde_weigh_of(&samples->options.weigh) == SONDE_WEIGH_OF_HEAP;
	uint64_t stacks = 0, broken = 0, bare = 0;
	for (size_t i = 0; i < weights->row_count; i++) {
		const struct sonde_weights_row *row = &weights->rows[i];
		if (!of_heap && i && row[-1].stack == row->stack && row[-1].thread == row->thread)
			continue; /* same stack, with a call of another kind */
		stacks++;
		if (!row->stack)
			bare++;
		else if (!sonde_stack_is_complete(row->status))
			broken++;
	}
	if (of_heap)
		note_heap_whole(samples, weights, what, report, section);
	else
		note_waits_whole(weights, what, report, section);
	if (of_heap)
		note_others(samples, report, section);
	note_broken(broken, stacks - bare, report, section);
	if (bare)
		sonde_report_note(report, section, 1, "%.1f %% have no stack and belong to no function%s",
				  100 * sonde_stats_share((double)samples->self[0].ns, (double)samples->all.ns),
				  of_heap ? "; sonde record --heap records stacks of pools, too" : "");
	note_unseen(weights, " more", report, section);
}

/* The kinds of data that a metric adds up. */
static uint32_t kinds_of(enum sonde_weigh_by by)
{
	static const uint32_t of[] = {[SONDE_WEIGH_OF_SAMPLES] = SONDE_NEEDS(CPU),
				      [SONDE_WEIGH_OF_HEAP] = SONDE_NEEDS(HEAP),
				      [SONDE_WEIGH_OF_WAITS] = SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES)};
	return by == SONDE_WEIGH_LOCKS ? SONDE_NEEDS(LOCKS)
	       : by == SONDE_WEIGH_IO  ? SONDE_NEEDS(FILES)
				       : of[sonde_weigh_rows[by].of];
}

/* Explains why nothing has a weight. */
static int weights_none(const struct sonde_samples *samples, const struct sonde_weights *weights,
			struct sonde_report *report)
{
	uint32_t kinds = kinds_of(samples->options.weigh.by);
	const char *missing = sonde_pass_missing(samples->session, kinds, report);
	int selects = sonde_pass_selects(&samples->options);
	char what[256];
	sonde_weigh_say(&samples->options.weigh, samples->session, what, sizeof what);
	struct sonde_section *section =
	    samples->options.requested ? sonde_report_table(report, "calltree", "Call tree", NULL, 0) : NULL;
	if (!section)
		return samples->options.requested ? sonde_error(ENOMEM, "out of memory for a call tree") : 0;
	if (missing)
		return sonde_pass_note_missing(missing, kinds, report, section);
	if (weights->unseen_b) {
		note_unseen(weights, "", report, section);
		return 0;
	}
	sonde_report_note(report, section, 0, "no %s in this %s", what, selects ? "selection" : "recording");
	return 0;
}

/* --- the section ------------------------------------------------------------------------------------------------- */

static int section_make(struct sonde_samples *samples, const struct sonde_weights *weights, struct sonde_report *report)
{
	static const enum sonde_unit units[] = {[SONDE_WEIGH_NS] = SONDE_UNIT_NS,
						[SONDE_WEIGH_BYTES] = SONDE_UNIT_BYTES,
						[SONDE_WEIGH_BLOCKS] = SONDE_UNIT_COUNT};
	const struct sonde_weigh *weigh = &samples->options.weigh;
	char what[256];
	sonde_weigh_say(weigh, samples->session, what, sizeof what);
	const char *value = sonde_report_text(report, "%s", what);
	const char *title = sonde_report_text(report, "Call tree by %s", what);
	enum sonde_unit unit = units[sonde_weigh_rows[weigh->by].unit];
	struct sonde_section *section = sonde_report_tree(report, "calltree", title, unit, value);
	const struct sonde_weights *calls = sonde_weigh_of(weigh) == SONDE_WEIGH_OF_WAITS ? weights : NULL;
	int rc = sonde_calltree_fill(samples, calls, report, section->tree.root);
	if (sonde_weigh_of(weigh) == SONDE_WEIGH_OF_SAMPLES)
		notes_add(samples, report, section);
	else
		weights_notes_add(samples, weights, what, report, section);
	return rc;
}

/* CPU time comes with the samples, all other weights from their own chunks. */
static uint32_t calltree_wants(const void *state)
{
	const struct sonde_samples *samples = state;
	return sonde_weigh_of(&samples->options.weigh) == SONDE_WEIGH_OF_SAMPLES ? 1u << SONDE_CHUNK_SAMPLES : 0;
}

static int calltree_finish(void *state, struct sonde_report *report)
{
	struct sonde_samples *samples = state;
	struct sonde_weights weights = {0};
	int is_weighed = sonde_weigh_of(&samples->options.weigh) != SONDE_WEIGH_OF_SAMPLES;
	int rc = is_weighed ? weights_take(samples, &weights) : 0;
	if (rc == 0 && sonde_weight_is_any(samples->all))
		rc = section_make(samples, &weights, report);
	else if (rc == 0 && is_weighed)
		rc = weights_none(samples, &weights, report);
	else if (rc == 0)
		rc = sonde_samples_none(samples, report, "calltree", "Call tree");
	sonde_weights_fini(&weights);
	return rc;
}

const struct sonde_pass sonde_pass_calltree = {
    .name = "calltree",
    .has = sonde_has_stacks,
    .title = "call tree, root first",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .wants = calltree_wants,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = calltree_finish,
    .end = sonde_samples_end,
};
