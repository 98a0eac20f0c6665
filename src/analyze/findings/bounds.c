/* bounds.c: the upper bound on the time that a change at a place can save: the time within the surrounding code of the
 * program.
 *
 * The context of a finding is the function in the program's own module that contains at least CONTEXT of its evidence
 * (samples and waits of its place) among its callees; if there are several, it is the one with the least time. Removing
 * that function entirely, with what it calls, waits for and delegates, leaves the time in which no thread is in it: the
 * run takes at least that long. (A chain of dependencies remains a chain if a part is removed, and no run is shorter
 * than its longest chain: Kelley, Critical-Path Planning and Scheduling, 1961.) The bound is thus the time in which
 * some thread is within the context: its CPU time, page faults, waits, and waits for a CPU.
 *
 * A thread is within the context for the CPU time of a sample whose stack contains the context; for the remaining time
 * between two samples if either sample's stack does; for the time before the first sample and after the last; and for
 * each wait there. Incomplete stacks may contain any function. Time is counted in bins: to each bin, all threads
 * together contribute at most the bin's length. All findings are thus bounded in two passes over samples and waits, in
 * memory independent of their number.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu/by_function.h"
#include "analyze/findings/rules.h"
#include "util/error.h"

#define CONTEXT 0.9 /* required share of the evidence */
#define Z_95 1.96
#define BIT(i) (UINT64_C(1) << (i))
enum { BINS = 1 << 14, FINDINGS_MAX = 64, CELLS_MAX = 1 << 24 };

/* One bin of time. `part`: sum of the fractions of the bin covered by intervals that start or end in it; `begins`:
 * number of intervals that cover the whole bin, minus that number for the previous bin. */
struct bin {
	double part, begins;
};

struct bounding {
	struct sonde_session *session;
	const struct sonde_facts *facts;
	struct sonde_found *found;
	size_t count; /* number of findings bounded, from the first */
	uint32_t nodes, threads;
	size_t functions;
	uint64_t from_ns, to_ns;
	double sampled_ns, samples;
	uint8_t *own;                /* by function: belongs to the program */
	double *all_ns;              /* by node: time of samples and waits at it */
	double *part_ns;             /* by finding and node: the part of all_ns that is evidence */
	double *evidence_ns;         /* by finding */
	double *total_ns, *holds_ns; /* by function: inclusive time; inclusive part that is evidence */
	size_t *stamp;               /* by function: the last walk that counted it */
	size_t stamps;
	uint64_t *marks; /* by node, one bit per finding: its place (later its context) is on this stack */
	uint64_t *last_ns, *last_mask;      /* by thread: time and marks of its last sample */
	struct bin *bins;                   /* by finding, BINS + 1 each */
	uint64_t looked_for;                /* one bit per finding whose place is identified by stacks */
	uint64_t of_kind[64];               /* by kind of wait: findings whose place is that kind; [0] = none */
	uint32_t context[FINDINGS_MAX];     /* function; 0 = unknown */
	double in_context_ns[FINDINGS_MAX]; /* evidence within the context */
};

static int is_looked_for(const struct sonde_finding *finding)
{
	return finding->saves_ns > 0 && !(finding->place.ns > 0) &&
	       (finding->place.function || finding->place.functions || finding->place.waits);
}

static void bounding_fini(struct bounding *all)
{
	void *blocks[] = {all->own,   all->all_ns, all->part_ns, all->evidence_ns, all->total_ns, all->holds_ns,
			  all->stamp, all->marks,  all->last_ns, all->last_mask,   all->bins};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		free(blocks[i]);
}

static int bounding_init(struct bounding *all)
{
	size_t nodes = (size_t)all->nodes + 1, threads = (size_t)all->threads + 1;
	all->own = calloc(all->functions + 1, 1);
	all->all_ns = calloc(nodes, sizeof *all->all_ns);
	all->part_ns = calloc(nodes * (all->count + 1), sizeof *all->part_ns);
	all->evidence_ns = calloc(all->count + 1, sizeof *all->evidence_ns);
	all->total_ns = calloc(all->functions + 1, sizeof *all->total_ns);
	all->holds_ns = calloc(all->functions + 1, sizeof *all->holds_ns);
	all->stamp = calloc(all->functions + 1, sizeof *all->stamp);
	all->marks = calloc(nodes, sizeof *all->marks);
	all->last_ns = calloc(threads, sizeof *all->last_ns);
	all->last_mask = calloc(threads, sizeof *all->last_mask);
	all->bins = calloc(all->count * (BINS + 1), sizeof *all->bins);
	return all->own && all->all_ns && all->part_ns && all->evidence_ns && all->total_ns && all->holds_ns &&
		       all->stamp && all->marks && all->last_ns && all->last_mask && all->bins
		   ? 0
		   : sonde_error(ENOMEM, "out of memory for the bounds of %zu findings", all->count);
}

