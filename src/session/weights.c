/* weights.c: the table of metrics, and the memory metrics: sums by call site, filtered by heap and thread.
 *
 * If a chunk is missing, a site may have more frees than allocations: a negative sum counts as 0.
 */
#include "session/weigh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/state.h"
#include "session/wait/weights.h"
#include "trace/reader.h"
#include "util/error.h"

#define ANY_WAIT                                                                                 \
	(1u << SONDE_WAIT_GROUP_LOCK | 1u << SONDE_WAIT_GROUP_IO | 1u << SONDE_WAIT_GROUP_TIME | \
	 1u << SONDE_WAIT_GROUP_CHILD)

#define OF_HEAP(name, title, unit, in_range)                        \
	{                                                           \
		name, title, SONDE_WEIGH_OF_HEAP, unit, in_range, 0 \
	}
#define OF_WAITS(name, title, groups)                                        \
	{                                                                    \
		name, title, SONDE_WEIGH_OF_WAITS, SONDE_WEIGH_NS, 1, groups \
	}

const struct sonde_weigh_row sonde_weigh_rows[SONDE_WEIGH_COUNT] = {
    [SONDE_WEIGH_CPU] = {"cpu", "CPU time", SONDE_WEIGH_OF_SAMPLES, SONDE_WEIGH_NS, 1, 0},
    [SONDE_WEIGH_ALLOCATED] = OF_HEAP("allocated", "memory allocated", SONDE_WEIGH_BYTES, 1),
    [SONDE_WEIGH_ALLOCATIONS] = OF_HEAP("allocations", "allocations", SONDE_WEIGH_BLOCKS, 1),
    [SONDE_WEIGH_PEAK] = OF_HEAP("peak", "memory live at the peak", SONDE_WEIGH_BYTES, 1),
    [SONDE_WEIGH_LIVE] = OF_HEAP("live", "live memory", SONDE_WEIGH_BYTES, 0),
    [SONDE_WEIGH_LEFT] = OF_HEAP("live-at-exit", "memory live at exit", SONDE_WEIGH_BYTES, 1),
    [SONDE_WEIGH_UNREACHABLE] = OF_HEAP("unreachable", "memory unreachable at exit", SONDE_WEIGH_BYTES, 0),
    [SONDE_WEIGH_TEMPORARY] = OF_HEAP("temporary", "temporary allocations", SONDE_WEIGH_BLOCKS, 1),
    [SONDE_WEIGH_WAITING] = OF_WAITS("waiting", "time waiting", ANY_WAIT),
    [SONDE_WEIGH_LOCKS] = OF_WAITS("locks", "time waiting for locks", 1u << SONDE_WAIT_GROUP_LOCK),
    [SONDE_WEIGH_IO] = OF_WAITS("io", "time waiting for I/O", 1u << SONDE_WAIT_GROUP_IO),
};

enum sonde_weigh_by sonde_weigh_named(const char *name)
{
	if (!strcmp(name, "left")) /* its name before "live-at-exit", until version 0.2 */
		return SONDE_WEIGH_LEFT;
	int by = 0;
	while (by < SONDE_WEIGH_COUNT && strcmp(sonde_weigh_rows[by].name, name) != 0)
		by++;
	return (enum sonde_weigh_by)by;
}

const char *sonde_weigh_leaf(uint32_t kind)
{
	static const char *const names[SONDE_WAIT_KINDS] = {
#define SONDE_WAIT(id, number, name, group, title) [number] = "[" name "]",
#include "format/waits.def"
#undef SONDE_WAIT
	};
	const char *name = kind < SONDE_WAIT_KINDS ? names[kind] : NULL;
	return name ? name : "[call]";
}

int sonde_weigh_has(const struct sonde_session *session, enum sonde_chunk_type type)
{
	for (size_t i = 0; i < sonde_reader_count(session->reader); i++) {
		const struct sonde_chunk_head *head = &sonde_reader_entry(session->reader, i)->head;
		if (head->type == type && head->count)
			return 1;
	}
	return 0;
}

enum sonde_weigh_by sonde_weigh_default(const struct sonde_session *session)
{
	if (sonde_weigh_has(session, SONDE_CHUNK_SAMPLES))
		return SONDE_WEIGH_CPU;
	if (sonde_weigh_has(session, SONDE_CHUNK_WAITS))
		return SONDE_WEIGH_WAITING;
	for (uint32_t id = 1; id <= sonde_session_heap_site_count(session); id++) {
		const struct sonde_heap_site *site = sonde_session_heap_site(session, id);
		const struct sonde_heap *heap = sonde_session_heap(session, site->heap);
		if (heap && heap->kind == SONDE_HEAP_MALLOC)
			return SONDE_WEIGH_PEAK;
	}
	return SONDE_WEIGH_CPU;
}

int sonde_weigh_is_malloc(const struct sonde_weigh *weigh)
{
	return !weigh->heap || strcmp(weigh->heap, SONDE_WEIGH_MALLOC) == 0;
}

