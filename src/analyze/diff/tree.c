/* tree.c: merges the call trees of two recordings: CPU time of each call path before and after.
 *
 * Two frames are the same if the names of their functions and modules and their callers are the same. As in
 * diff/functions.c, functions without a name are merged per module and caller, unless both recordings have the same
 * build of the module. The trees are merged in a hash table keyed by (caller, name, module) and written depth first,
 * with the larger of the two sides first. If there are too many frames, the smallest are left out. A frame never
 * appears without its callers, because no frame is larger than its callers. Nothing here recurses, because the
 * recording determines how deep stacks are.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/calltree.h"
#include "analyze/diff/diff.h"
#include "analyze/cpu/samples.h"
#include "analyze/statistics/stats.h"
#include "base/hash.h"
#include "util/array.h"
#include "util/error.h"
#include "util/map.h"

enum { DEFAULT_ROWS = 200 };
enum { BASELINE, CANDIDATE, SIDES };
enum { LEVEL, CHANGE_S, CHANGE, BASE_NS, NS, BASE_SHARE, SHARE, BASE_SELF, SELF, FRAME, MODULE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [LEVEL] = {"level", "level", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 0},
    [CHANGE_S] = {"change_s", "change in s", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 0},
    [CHANGE] = {"share_change", "change", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [BASE_NS] = {"baseline_ns", "baseline", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [NS] = {"candidate_ns", "candidate", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [BASE_SHARE] = {"baseline_share", "baseline share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 4},
    [SHARE] = {"candidate_share", "candidate share", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 4},
    [BASE_SELF] = {"baseline_self_ns", "self before", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 5},
    [SELF] = {"candidate_self_ns", "self after", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 5},
    [FRAME] = {"function", "function", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [MODULE] = {"module", "module", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
};

struct frame {
	const char *name, *module;
	uint32_t parent;
	uint64_t total[SIDES], self[SIDES];
};

struct merge {
	struct sonde_session *session[SIDES];
	struct frame *frames; /* 0 = the root; a caller precedes its callees */
	size_t count, cap;
	struct sonde_map map, builds; /* builds: by module name: 1 several, or unknown; 2 a single one */
	uint64_t all_ns[SIDES];       /* CPU time with a stack: the denominator of the shares */
	double n[SIDES];              /* effective sample sizes */
};

/* --- merging trees ------------------------------------------------------------------------------------------------ */

struct wanted {
	const struct merge *merge;
	const char *name, *module;
	uint32_t parent;
};

static int is_same(const void *context, uint32_t value)
{
	const struct wanted *wanted = context;
	const struct frame *frame = &wanted->merge->frames[value];
	return frame->parent == wanted->parent && strcmp(frame->name, wanted->name) == 0 &&
	       strcmp(frame->module, wanted->module) == 0;
}