/* --- stacks ------------------------------------------------------------------------------------------------------- */

/* Finds the modules that have a main(); a recording of several programs has several. */
static int find_own(struct bounding *all)
{
	size_t modules = sonde_session_module_count(all->session);
	uint8_t *has_main = calloc(modules + 1, 1);
	if (!has_main)
		return sonde_error(ENOMEM, "out of memory for %zu modules", modules);
	for (int is_second = 0; is_second < 2; is_second++)
		for (uint32_t id = 1; id <= all->functions; id++) {
			const struct sonde_function *function = sonde_session_function(all->session, id);
			if (!function || function->module > modules)
				continue;
			has_main[function->module] |= !strcmp(function->name, "main");
			all->own[id] = has_main[function->module];
		}
	free(has_main);
	return 0;
}

/* True if a text names a function. Sections also write locations into names: "load (data.c:12)". */
static int is_named(const char *text, const char *name)
{
	size_t length = strlen(name);
	return text && !strncmp(text, name, length) && (!text[length] || !strncmp(text + length, " (", 2));
}

static int has_name(const struct sonde_finding_place *place, const char *name)
{
	if (is_named(place->function, name) || is_named(place->also, name))
		return 1;
	for (size_t i = 0; place->functions && place->functions[i]; i++)
		if (!strcmp(place->functions[i], name))
			return 1;
	return 0;
}

/* Computes the marks of each node from the findings that each function marks, as their subject or their context. A
 * node's parent has a lower id. */
static int mark(struct bounding *all)
{
	uint64_t *of = calloc(all->functions + 1, sizeof *of);
	if (!of)
		return sonde_error(ENOMEM, "out of memory for %zu functions", all->functions);
	for (uint32_t id = 1; id <= all->functions; id++) {
		const struct sonde_function *function = sonde_session_function(all->session, id);
		for (size_t i = 0; function && i < all->count; i++)
			if (all->looked_for & BIT(i) &&
			    (all->context[i] ? all->context[i] == id
					     : has_name(&all->found->rows[i].place, function->name)))
				of[id] |= BIT(i);
	}
	for (uint32_t id = 1; id <= all->nodes; id++) {
		const struct sonde_node *node = sonde_session_node(all->session, id);
		const struct sonde_frame *frame = sonde_session_frame(all->session, node->frame);
		all->marks[id] = node->parent < id ? all->marks[node->parent] : 0;
		for (uint32_t i = 0; frame && i < frame->location_count; i++)
			if (frame->locations[i].function <= all->functions)
				all->marks[id] |= of[frame->locations[i].function];
	}
	free(of);
	return 0;
}

/* Adds ns to each of the program's functions on a stack, once per function. */
static void add_up(struct bounding *all, uint32_t node, double ns, double *sums)
{
	all->stamps++;
	for (uint32_t id = node; id && ns > 0;) {
		const struct sonde_node *at = sonde_session_node(all->session, id);
		const struct sonde_frame *frame = sonde_session_frame(all->session, at->frame);
		for (uint32_t i = 0; frame && i < frame->location_count; i++) {
			uint32_t function = frame->locations[i].function;
			if (function > all->functions || !all->own[function] || all->stamp[function] == all->stamps)
				continue;
			all->stamp[function] = all->stamps;
			sums[function] += ns;
		}
		id = at->parent < id ? at->parent : 0;
	}
}

static void find_contexts(struct bounding *all)
{
	size_t nodes = (size_t)all->nodes + 1;
	for (uint32_t id = 1; id <= all->nodes; id++)
		add_up(all, id, all->all_ns[id], all->total_ns);
	for (size_t i = 0; i < all->count; i++) {
		memset(all->holds_ns, 0, (all->functions + 1) * sizeof *all->holds_ns);
		for (uint32_t id = 1; id <= all->nodes; id++)
			add_up(all, id, all->part_ns[i * nodes + id], all->holds_ns);
		for (uint32_t id = 1; id <= all->functions; id++)
			if (all->holds_ns[id] > 0 && all->holds_ns[id] >= CONTEXT * all->evidence_ns[i] &&
			    (!all->context[i] || all->total_ns[id] < all->total_ns[all->context[i]]))
				all->context[i] = id;
		all->in_context_ns[i] = all->holds_ns[all->context[i]];
	}
}