int sonde_weigh_is_of(const struct sonde_weigh *weigh, const struct sonde_heap *heap)
{
	if (sonde_weigh_is_malloc(weigh)) /* the total includes blocks of unknown heaps */
		return !heap || heap->kind == SONDE_HEAP_MALLOC;
	if (!heap)
		return 0;
	return strcmp(weigh->heap, SONDE_WEIGH_MAPPINGS) == 0
		   ? heap->kind == SONDE_HEAP_MAPPING
		   : heap->kind == SONDE_HEAP_POOL && strcmp(weigh->heap, heap->name) == 0;
}

void sonde_weigh_say(const struct sonde_weigh *weigh, const struct sonde_session *session, char *out, size_t out_b)
{
	int is_other = sonde_weigh_of(weigh) == SONDE_WEIGH_OF_HEAP && !sonde_weigh_is_malloc(weigh);
	const char *heap = is_other ? weigh->heap : "";
	int is_pool = *heap && strcmp(heap, SONDE_WEIGH_MAPPINGS) != 0;
	char when[40] = "";
	if (weigh->by == SONDE_WEIGH_LIVE)
		snprintf(when, sizeof when, " at %.6g s",
			 (double)(weigh->at_ns - sonde_session_run(session)->start_ns) / 1e9);
	snprintf(out, out_b, "%s%s%s%s%s%s", sonde_weigh_rows[weigh->by].title, when, *heap ? " (" : "",
		 is_pool ? "pool " : "", heap, *heap ? ")" : "");
}

static const char *name_of(const struct sonde_heap *heap)
{
	return heap->kind == SONDE_HEAP_MALLOC    ? SONDE_WEIGH_MALLOC
	       : heap->kind == SONDE_HEAP_MAPPING ? SONDE_WEIGH_MAPPINGS
						  : heap->name;
}

size_t sonde_weigh_heaps(const struct sonde_session *session, const char **names, size_t max)
{
	size_t count = 0;
	for (uint32_t id = 1; id <= sonde_session_heap_count(session) && count < max; id++) {
		const char *name = name_of(sonde_session_heap(session, id));
		size_t i = 0;
		while (i < count && strcmp(names[i], name) != 0)
			i++;
		if (i == count)
			names[count++] = name;
	}
	return count;
}

/* --- per call site ----------------------------------------------------------------------------------------------- */

struct taking {
	struct sonde_session *session;
	const struct sonde_weigh_view *view;
	struct sonde_heap_sums sums;
	struct sonde_heap_alive *sites; /* by heap site id; row 0: unknown site */
	struct sonde_weights *out;
	size_t site_count;
};

static const struct sonde_heap *heap_of(const struct taking *taking, size_t site_id)
{
	const struct sonde_heap_site *site = sonde_session_heap_site(taking->session, (uint32_t)site_id);
	return site ? sonde_session_heap(taking->session, site->heap) : NULL;
}

static int is_wanted(const struct taking *taking, size_t site_id)
{
	const struct sonde_weigh_view *view = taking->view;
	const struct sonde_heap_site *site = sonde_session_heap_site(taking->session, (uint32_t)site_id);
	uint32_t thread = site && site->thread <= sonde_session_thread_count(taking->session) ? site->thread : 0;
	return sonde_weigh_is_of(&view->weigh, heap_of(taking, site_id)) &&
	       (!view->range.thread || view->range.thread[thread]);
}

static int take_sums(struct taking *taking)
{
	enum sonde_weigh_by by = taking->view->weigh.by;
	for (size_t id = 0; id <= taking->site_count; id++) {
		const struct sonde_heap_sum *sum = &taking->sums.sites[id];
		taking->sites[id] = by == SONDE_WEIGH_PEAK
					? (struct sonde_heap_alive){sum->peak_blocks, sum->peak_b, sum->peak_variance}
				    : by == SONDE_WEIGH_LEFT
					? (struct sonde_heap_alive){sum->left_blocks, sum->left_b, sum->left_variance}
				    : by == SONDE_WEIGH_TEMPORARY
					? (struct sonde_heap_alive){sum->temporary, 0, 0}
					: (struct sonde_heap_alive){sum->begins, sum->begun_b, sum->begun_variance};
	}
	return 0;
}

/* Fills in what was live at the requested time. All memory of a process is freed when it exits or executes another
 * program. */
static int take_live(struct taking *taking)
{
	uint64_t at_ns = taking->view->weigh.at_ns;
	uint64_t *ends_ns = calloc(sonde_session_heap_count(taking->session) + 1, sizeof *ends_ns);
	int rc = ends_ns ? sonde_session_heap_ends(taking->session, ends_ns)
			 : sonde_error(ENOMEM, "out of memory for the heaps");
	if (rc == 0)
		rc = sonde_session_heap_alive(taking->session, at_ns, taking->sites);
	for (size_t id = 0; rc != -ENOMEM && id <= taking->site_count; id++) {
		const struct sonde_heap *heap = heap_of(taking, id);
		if (heap && ends_ns[heap->id] && ends_ns[heap->id] <= at_ns)
			taking->sites[id] = (struct sonde_heap_alive){0};
	}
	free(ends_ns);
	return rc;
}

