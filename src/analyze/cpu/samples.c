/* samples.c: folds CPU samples onto the stack trie.
 *
 * A node's parent always has a lower id than the node, so one pass downwards over ids sums the subtrees and one pass
 * upwards links the children; the walk then needs no recursion, however deep a stack is. A node of a recording that
 * violates this is treated as a root.
 */
#include "analyze/cpu/samples.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/marks.h"

#include "analyze/statistics/stats.h"
#include "analyze/words.h"
#include "util/error.h"

#define SAMPLES_FEW 10 /* if at least this many samples were expected, taking none is not chance */

enum { AHEAD = 16 }; /* distance for prefetching nodes */

static const char *const status_texts[SONDE_STACK_STATUS_COUNT] = {
    [SONDE_STACK_COMPLETE] = "complete",
    [SONDE_STACK_NO_TABLE] = "code without call-frame information",
    [SONDE_STACK_TRUNCATED] = "stack copy too short (record --stack 63K copies more)",
    [SONDE_STACK_BAD_FRAME] = "impossible frame address",
    [SONDE_STACK_UNMAPPED] = "return address outside all mappings",
    [SONDE_STACK_EXPRESSION] = "unsupported unwind rule",
    [SONDE_STACK_DEEP] = "deeper than the limit",
    [SONDE_STACK_NO_USER] = "no user registers",
    [SONDE_STACK_FRAME_POINTER] = "complete, by frame pointers",
    [SONDE_STACK_DERIVED] = "complete, by rules derived from instructions",
    [SONDE_STACK_NOT_SAMPLED] = "not sampled",
    [SONDE_STACK_BORROWED] = "taken from another thread of the same program",
    [SONDE_STACK_MEASURED] = "measured from CPU clocks, not sampled",
    [SONDE_STACK_REGISTER] = "unwind rule needs an unknown register, or a word below the stack",
    [SONDE_STACK_FORBIDDEN] = "process not readable (PR_SET_DUMPABLE): only a recorder run by root copies its stack",
};

const char *sonde_samples_status_text(unsigned status)
{
	const char *text = status < SONDE_STACK_STATUS_COUNT ? status_texts[status] : NULL;
	return text ? text : "unknown reason";
}

int sonde_samples_init(struct sonde_samples *samples, struct sonde_session *session,
		       const struct sonde_pass_options *options)
{
	*samples = (struct sonde_samples){.session = session,
					  .node_count = sonde_session_node_count(session),
					  .period_ns = sonde_session_period_ns(session)};
	if (options)
		samples->options = *options;
	samples->self = calloc(samples->node_count + 1, sizeof *samples->self);
	return samples->self ? 0 : sonde_error(ENOMEM, "out of memory for %zu stacks", samples->node_count);
}

void sonde_samples_fini(struct sonde_samples *samples)
{
	free(samples->self);
	free(samples->kernel);
	free(samples->total);
	free(samples->child);
	free(samples->next);
	*samples = (struct sonde_samples){0};
}

int sonde_samples_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	return sonde_samples_init(state, session, options);
}

void sonde_samples_end(void *state)
{
	sonde_samples_fini(state);
}

static int kernel_need(struct sonde_samples *samples)
{
	if (!samples->kernel)
		samples->kernel = calloc(samples->node_count + 1, sizeof *samples->kernel);
	return samples->kernel ? 0 : sonde_error(ENOMEM, "out of memory for kernel samples");
}

double sonde_samples_square(uint64_t weight_ns, uint8_t status, uint64_t period_ns)
{
	int is_measured = sonde_sample_status(status) == SONDE_STACK_MEASURED;
	return (double)weight_ns * (double)(is_measured ? period_ns : weight_ns);
}