/* --- evidence ----------------------------------------------------------------------------------------------------- */

static void evidence_add(struct bounding *all, uint32_t node, unsigned kind, double ns)
{
	uint32_t at = node <= all->nodes ? node : 0;
	uint64_t mask = all->marks[at] | (kind < 64 ? all->of_kind[kind] : 0);
	all->all_ns[at] += ns;
	for (; mask; mask &= mask - 1) {
		size_t i = (size_t)__builtin_ctzll(mask);
		all->part_ns[i * ((size_t)all->nodes + 1) + at] += ns;
		all->evidence_ns[i] += ns;
	}
}

static void take_evidence(struct bounding *all, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->type == SONDE_CHUNK_WAITS && batch->waits.kind[i] != SONDE_WAIT_HELD)
			evidence_add(all, batch->waits.stack[i], batch->waits.kind[i], (double)batch->waits.dur_ns[i]);
		if (batch->type != SONDE_CHUNK_SAMPLES || !sonde_sample_counts(batch->samples.status[i]))
			continue;
		evidence_add(all, batch->samples.stack[i], 0, (double)batch->samples.weight_ns[i]);
		all->sampled_ns += (double)batch->samples.weight_ns[i];
		all->samples++;
	}
}

/* --- time within the context -------------------------------------------------------------------------------------- */

static void add_time(struct bounding *all, uint64_t mask, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = from_ns > all->from_ns ? from_ns : all->from_ns;
	to_ns = to_ns < all->to_ns ? to_ns : all->to_ns;
	mask &= all->looked_for;
	if (!mask || to_ns <= from_ns)
		return;
	double width = (double)(all->to_ns - all->from_ns) / BINS;
	double from = (double)(from_ns - all->from_ns) / width, to = fmin((double)(to_ns - all->from_ns) / width, BINS);
	size_t first = (size_t)from, last = (size_t)to; /* at most BINS */
	for (; mask; mask &= mask - 1) {
		struct bin *bins = all->bins + (size_t)__builtin_ctzll(mask) * (BINS + 1);
		bins[first].part += first == last ? to - from : (double)first + 1 - from;
		if (first == last)
			continue;
		bins[last].part += to - (double)last;
		bins[first + 1].begins++;
		bins[last].begins--;
	}
}

/* The findings that a stack may be within: all of them if the stack is incomplete, since its callers are unknown. */
static uint64_t mask_of(const struct bounding *all, uint32_t node, uint8_t status)
{
	unsigned reason = sonde_sample_status(status);
	int is_whole = node && node <= all->nodes && sonde_stack_is_complete(reason);
	return is_whole ? all->marks[node] : UINT64_MAX;
}

static void sample_add(struct bounding *all, const struct sonde_batch *batch, size_t i)
{
	uint32_t id = batch->samples.thread[i];
	if (!id || id > all->threads || !sonde_sample_counts(batch->samples.status[i]))
		return;
	const struct sonde_thread *thread = sonde_session_thread(all->session, id);
	uint64_t at_ns = batch->samples.time_ns[i],
		 mask = mask_of(all, batch->samples.stack[i], batch->samples.status[i]);
	uint64_t last_ns = all->last_ns[id] ? all->last_ns[id] : thread->start_ns;
	uint64_t used_ns =
	    batch->samples.weight_ns[i] < at_ns ? at_ns - batch->samples.weight_ns[i] : 0; /* start of the CPU time */
	if (last_ns > at_ns)
		last_ns = used_ns;
	add_time(all, mask, last_ns, at_ns);
	add_time(all, all->last_mask[id] & ~mask, last_ns, used_ns);
	all->last_ns[id] = at_ns;
	all->last_mask[id] = mask;
}

static void take_time(struct bounding *all, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->type == SONDE_CHUNK_SAMPLES)
			sample_add(all, batch, i);
		else if (batch->waits.kind[i] != SONDE_WAIT_HELD)
			add_time(all,
				 batch->waits.stack[i] && batch->waits.stack[i] <= all->nodes
				     ? all->marks[batch->waits.stack[i]]
				     : 0,
				 batch->waits.start_ns[i], batch->waits.start_ns[i] + batch->waits.dur_ns[i]);
	}
}

