/* weigh.h: what stacks are weighed by: CPU time; what they allocated, held at a moment, or left; or how long they
 * waited.
 *
 * CPU time comes from samples, which cursors give; all else comes from here, a row a stack and thread.
 *
 * Of the heap one kind of blocks is weighed at a time: malloc's, unless another heap is asked for. Each process is
 * taken at its own peak, so the peak of several is the sum of their peaks, which no moment need have had.
 *
 * Waiting is the time of calls that may wait, of all threads together: what a lock was held while others waited is
 * none. A call that lies partly in the time that is asked for counts where it began, with the time that lies in it.
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
	SONDE_WEIGH_WAITING,
	SONDE_WEIGH_LOCKS,
	SONDE_WEIGH_IO,
	SONDE_WEIGH_COUNT
};

/* Where weights come from, and so what is counted beside them. */
enum sonde_weigh_of {
	SONDE_WEIGH_OF_SAMPLES = 0, /* samples */
	SONDE_WEIGH_OF_HEAP,        /* blocks */
	SONDE_WEIGH_OF_WAITS,       /* calls */
};

enum sonde_weigh_unit { SONDE_WEIGH_NS = 0, SONDE_WEIGH_BYTES, SONDE_WEIGH_BLOCKS };

/* Zeroed: CPU time. */
struct sonde_weigh {
	enum sonde_weigh_by by;
	const char *heap; /* whose blocks: NULL = SONDE_WEIGH_MALLOC, SONDE_WEIGH_MAPPINGS, or a pool's name */
	uint64_t at_ns;   /* LIVE: when */
};

struct sonde_weigh_row {
	const char *name;  /* "peak" */
	const char *title; /* "memory live at the peak" */
	enum sonde_weigh_of of;
	enum sonde_weigh_unit unit;
	int in_range;    /* a part of the recording's time can be asked for */
	uint32_t groups; /* OF_WAITS: 1 << enum sonde_wait_group */
};

extern const struct sonde_weigh_row sonde_weigh_rows[SONDE_WEIGH_COUNT];

/* The row of this name, or of its old spelling; SONDE_WEIGH_COUNT = none. */
enum sonde_weigh_by sonde_weigh_named(const char *name);

static inline enum sonde_weigh_of sonde_weigh_of(const struct sonde_weigh *weigh)
{
	return sonde_weigh_rows[weigh->by].of;
}

/* What a recording is about when nobody says: CPU time; without a sample of it waiting; without a wait the peak of
 * malloc's blocks. */
enum sonde_weigh_by sonde_weigh_default(const struct sonde_session *session);

/* Whether there is a chunk of this type with anything in it. */
int sonde_weigh_has(const struct sonde_session *session, enum sonde_chunk_type type);

/* Whether malloc's blocks are weighed, asked for or not. */
int sonde_weigh_is_malloc(const struct sonde_weigh *weigh);

/* Whether a heap is the one that `weigh` asks for. */
int sonde_weigh_is_of(const struct sonde_weigh *weigh, const struct sonde_heap *heap);

/* What a recording has blocks of: "malloc", "mappings", names of pools; each once. How many. */
size_t sonde_weigh_heaps(const struct sonde_session *session, const char **names, size_t max);

/* "memory alive at the peak (pool buffers)" */
void sonde_weigh_say(const struct sonde_weigh *weigh, const struct sonde_session *session, char *out, size_t out_b);

struct sonde_weigh_view {
	struct sonde_weigh weigh;
	struct sonde_selection range;
};

struct sonde_weights_row {
	uint32_t stack; /* leaf node, 0 = none */
	uint32_t thread;
	uint32_t status; /* enum sonde_stack_status */
	uint32_t kind;   /* of calls: enum sonde_wait_kind; else 0 */
	uint64_t count;  /* blocks, or calls */
	uint64_t weight; /* in the weight's unit */
};

struct sonde_weights {
	struct sonde_weights_row *rows; /* without empty ones */
	size_t row_count;
	uint64_t count, weight; /* of all */
	uint64_t sampled;       /* OF_WAITS: of the weight, what looks from outside stand for: an estimate */
	/* Of the heap */
	double variance;        /* of the weight in bytes, in B²; 0 = exact, or not known where mean_b is not 0 */
	uint64_t mean_b;        /* bytes between samples, the most of all heaps; 0 = every block was recorded */
	size_t heaps;           /* that had a block */
	uint64_t peak_ns;       /* PEAK: of the heap with the highest */
	uint64_t unseen_b;      /* UNREACHABLE: left where nobody could look */
	const char *unseen_why; /* of the first of these; "" = not said */
};

/* All but CPU time. Chunks that cannot be read are left out (sonde_session_damaged_b() says how much that is). */
int sonde_weights_take(struct sonde_weights *out, struct sonde_session *session, const struct sonde_weigh_view *view);
void sonde_weights_fini(struct sonde_weights *weights);

/* What stands below the stack of a call that waits: "[mutex]". Static. */
const char *sonde_weigh_leaf(uint32_t kind);

/* The part of the recording in which waiting counts: what there is of the range that is wanted. */
struct sonde_selection sonde_weigh_range(const struct sonde_session *session, const struct sonde_selection *wanted);

/* How much of a sampled wait lies in `range`, a part of the recording `all`. What looks stand for may be more time than
 * there was (of several threads): what sticks out of the recording belongs to the part that does not. */
static inline uint64_t sonde_weigh_sampled(const struct sonde_selection *all, const struct sonde_selection *range,
					   uint64_t start_ns, uint64_t dur_ns)
{
	uint64_t from_ns = start_ns > all->from_ns ? start_ns : all->from_ns, end_ns = start_ns + dur_ns;
	uint64_t to_ns = end_ns < all->to_ns ? end_ns : all->to_ns;
	uint64_t part_from_ns = from_ns > range->from_ns ? from_ns : range->from_ns;
	uint64_t part_to_ns = to_ns < range->to_ns ? to_ns : range->to_ns;
	if (to_ns <= from_ns || part_to_ns <= part_from_ns)
		return 0;
	/* As an integer: a quotient of doubles may come out below the whole that it is, and would lose a ns a wait. */
	return (uint64_t)((unsigned __int128)dur_ns * (part_to_ns - part_from_ns) / (to_ns - from_ns));
}

/* Cuts a call that waits to such a range; 0 when nothing of it lies there. */
static inline int sonde_weigh_cut(const struct sonde_selection *range, uint64_t *start_ns, uint64_t *dur_ns)
{
	uint64_t from_ns = *start_ns > range->from_ns ? *start_ns : range->from_ns;
	uint64_t end_ns = *start_ns + *dur_ns, to_ns = end_ns < range->to_ns ? end_ns : range->to_ns;
	if (from_ns > to_ns || (from_ns == to_ns && *dur_ns))
		return 0;
	*start_ns = from_ns;
	*dur_ns = to_ns - from_ns;
	return 1;
}

#endif