/* Counts rows that are not samples, by kind. */
static void note_kind(struct sonde_samples *samples, uint64_t weight_ns, uint8_t status)
{
	const struct sonde_weight row = {weight_ns, 1};
	unsigned reason = sonde_sample_status(status);
	int is_extra = (status & SONDE_SAMPLE_EXTRA) != 0;
	if (is_extra)
		sonde_weight_add(&samples->extra, row);
	if (is_extra || sonde_sample_counts(status))
		samples->by_status[reason < SONDE_STACK_STATUS_COUNT ? reason : SONDE_STACK_NO_TABLE]++;
	else if (reason == SONDE_STACK_MEASURED)
		sonde_weight_add(&samples->measured, row);
	else if (reason == SONDE_STACK_BORROWED)
		sonde_weight_add(&samples->borrowed, row);
}

int sonde_samples_add(struct sonde_samples *samples, uint32_t stack, uint64_t weight_ns, uint8_t status)
{
	const struct sonde_weight weight = {weight_ns, (uint64_t)sonde_sample_counts(status)};
	if (stack > samples->node_count)
		stack = 0;
	if (status & SONDE_SAMPLE_KERNEL) {
		int rc = kernel_need(samples);
		if (rc < 0)
			return rc;
		sonde_weight_add(&samples->kernel[stack], weight);
	} else {
		sonde_weight_add(&samples->self[stack], weight);
	}
	sonde_weight_add(&samples->all, weight);
	if (stack || status & SONDE_SAMPLE_KERNEL)
		samples->square += sonde_samples_square(weight_ns, status, samples->period_ns);
	note_kind(samples, weight_ns, status);
	return 0;
}

