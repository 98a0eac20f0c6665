/* weigh.h: what stacks are weighed by: CPU time, or what they allocated, held at a moment, or left.
 *
 * CPU time comes from samples, which cursors give; all else is the heap's and comes from here, a row a place that
 * allocates. One kind of blocks is weighed at a time: malloc's, unless another heap is asked for. Each process is taken
 * at its own peak, so the peak of several is the sum of their peaks, which no moment need have had.
 */
#ifndef SONDE_SESSION_WEIGH_H
#define SONDE_SESSION_WEIGH_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

#define SONDE_WEIGH_MALLOC "malloc"
#define SONDE_WEIGH_MAPPINGS "mappings"

enum sonde_weigh_by {
	SONDE_WEIGH_CPU = 0,
	SONDE_WEIGH_ALLOCATED,
	SONDE_WEIGH_ALLOCATIONS,
	SONDE_WEIGH_PEAK,
	SONDE_WEIGH_LIVE,
	SONDE_WEIGH_LEFT,
	SONDE_WEIGH_UNREACHABLE,
	SONDE_WEIGH_TEMPORARY,
	SONDE_WEIGH_COUNT
};

/* Zeroed: CPU time. */
struct sonde_weigh {
	enum sonde_weigh_by by;
	const char *heap; /* whose blocks: NULL = malloc's, SONDE_WEIGH_MAPPINGS, or a pool's name */
	uint64_t at_ns;   /* LIVE: when */
};

struct sonde_weigh_row {
	const char *name;  /* "peak" */
	const char *title; /* "memory alive at the peak" */
	int in_blocks;     /* not in bytes */
	int in_range;      /* a part of the recording's time can be asked for */
};

extern const struct sonde_weigh_row sonde_weigh_rows[SONDE_WEIGH_COUNT];

/* What a recording is about when nobody says: CPU time; without a sample of it, but with malloc's blocks, their peak.
 */
enum sonde_weigh_by sonde_weigh_default(const struct sonde_session *session);

/* Whether a heap is the one that `weigh` asks for. */
int sonde_weigh_is_of(const struct sonde_weigh *weigh, const struct sonde_heap *heap);

/* What a recording has blocks of: "malloc", "mappings", names of pools; each once. How many. */
size_t sonde_weigh_heaps(const struct sonde_session *session, const char **names, size_t max);

/* "memory alive at the peak (pool buffers)" */
void sonde_weigh_say(const struct sonde_weigh *weigh, const struct sonde_session *session, char *out, size_t out_b);

struct sonde_heap_view {
	struct sonde_weigh weigh;
	struct sonde_heap_range range;
};

struct sonde_heap_weight {
	uint32_t stack; /* leaf node, 0 = none */
	uint32_t thread;
	uint32_t status;         /* enum sonde_stack_status */
	uint64_t blocks, size_b; /* TEMPORARY: blocks alone */
};

struct sonde_heap_weights {
	struct sonde_heap_weight *rows; /* without empty ones */
	size_t count;
	uint64_t blocks, size_b; /* of all */
	double variance;         /* of size_b, in B²; 0 = exact, or not known where mean_b is not 0 */
	uint64_t mean_b;         /* bytes between samples, the most of all heaps; 0 = every block was recorded */
	size_t heaps;            /* that had a block */
	uint64_t peak_ns;        /* PEAK: of the heap with the highest */
	uint64_t unseen_b;       /* UNREACHABLE: left where nobody could look */
	const char *unseen_why;  /* of the first of these; "" = not said */
};

/* Chunks that cannot be read are left out (sonde_session_damaged_b() says how much that is). */
int sonde_heap_weights_take(struct sonde_heap_weights *out, struct sonde_session *session,
			    const struct sonde_heap_view *view);
void sonde_heap_weights_fini(struct sonde_heap_weights *weights);

static inline uint64_t sonde_weigh_value(enum sonde_weigh_by by, uint64_t blocks, uint64_t size_b)
{
	return sonde_weigh_rows[by].in_blocks ? blocks : size_b;
}

#endif
