/* peak.c: the stacks that held the live memory at the peak, as a call tree from the root.
 *
 * Heaps peak at different times: if there are several (of several processes, or mappings next to malloc), each is a
 * separate branch that can be read on its own.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/cpu/calltree.h"
#include "analyze/heap/pass.h"
#include "analyze/cpu/samples.h"
#include "analyze/sizes.h"
#include "analyze/words.h"
#include "util/error.h"

enum { BRANCHES_MAX = 24 }; /* heaps with the highest peaks; all others share one branch */

struct branch {
	uint32_t heap; /* 0: all heaps without a branch of their own */
	uint64_t peak_b;
};

static int compare_peaks(const void *left, const void *right)
{
	const struct branch *a = left, *b = right;
	if (a->peak_b != b->peak_b)
		return a->peak_b < b->peak_b ? 1 : -1;
	return a->heap < b->heap ? -1 : 1;
}

static int is_of(const struct branch *branches, size_t count, size_t i, uint32_t heap)
{
	if (branches[i].heap)
		return branches[i].heap == heap;
	for (size_t k = 0; k < count; k++)
		if (branches[k].heap == heap)
			return 0;
	return 1;
}

/* Adds the stacks of one branch below a node. */
static int fill(const struct sonde_heap_pass *pass, const struct branch *branches, size_t count, size_t i,
		struct sonde_report *report, struct sonde_tree_node *node)
{
	static const struct sonde_pass_options all;
	struct sonde_samples samples;
	int rc = sonde_samples_init(&samples, pass->session, &all);
	for (uint32_t id = 1; rc == 0 && id <= sonde_session_heap_site_count(pass->session); id++) {
		const struct sonde_heap_sum *sum = &pass->sums.sites[id];
		const struct sonde_heap_site *site = sonde_session_heap_site(pass->session, id);
		if ((int64_t)sum->peak_b <= 0 || !is_of(branches, count, i, site->heap))
			continue;
		struct sonde_weight weight = {sum->peak_b, sum->peak_blocks};
		sonde_weight_add(&samples.self[site->stack <= samples.node_count ? site->stack : 0], weight);
		sonde_weight_add(&samples.all, weight);
	}
	rc = rc ? rc : sonde_calltree_fill(&samples, NULL, report, node);
	sonde_samples_fini(&samples);
	return rc;
}

static const char *branch_name(const struct sonde_heap_pass *pass, const struct branch *branch, size_t more,
			       struct sonde_report *report)
{
	return branch->heap ? sonde_heap_text(pass, report, branch->heap)
			    : sonde_report_text(report, "%zu more heap%s", more, sonde_plural(more));
}

static int branches_add(const struct sonde_heap_pass *pass, const struct branch *branches, size_t count, size_t more,
			struct sonde_report *report, struct sonde_tree_node *root)
{
	struct sonde_tree_node *nodes = sonde_arena_alloc(&report->arena, count * sizeof *nodes);
	int rc = nodes ? 0 : sonde_error(ENOMEM, "out of memory for a call tree");
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const char *name = branch_name(pass, &branches[i], more, report);
		nodes[i] = (struct sonde_tree_node){.name = name ? name : "", .module = "", .file = ""};
		rc = fill(pass, branches, count, i, report, &nodes[i]);
		nodes[i].next = i + 1 < count ? &nodes[i + 1] : NULL;
		root->total += nodes[i].total;
		root->count += nodes[i].count;
	}
	root->child = nodes;
	return rc;
}

static int tree_add(const struct sonde_heap_pass *pass, struct sonde_report *report, struct sonde_tree_node *root)
{
	size_t heaps = sonde_session_heap_count(pass->session), count = 0, more = 0;
	struct branch *branches = calloc(heaps + 1, sizeof *branches);
	if (!branches)
		return sonde_error(ENOMEM, "out of memory for a call tree");
	for (uint32_t id = 1; id <= heaps; id++)
		if (pass->sums.heaps[id].peak_b)
			branches[count++] = (struct branch){id, pass->sums.heaps[id].peak_b};
	qsort(branches, count, sizeof *branches, compare_peaks);
	if (count > BRANCHES_MAX) {
		more = count - (BRANCHES_MAX - 1);
		count = BRANCHES_MAX;
		branches[count - 1] = (struct branch){0};
	}
	int rc = count == 1  ? fill(pass, branches, count, 0, report, root)
		 : count > 1 ? branches_add(pass, branches, count, more, report, root)
			     : 0;
	free(branches);
	return rc;
}

static void note_whole(const struct sonde_heap_pass *pass, struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_tree_node *root = section->tree.root;
	uint32_t highest;
	size_t used = sonde_heap_used(pass, &highest);
	const char *size = sonde_size_text(report, root->total, 0);
	const char *blocks = sonde_count_text(report, (double)root->count);
	if (used > 1)
		sonde_report_note(report, section, 0, "100 %% = %s in %s blocks, of %zu heaps", size, blocks, used);
	else
		sonde_report_note(report, section, 0, "100 %% = %s in %s block%s, at %.3f s", size, blocks,
				  sonde_plural(root->count),
				  sonde_heap_second(pass, pass->sums.heaps[highest].peak_ns));
}

static int peak_finish(void *state, struct sonde_report *report)
{
	struct sonde_heap_pass *pass = state;
	int rc = sonde_heap_pass_read(pass, report, "peak", "Heap peak by call tree");
	if (rc)
		return rc < 0 ? rc : 0;
	struct sonde_section *section =
	    sonde_report_tree(report, "peak", "Heap peak by call tree", SONDE_UNIT_BYTES, "memory live at the peak");
	rc = tree_add(pass, report, section->tree.root);
	if (rc == 0)
		note_whole(pass, report, section);
	if (rc >= 0)
		sonde_heap_pass_notes(pass, report, section);
	return rc;
}

const struct sonde_pass sonde_pass_peak = {
    .name = "peak",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "what held the heap at its peak: call tree, root first",
    .state_b = sizeof(struct sonde_heap_pass),
    .begin = sonde_heap_pass_begin,
    .finish = peak_finish,
    .end = sonde_heap_pass_end,
};