static void add_ends(struct bounding *all)
{
	for (uint32_t id = 1; id <= all->threads; id++) {
		const struct sonde_thread *thread = sonde_session_thread(all->session, id);
		if (all->last_ns[id])
			add_time(all, all->last_mask[id], all->last_ns[id],
				 thread->end_ns ? thread->end_ns : all->to_ns);
	}
}

/* The time within a finding's context: the upper end of the confidence interval of a binomial share, assuming as many
 * samples as would fill the time. */
static double within_ns(const struct bounding *all, size_t finding)
{
	const struct bin *bins = all->bins + finding * (BINS + 1);
	double sum = 0, open = 0, whole_ns = (double)(all->to_ns - all->from_ns);
	for (size_t i = 0; i < BINS; i++) {
		open += bins[i].begins;
		sum += fmin(open + bins[i].part, 1);
	}
	double share = sum / BINS, period_ns = all->samples > 0 ? all->sampled_ns / all->samples : 0;
	return share * whole_ns + Z_95 * sqrt(fmax(share * (1 - share), 0) * whole_ns * period_ns);
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

static int each(struct bounding *all, void (*take)(struct bounding *all, const struct sonde_batch *batch))
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, all->session, 1u << SONDE_CHUNK_SAMPLES | 1u << SONDE_CHUNK_WAITS);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0 && rc != -ENOMEM)
		if (rc > 0)
			take(all, batch);
	sonde_cursor_close(cursor);
	return rc;
}

/* Reads evidence and time within the contexts. Unreadable chunks are skipped; the report notes this. */
static int look(struct bounding *all)
{
	int rc = bounding_init(all);
	if (!rc) {
		rc = find_own(all);
		rc = rc ? rc : mark(all);
	}
	rc = rc ? rc : each(all, take_evidence);
	if (!rc) {
		find_contexts(all);
		rc = mark(all);
	}
	rc = rc ? rc : each(all, take_time);
	if (!rc)
		add_ends(all);
	return rc;
}

static int settle(const struct bounding *all, size_t i)
{
	struct sonde_finding *finding = &all->found->rows[i];
	double span_ns = all->facts->span_ns, most_ns = finding->place.ns > 0 ? finding->place.ns : span_ns;
	if (i < all->count && all->context[i]) {
		const char *name = sonde_function_name(all->session, all->context[i]);
		finding->within = sonde_report_text(all->found->report, "%s", name);
		/* The little evidence outside the context could be saved as well. */
		double beside_ns = all->evidence_ns[i] - all->in_context_ns[i];
		most_ns = within_ns(all, i) + fmax(beside_ns, 0);
		if (!finding->within)
			return sonde_error(ENOMEM, "out of memory for findings");
	}
	finding->at_most_ns = fmin(fmax(most_ns, finding->saves_ns), span_ns);
	return 0;
}

int sonde_finding_bounds(const struct sonde_facts *facts, struct sonde_found *found)
{
	const struct sonde_run *run = sonde_session_run(facts->session);
	const struct sonde_pass_options *options = facts->options;
	struct bounding all = {.session = facts->session,
			       .facts = facts,
			       .found = found,
			       .nodes = (uint32_t)sonde_session_node_count(facts->session),
			       .threads = (uint32_t)sonde_session_thread_count(facts->session),
			       .functions = sonde_session_function_count(facts->session),
			       .from_ns = options->selection.from_ns ? options->selection.from_ns : run->start_ns,
			       .to_ns = options->selection.to_ns ? options->selection.to_ns : run->end_ns};
	size_t capacity = CELLS_MAX / ((size_t)all.nodes + 1);
	capacity = capacity < FINDINGS_MAX ? capacity : FINDINGS_MAX;
	int rc = 0;
	all.count = found->count < capacity ? found->count : capacity;
	for (size_t i = 0; i < all.count; i++) {
		const struct sonde_finding *finding = &found->rows[i];
		all.looked_for |= is_looked_for(finding) ? BIT(i) : 0;
		for (unsigned kind = 1; kind < 64 && is_looked_for(finding); kind++)
			all.of_kind[kind] |= finding->place.waits & BIT(kind) ? BIT(i) : 0;
	}
	if (all.looked_for && all.to_ns > all.from_ns)
		rc = look(&all);
	for (size_t i = 0; !rc && i < found->count; i++)
		rc = settle(&all, i);
	bounding_fini(&all);
	return rc;
}