static int take_unreachable(struct taking *taking)
{
	for (size_t i = 0; i < sonde_session_heap_remainder_count(taking->session); i++) {
		const struct sonde_heap_remainder *remainder = sonde_session_heap_remainder(taking->session, i);
		uint32_t id = remainder->site <= taking->site_count ? remainder->site : 0;
		if (remainder->kind == SONDE_HEAP_UNREACHABLE) {
			taking->sites[id].blocks += remainder->blocks;
			taking->sites[id].size_b += remainder->size_b;
		} else if (remainder->kind == SONDE_HEAP_NOT_KNOWN && is_wanted(taking, id)) {
			taking->out->unseen_b += remainder->size_b;
			if (!*taking->out->unseen_why)
				taking->out->unseen_why = remainder->detail;
		}
	}
	return 0;
}

static int (*const takes[SONDE_WEIGH_COUNT])(struct taking *taking) = {
    [SONDE_WEIGH_ALLOCATED] = take_sums, [SONDE_WEIGH_ALLOCATIONS] = take_sums,
    [SONDE_WEIGH_PEAK] = take_sums,      [SONDE_WEIGH_LIVE] = take_live,
    [SONDE_WEIGH_LEFT] = take_sums,      [SONDE_WEIGH_UNREACHABLE] = take_unreachable,
    [SONDE_WEIGH_TEMPORARY] = take_sums,
};

/* --- rows -------------------------------------------------------------------------------------------------------- */

static int collect(struct taking *taking)
{
	struct sonde_weights *out = taking->out;
	const struct sonde_session *session = taking->session;
	int in_blocks = sonde_weigh_rows[taking->view->weigh.by].unit == SONDE_WEIGH_BLOCKS;
	out->rows = calloc(taking->site_count + 1, sizeof *out->rows);
	if (!out->rows)
		return sonde_error(ENOMEM, "out of memory for %zu places that allocate", taking->site_count);
	for (size_t id = 0; id <= taking->site_count; id++) {
		const struct sonde_heap_site *site = sonde_session_heap_site(session, (uint32_t)id);
		const struct sonde_heap_alive *has = &taking->sites[id];
		if (!is_wanted(taking, id) || !(has->blocks || has->size_b) || has->blocks > INT64_MAX ||
		    has->size_b > INT64_MAX)
			continue;
		out->variance += has->variance;
		struct sonde_weights_row *row = &out->rows[out->row_count++];
		*row =
		    (struct sonde_weights_row){.count = has->blocks, .weight = in_blocks ? has->blocks : has->size_b};
		if (site && sonde_session_node(session, site->stack))
			row->stack = site->stack;
		if (site && sonde_session_thread(session, site->thread))
			row->thread = site->thread;
		row->status = site ? site->status : SONDE_STACK_NO_TABLE;
		out->count += row->count;
		out->weight += row->weight;
	}
	return 0;
}

static void describe(struct taking *taking)
{
	uint64_t highest_b = 0;
	for (uint32_t id = 0; id <= sonde_session_heap_count(taking->session); id++) {
		const struct sonde_heap_total *total = &taking->sums.heaps[id];
		if (!total->begins || !sonde_weigh_is_of(&taking->view->weigh, sonde_session_heap(taking->session, id)))
			continue;
		taking->out->heaps++;
		if (total->mean_b > taking->out->mean_b)
			taking->out->mean_b = total->mean_b;
		if (total->peak_b > highest_b) {
			highest_b = total->peak_b;
			taking->out->peak_ns = total->peak_ns;
		}
	}
}

static int heap_weights_take(struct sonde_weights *out, struct sonde_session *session,
			     const struct sonde_weigh_view *view)
{
	struct taking taking = {.session = session, .view = view, .out = out};
	taking.site_count = sonde_session_heap_site_count(session);
	taking.sites = calloc(taking.site_count + 1, sizeof *taking.sites);
	int rc = taking.sites ? sonde_session_heap_sums_of(session, &view->range, &taking.sums)
			      : sonde_error(ENOMEM, "out of memory for %zu places that allocate", taking.site_count);
	if (rc != -ENOMEM)
		rc = takes[view->weigh.by](&taking);
	if (rc != -ENOMEM)
		rc = collect(&taking);
	if (rc != -ENOMEM)
		describe(&taking);
	sonde_heap_sums_free(&taking.sums);
	free(taking.sites);
	return rc == -ENOMEM ? rc : 0;
}

/* --- totals ------------------------------------------------------------------------------------------------------- */

int sonde_weights_take(struct sonde_weights *out, struct sonde_session *session, const struct sonde_weigh_view *view)
{
	struct sonde_weights weights = {.unseen_why = ""};
	int rc = sonde_weigh_of(&view->weigh) == SONDE_WEIGH_OF_WAITS ? sonde_wait_weights_take(&weights, session, view)
								      : heap_weights_take(&weights, session, view);
	if (rc)
		sonde_weights_fini(&weights);
	else
		*out = weights;
	return rc;
}

void sonde_weights_fini(struct sonde_weights *weights)
{
	free(weights->rows);
	*weights = (struct sonde_weights){0};
}