static int frame_put(struct merge *merge, const struct frame *frame)
{
	if (merge->count >= UINT32_MAX || SONDE_ARRAY_RESERVE(merge->frames, merge->cap, merge->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu frames", merge->count + 1);
	merge->frames[merge->count++] = *frame;
	return 0;
}

/* The frame of a function below `parent`, created if new: `out`. */
static int child_of(struct merge *merge, uint32_t parent, const char *name, const char *module, uint32_t *out)
{
	const struct wanted wanted = {merge, name, module, parent};
	uint64_t hash = sonde_hash_bytes(name, strlen(name)) ^ sonde_hash_mix(parent + 1) ^
			sonde_hash_mix(sonde_hash_bytes(module, strlen(module)));
	*out = sonde_map_find(&merge->map, hash, is_same, &wanted);
	if (*out)
		return 0;
	*out = (uint32_t)merge->count;
	int code = frame_put(merge, &(struct frame){.name = name, .module = module, .parent = parent});
	if (!code && sonde_map_add(&merge->map, hash, *out))
		code = sonde_error(ENOMEM, "out of memory for %zu frames", merge->count);
	return code;
}

/* True if all builds of modules with this name are known and equal. */
static int is_one_build(const struct merge *merge, const char *module)
{
	const char *build = NULL;
	for (int side = 0; side < SIDES; side++) {
		for (uint32_t id = 1; id <= sonde_session_module_count(merge->session[side]); id++) {
			const struct sonde_module *at = sonde_session_module(merge->session[side], id);
			if (strcmp(at->name, module) != 0)
				continue;
			if (!*at->build_id || (build && strcmp(build, at->build_id) != 0))
				return 0;
			build = at->build_id;
		}
	}
	return build != NULL;
}

static int has_one_build(struct merge *merge, const char *module)
{
	uint64_t hash = sonde_hash_bytes(module, strlen(module));
	uint32_t known = sonde_map_find(&merge->builds, hash, NULL, NULL);
	if (!known) {
		known = is_one_build(merge, module) ? 2 : 1;
		if (sonde_map_add(&merge->builds, hash, known)) /* not cached: determined again next time */
			return known == 2;
	}
	return known == 2;
}

/* Drops "libz.so.1+0x1f20", the name of a function without symbols: its address means nothing in another build. */
static const char *name_of(struct merge *merge, const struct sonde_tree_node *node)
{
	size_t module_b = strlen(node->module);
	int is_unnamed = module_b && strncmp(node->name, node->module, module_b) == 0 &&
			 strncmp(node->name + module_b, "+0x", 3) == 0;
	return is_unnamed && !has_one_build(merge, node->module) ? "(unnamed)" : node->name;
}

struct todo {
	const struct sonde_tree_node *node;
	uint32_t parent;
};

struct todos {
	struct todo *rows;
	size_t count, cap;
};

static int todo_put(struct todos *todos, const struct sonde_tree_node *node, uint32_t parent)
{
	if (SONDE_ARRAY_RESERVE(todos->rows, todos->cap, todos->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu frames", todos->count + 1);
	todos->rows[todos->count++] = (struct todo){node, parent};
	return 0;
}

/* Merges the tree below `root` into the frames. */
static int lay(struct merge *merge, int side, const struct sonde_tree_node *root)
{
	struct todos todos = {0};
	int code = root->child ? todo_put(&todos, root->child, 0) : 0;
	merge->frames[0].total[side] = root->total;
	merge->frames[0].self[side] = root->self;
	while (!code && todos.count) {
		const struct todo now = todos.rows[--todos.count];
		const struct sonde_tree_node *node = now.node;
		uint32_t at;
		code = child_of(merge, now.parent, name_of(merge, node), node->module, &at);
		if (code)
			break;
		merge->frames[at].total[side] += node->total;
		merge->frames[at].self[side] += node->self;
		code = node->next ? todo_put(&todos, node->next, now.parent) : 0;
		code = code || !node->child ? code : todo_put(&todos, node->child, at);
	}
	free(todos.rows);
	return code;
}

static int side_read(struct merge *merge, int side, struct sonde_report *scratch)
{
	static const struct sonde_pass_options all;
	struct sonde_samples samples;
	struct sonde_cursor *cursor = NULL;
	const struct sonde_batch *batch;
	struct sonde_tree_node root = {0};
	int got, code = sonde_samples_init(&samples, merge->session[side], &all);
	code = code ? code : sonde_cursor_open(&cursor, merge->session[side], 1u << SONDE_CHUNK_SAMPLES);
	/* unreadable chunks are noted for the whole comparison */
	while (!code && (got = sonde_cursor_next(cursor, &batch)) != 0)
		code = got > 0 ? sonde_samples_feed(&samples, batch) : got == -ENOMEM ? got : 0;
	sonde_cursor_close(cursor);
	code = code ? code : sonde_calltree_fill(&samples, NULL, scratch, &root);
	if (!code) {
		merge->all_ns[side] = root.total - root.self;
		merge->n[side] = sonde_stats_effective_n((double)merge->all_ns[side], samples.square);
		code = lay(merge, side, &root);
	}
	sonde_samples_fini(&samples);
	return code;
}

/* --- the section -------------------------------------------------------------------------------------------------- */

static uint64_t larger(const struct frame *frame)
{
	return frame->total[BASELINE] > frame->total[CANDIDATE] ? frame->total[BASELINE] : frame->total[CANDIDATE];
}

static int by_size(const void *left, const void *right, void *context)
{
	const struct frame *frames = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t x = larger(&frames[a]), y = larger(&frames[b]);
	return x != y ? (x < y ? 1 : -1) : (a > b) - (a < b);
}

static int row_add(struct sonde_diff *diff, struct sonde_section *section, const struct merge *merge, uint32_t id,
		   uint32_t level)
{
	const struct frame *frame = &merge->frames[id];
	struct sonde_cell *row = sonde_report_row(diff->report, section);
	double share[SIDES], half[SIDES], ns[SIDES];
	for (int side = 0; side < SIDES; side++) {
		double all = (double)merge->all_ns[side];
		ns[side] = (double)(frame->total[side] - (id ? 0 : frame->self[side]));
		share[side] = sonde_stats_share(ns[side], all);
		half[side] = id ? sonde_stats_share_half(share[side], merge->n[side]) : 0;
	}
	double half_s =
	    hypot(half[BASELINE] * (double)merge->all_ns[BASELINE], half[CANDIDATE] * (double)merge->all_ns[CANDIDATE]);
	row[LEVEL] = sonde_cell_int(level);
	row[CHANGE_S] = sonde_cell_real((ns[CANDIDATE] - ns[BASELINE]) / 1e9, half_s / 1e9);
	row[CHANGE] = sonde_cell_real(share[CANDIDATE] - share[BASELINE], hypot(half[BASELINE], half[CANDIDATE]));
	row[BASE_NS] = sonde_cell_int((uint64_t)ns[BASELINE]);
	row[NS] = sonde_cell_int((uint64_t)ns[CANDIDATE]);
	row[BASE_SHARE] = sonde_cell_real(share[BASELINE], 0);
	row[SHARE] = sonde_cell_real(share[CANDIDATE], 0);
	row[BASE_SELF] = sonde_cell_int(id ? frame->self[BASELINE] : 0);
	row[SELF] = sonde_cell_int(id ? frame->self[CANDIDATE] : 0);
	row[FRAME] = sonde_cell_text(id ? frame->name : "all");
	row[MODULE] = sonde_cell_text(frame->module);
	return 0;
}

/* Adds the largest `kept` frames depth first. `order`: all frames, largest first; `first` and `next`: storage for
 * links. */
static int rows_add(struct sonde_diff *diff, struct sonde_section *section, const struct merge *merge,
		    const uint32_t *order, size_t kept)
{
	uint32_t *first = calloc(merge->count, sizeof *first), *next = calloc(merge->count, sizeof *next);
	uint32_t at = 0, level = 0;
	int code = first && next ? 0 : sonde_error(ENOMEM, "out of memory for %zu frames", merge->count);
	for (size_t i = kept; !code && i-- > 0;) {
		uint32_t id = order[i], parent = merge->frames[id].parent;
		if (!id)
			continue;
		next[id] = first[parent];
		first[parent] = id;
	}
	code = code ? code : row_add(diff, section, merge, 0, 0);
	while (!code) {
		if (first[at]) { /* a child that was not written yet */
			uint32_t child = first[at];
			first[at] = next[child];
			at = child;
			level++;
			code = row_add(diff, section, merge, at, level);
		} else if (at) {
			at = merge->frames[at].parent;
			level--;
		} else {
			break;
		}
	}
	free(first);
	free(next);
	return code;
}

static int notes_add(struct sonde_diff *diff, struct sonde_section *section)
{
	sonde_report_note(diff->report, section, 0,
			  "change: candidate − baseline, with callees, with 95 %% intervals; one run each");
	return 0;
}

static int section_add(struct sonde_diff *diff, const struct merge *merge)
{
	struct sonde_section *section =
	    sonde_report_table(diff->report, "diff-calltree", "Call tree by change of CPU time", columns, COLUMNS);
	size_t limit = diff->options->limit ? diff->options->limit : DEFAULT_ROWS;
	size_t kept = merge->count < limit ? merge->count : limit;
	uint32_t *order = calloc(merge->count, sizeof *order);
	int code = order ? 0 : sonde_error(ENOMEM, "out of memory for %zu frames", merge->count);
	for (uint32_t i = 0; !code && i < merge->count; i++)
		order[i] = i;
	if (!code && merge->count > 1) /* the root stays first */
		qsort_r(order + 1, merge->count - 1, sizeof *order, by_size, merge->frames);
	code = code ? code : rows_add(diff, section, merge, order, kept);
	free(order);
	if (code)
		return code;
	section->table.omitted = merge->count - kept;
	return notes_add(diff, section);
}

int sonde_diff_tree(struct sonde_diff *diff)
{
	struct merge merge = {.session = {diff->baseline, diff->candidate}};
	struct sonde_report *scratch;
	int code = sonde_report_new(&scratch) ? -ENOMEM : 0;
	if (code)
		return code;
	code = frame_put(&merge, &(struct frame){.name = "all", .module = ""});
	code = code ? code : side_read(&merge, BASELINE, scratch);
	code = code ? code : side_read(&merge, CANDIDATE, scratch);
	if (!code && merge.all_ns[BASELINE] && merge.all_ns[CANDIDATE])
		code = section_add(diff, &merge);
	sonde_map_fini(&merge.map);
	sonde_map_fini(&merge.builds);
	free(merge.frames);
	sonde_report_free(scratch);
	return code;
}