int sonde_samples_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_samples *samples = state;
	if (batch->type != SONDE_CHUNK_SAMPLES)
		return 0;
	for (size_t i = 0; i < batch->count; i++) {
		/* Nodes are scattered over memory: without prefetching, cache misses dominate a pass over many
		 * stacks. */
		if (i + AHEAD < batch->count && batch->samples.stack[i + AHEAD] <= samples->node_count)
			__builtin_prefetch(&samples->self[batch->samples.stack[i + AHEAD]], 1);
		if (!sonde_pass_takes(&samples->options, batch->samples.time_ns[i], batch->samples.thread[i]))
			continue;
		int rc = sonde_samples_add(samples, batch->samples.stack[i], batch->samples.weight_ns[i],
					   batch->samples.status[i]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int sonde_samples_merge(void *state, void *other_state)
{
	struct sonde_samples *samples = state, *other = other_state;
	size_t count = samples->node_count < other->node_count ? samples->node_count : other->node_count;
	int rc = other->kernel ? kernel_need(samples) : 0;
	if (rc < 0)
		return rc;
	for (size_t i = 0; i <= count; i++) { /* few allocation stacks have samples: do not touch the others */
		if (sonde_weight_is_any(other->self[i]))
			sonde_weight_add(&samples->self[i], other->self[i]);
		if (other->kernel && sonde_weight_is_any(other->kernel[i]))
			sonde_weight_add(&samples->kernel[i], other->kernel[i]);
	}
	sonde_weight_add(&samples->all, other->all);
	samples->square += other->square;
	sonde_weight_add(&samples->extra, other->extra);
	sonde_weight_add(&samples->borrowed, other->borrowed);
	sonde_weight_add(&samples->measured, other->measured);
	for (unsigned i = 0; i < SONDE_STACK_STATUS_COUNT; i++)
		samples->by_status[i] += other->by_status[i];
	return 0;
}

/* Kernel samples whose stack ends in kernel code need no separate [kernel]. */
static void kernel_settle(struct sonde_samples *samples, uint32_t id, const struct sonde_frame *frame)
{
	const struct sonde_module *module = frame ? sonde_session_module(samples->session, frame->module) : NULL;
	if (!samples->kernel || !sonde_weight_is_any(samples->kernel[id]) || !module ||
	    !(module->flags & SONDE_MODULE_KERNEL))
		return;
	sonde_weight_add(&samples->self[id], samples->kernel[id]);
	samples->kernel[id] = (struct sonde_weight){0};
}

static uint32_t parent_of(const struct sonde_node *node, uint32_t id)
{
	return node && node->parent < id ? node->parent : 0;
}

int sonde_samples_fold(struct sonde_samples *samples)
{
	size_t rows = samples->node_count + 1;
	samples->total = calloc(rows, sizeof *samples->total);
	samples->child = calloc(rows, sizeof *samples->child);
	samples->next = calloc(rows, sizeof *samples->next);
	if (!samples->total || !samples->child || !samples->next)
		return sonde_error(ENOMEM, "out of memory for %zu stacks", samples->node_count);
	for (uint32_t id = (uint32_t)samples->node_count; id > 0; id--) {
		sonde_weight_add(&samples->total[id], samples->self[id]);
		if (samples->kernel)
			sonde_weight_add(&samples->total[id], samples->kernel[id]);
		if (!sonde_weight_is_any(samples->total[id]))
			continue;
		const struct sonde_node *node = sonde_session_node(samples->session, id);
		uint32_t parent = parent_of(node, id);
		sonde_weight_add(&samples->total[parent], samples->total[id]);
		samples->next[id] = samples->child[parent];
		samples->child[parent] = id;
		kernel_settle(samples, id, node ? sonde_session_frame(samples->session, node->frame) : NULL);
	}
	return 0;
}

static struct sonde_visit visit_of(const struct sonde_samples *samples, uint32_t id)
{
	const struct sonde_node *node = sonde_session_node(samples->session, id);
	struct sonde_visit visit = {.node = id, .self = samples->self[id], .total = samples->total[id]};
	if (samples->kernel)
		visit.kernel = samples->kernel[id];
	visit.frame = node ? sonde_session_frame(samples->session, node->frame) : NULL;
	return visit;
}

int sonde_samples_walk(const struct sonde_samples *samples, void (*visit)(void *state, const struct sonde_visit *visit),
		       void *state)
{
	uint32_t *path = malloc((samples->node_count + 1) * sizeof *path);
	size_t depth = 0;
	if (!path)
		return sonde_error(ENOMEM, "out of memory for a walk over %zu stacks", samples->node_count);
	uint32_t id = samples->child[0];
	while (id || depth) {
		if (id) {
			struct sonde_visit down = visit_of(samples, id);
			visit(state, &down);
			path[depth++] = id;
			id = samples->child[id];
			continue;
		}
		struct sonde_visit up = visit_of(samples, path[--depth]);
		up.leaving = 1;
		visit(state, &up);
		id = samples->next[up.node];
	}
	free(path);
	return 0;
}

static double effective_n(const struct sonde_samples *samples)
{
	return sonde_stats_effective_n((double)(samples->all.ns - samples->self[0].ns), samples->square);
}

struct sonde_cell sonde_samples_share(const struct sonde_samples *samples, uint64_t part_ns)
{
	double share = fmin(sonde_stats_share((double)part_ns, (double)samples->all.ns), 1);
	return sonde_cell_real(share, sonde_stats_share_half(share, effective_n(samples)));
}

uint64_t sonde_samples_broken(const struct sonde_samples *samples)
{
	uint64_t broken = sonde_samples_stacks(samples);
	for (unsigned i = 0; i < SONDE_STACK_STATUS_COUNT; i++)
		broken -= sonde_stack_is_complete(i) ? samples->by_status[i] : 0;
	return broken;
}

/* CPU time without a single sample: there is no basis for shares. */
static void note_unsampled(const struct sonde_samples *samples, struct sonde_report *report,
			   struct sonde_section *section)
{
	const char *rate = sonde_session_info(samples->session, "option.rate_hz");
	double hz = rate ? strtod(rate, NULL) : 0, cpu_s = (double)samples->all.ns / 1e9;
	if (hz > 0 && hz * cpu_s < SAMPLES_FEW) {
		sonde_report_note(
		    report, section, 1,
		    "no shares: at %g samples per second of CPU time none was taken in %.3f s; raise the rate with -F",
		    hz, cpu_s);
		return;
	}
	sonde_report_note(report, section, 1, "no shares: none of the samples in %.3f s of CPU time has a stack",
			  cpu_s);
}

void sonde_samples_note_shares(const struct sonde_samples *samples, struct sonde_report *report,
			       struct sonde_section *section)
{
	char whole[192];
	if (!samples->all.count && !samples->measured.ns) {
		note_unsampled(samples, report, section);
		return;
	}
	sonde_samples_say_whole(samples->all, samples->measured.ns, whole, sizeof whole);
	sonde_report_note(report, section, 0, "%s; ± is the 95 %% interval (effective sample size %.0f)", whole,
			  effective_n(samples));
}

void sonde_samples_say_whole(struct sonde_weight all, uint64_t measured_ns, char *out, size_t out_b)
{
	int used = snprintf(out, out_b, "100 %% = %.3f s of %sCPU time (%llu sample%s", (double)all.ns / 1e9,
			    measured_ns ? "" : "sampled ", (unsigned long long)all.count, sonde_plural(all.count));
	if (measured_ns)
		snprintf(out + used, out_b - (size_t)used, ", and %.3f s in the kernel from CPU clocks)",
			 (double)measured_ns / 1e9);
	else
		snprintf(out + used, out_b - (size_t)used, ")");
}

void sonde_samples_note_missing(const struct sonde_samples *samples, struct sonde_report *report,
				struct sonde_section *section)
{
	uint64_t missing_ns = samples->self[0].ns;
	if (!missing_ns ||
	    (!samples->all.count && !samples->measured.ns)) /* sonde_samples_note_shares() explains the cause */
		return;
	sonde_report_note(report, section, 1,
			  "unsampled: %.3f s (%.1f %% of the 100 %%), counted in no "
			  "function",
			  (double)missing_ns / 1e9,
			  100 * sonde_stats_share((double)missing_ns, (double)samples->all.ns));
}

const struct sonde_source_row *sonde_samples_source(const struct sonde_session *session)
{
	const struct sonde_source_row *row = sonde_session_source_named(session, "cpu");
	return row && (row->state == SONDE_SOURCE_ON || row->state == SONDE_SOURCE_LIMITED) ? row : NULL;
}

const char *sonde_samples_why_none(const struct sonde_session *session, const struct sonde_pass_options *options)
{
	if (!sonde_samples_source(session) &&
	    (sonde_session_source_named(session, "cpu") || sonde_session_run(session)->closed))
		return "CPU time was not sampled"; /* the source writes its status when it stops */
	return sonde_pass_selects(options) ? "no CPU samples in this selection" : "no CPU samples in this recording";
}

int sonde_samples_none(const struct sonde_samples *samples, struct sonde_report *report, const char *id,
		       const char *title)
{
	if (!samples->options.requested)
		return 0;
	const char *missing = sonde_pass_missing(samples->session, SONDE_NEEDS(CPU), report);
	struct sonde_section *section = sonde_report_table(report, id, title, NULL, 0);
	const struct sonde_run *run = sonde_session_run(samples->session);
	if (!run->closed && !run->growing && !sonde_pass_selects(&samples->options)) {
		sonde_report_note(
		    report, section, 1,
		    "no CPU samples: the recording ends before the first readable one (%llu of %llu bytes are damaged)",
		    (unsigned long long)sonde_session_damaged_b(samples->session), (unsigned long long)run->file_b);
		return 0;
	}
	if (missing)
		return sonde_pass_note_missing(missing, SONDE_NEEDS(CPU), report, section);
	sonde_report_note(
	    report, section, 1,
	    "no CPU samples in %s: too little CPU time, or sampling was off (short runs: record -F 10000)",
	    sonde_pass_selects(&samples->options) ? "this selection" : "this recording");
	return 0;
}
