/* samples.h: CPU samples folded onto the stack trie: the state shared by most passes over samples.
 *
 * Feeding only adds each sample's weight to its leaf node, so that a million samples take milliseconds and the states
 * of several threads merge by addition. At the end a pass gets its results from one walk over the trie, whose cost
 * depends only on the number of distinct stacks. A sample taken in the kernel whose stack has no kernel frames is kept
 * separately at its node: passes show it as [kernel] below the calling code.
 */
#ifndef SONDE_ANALYZE_CPU_SAMPLES_H
#define SONDE_ANALYZE_CPU_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"

struct sonde_weight {
	uint64_t ns;    /* CPU time; in heap call trees, bytes or blocks */
	uint64_t count; /* samples, excluding measured time and time without samples; in heap call trees, blocks */
};

static inline int sonde_weight_is_any(struct sonde_weight weight)
{
	return weight.ns || weight.count;
}

static inline void sonde_weight_add(struct sonde_weight *to, struct sonde_weight from)
{
	to->ns += from.ns;
	to->count += from.count;
}

struct sonde_samples {
	struct sonde_session *session;
	struct sonde_pass_options options;
	size_t node_count;           /* node ids are 1 … node_count; 0 collects samples without a stack */
	struct sonde_weight *self;   /* by leaf node */
	struct sonde_weight *kernel; /* the part to be shown as [kernel]; NULL = none so far */
	struct sonde_weight *total;  /* node and its subtree; valid after sonde_samples_fold() */
	uint32_t *child, *next;      /* first child and next sibling among nodes with a total; valid after fold */
	struct sonde_weight all;
	double square;                                /* Σ weight² of samples with a stack, or in the kernel */
	uint64_t by_status[SONDE_STACK_STATUS_COUNT]; /* number of samples */
	/* rows that are not samples, by status: their number, and their part of `all` */
	struct sonde_weight extra, borrowed, measured;
	uint64_t period_ns;
};

/* `begin`, `feed`, `merge` and `end` for a pass whose state is a struct sonde_samples. */
int sonde_samples_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_samples_feed(void *state, const struct sonde_batch *batch);
int sonde_samples_merge(void *state, void *other);
void sonde_samples_end(void *state);

/* For a state that embeds a struct sonde_samples. Call fini before freeing it. */
int sonde_samples_init(struct sonde_samples *samples, struct sonde_session *session,
		       const struct sonde_pass_options *options);
void sonde_samples_fini(struct sonde_samples *samples);

/* A row's contribution to Σ weight². Measured time counts as the number of samples that the sampling rate would have
 * given: it is known only as the remainder after user samples, so it has the error of these samples. */
double sonde_samples_square(uint64_t weight_ns, uint8_t status, uint64_t period_ns);

/* Formats "100 % = 2.000 s of CPU time (2000 samples)". */
void sonde_samples_say_whole(struct sonde_weight all, uint64_t measured_ns, char *out, size_t out_b);

/* Adds one sample, regardless of the options. */
int sonde_samples_add(struct sonde_samples *samples, uint32_t stack, uint64_t weight_ns, uint8_t status);

/* Sums up the trie and resolves the frames of every node with weight. Nothing may be fed afterwards. */
int sonde_samples_fold(struct sonde_samples *samples);

/* A visit to a node, on the way down (leaving = 0) and up (leaving = 1). */
struct sonde_visit {
	uint32_t node;
	int leaving;
	const struct sonde_frame *frame;
	struct sonde_weight self, kernel, total; /* self excludes kernel */
};

/* Depth-first walk over all nodes with weight, after fold. Samples without a stack (node 0) are not visited. */
int sonde_samples_walk(const struct sonde_samples *samples, void (*visit)(void *state, const struct sonde_visit *visit),
		       void *state);

/* A part of the sampled time, with its 95 % interval. */
struct sonde_cell sonde_samples_share(const struct sonde_samples *samples, uint64_t part_ns);

/* Number of stacks taken: of samples and extra rows. */
static inline uint64_t sonde_samples_stacks(const struct sonde_samples *samples)
{
	return samples->all.count + samples->extra.count;
}

/* Number of incomplete stacks. */
uint64_t sonde_samples_broken(const struct sonde_samples *samples);
const char *sonde_samples_status_text(unsigned status);

/* Adds the notes that shares of samples need: their denominator, and how the interval is computed. */
void sonde_samples_note_shares(const struct sonde_samples *samples, struct sonde_report *report,
			       struct sonde_section *section);

/* Notes the time in `all` without a stack, if any: a part of the 100 % that belongs to no function. */
void sonde_samples_note_missing(const struct sonde_samples *samples, struct sonde_report *report,
				struct sonde_section *section);

/* Why there are no samples: "the recording has no CPU samples", … Static text. */
const char *sonde_samples_why_none(const struct sonde_session *session, const struct sonde_pass_options *options);

/* The CPU source if it ran and could sample, else NULL. */
const struct sonde_source_row *sonde_samples_source(const struct sonde_session *session);

/* For a pass without samples: adds a section with the reason if the pass was requested explicitly; else nothing. */
int sonde_samples_none(const struct sonde_samples *samples, struct sonde_report *report, const char *id,
		       const char *title);

#endif
