/* weigh.h: the metrics by which stacks are weighted: CPU time; memory allocated, live at some time, or live at exit; or
 * blocked time.
 *
 * CPU time comes from samples, which cursors deliver. All other metrics are computed here, as one row for each stack
 * and thread.
 *
 * Memory metrics cover one kind of blocks at a time: malloc's, unless another heap is requested. Each process counts at
 * its own peak, so the peak of several processes is the sum of their peaks, which need not occur at any single time.
 *
 * Waiting is the duration of blocking calls, summed over all threads; the time a lock was held while others waited is
 * not included. A call that overlaps the selected time adds its time within it, but is counted only if it starts there.
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

/* Where weights come from; determines what is counted along with them. */
enum sonde_weigh_of {
	SONDE_WEIGH_OF_SAMPLES = 0, /* samples */
	SONDE_WEIGH_OF_HEAP,        /* blocks */
	SONDE_WEIGH_OF_WAITS,       /* calls */
};

enum sonde_weigh_unit { SONDE_WEIGH_NS = 0, SONDE_WEIGH_BYTES, SONDE_WEIGH_BLOCKS };

/* Zeroed: CPU time. */
struct sonde_weigh {
	enum sonde_weigh_by by;
	const char *heap; /* NULL = SONDE_WEIGH_MALLOC, SONDE_WEIGH_MAPPINGS, or the name of a pool */
	uint64_t at_ns;   /* LIVE: the time */
};

struct sonde_weigh_row {
	const char *name;  /* "peak" */
	const char *title; /* "memory live at the peak" */
	enum sonde_weigh_of of;
	enum sonde_weigh_unit unit;
	int in_range;    /* supports a time range */
	uint32_t groups; /* OF_WAITS: 1 << enum sonde_wait_group */
};

extern const struct sonde_weigh_row sonde_weigh_rows[SONDE_WEIGH_COUNT];

/* The metric of this name or its former name; SONDE_WEIGH_COUNT = none. */
enum sonde_weigh_by sonde_weigh_named(const char *name);

static inline enum sonde_weigh_of sonde_weigh_of(const struct sonde_weigh *weigh)
{
	return sonde_weigh_rows[weigh->by].of;
}

/* The default metric of a recording: CPU time; without CPU samples, waiting; without waits, the peak of malloc's
 * blocks. */
enum sonde_weigh_by sonde_weigh_default(const struct sonde_session *session);

/* True if there is a nonempty chunk of this type. */
int sonde_weigh_has(const struct sonde_session *session, enum sonde_chunk_type type);

/* True if the metric covers malloc's blocks, explicitly or by default. */
int sonde_weigh_is_malloc(const struct sonde_weigh *weigh);

/* True if `heap` is the one that `weigh` selects. */
int sonde_weigh_is_of(const struct sonde_weigh *weigh, const struct sonde_heap *heap);

/* The heaps of a recording, without duplicates: "malloc", "mappings", names of pools. Returns their number. */
size_t sonde_weigh_heaps(const struct sonde_session *session, const char **names, size_t max);

/* Formats "memory live at the peak (pool buffers)". */
void sonde_weigh_say(const struct sonde_weigh *weigh, const struct sonde_session *session, char *out, size_t out_b);

struct sonde_weigh_view {
	struct sonde_weigh weigh;
	struct sonde_selection range;
};

struct sonde_weights_row {
	uint32_t stack; /* leaf node, 0 = none */
	uint32_t thread;
	uint32_t status; /* enum sonde_stack_status */
	uint32_t kind;   /* of calls: enum sonde_wait_kind; otherwise 0 */
	uint64_t count;  /* blocks or calls */
	uint64_t weight; /* in the unit of the metric */
};

struct sonde_weights {
	struct sonde_weights_row *rows; /* rows of weight 0 are omitted */
	size_t row_count;
	uint64_t count, weight; /* totals */
	uint64_t sampled;       /* OF_WAITS: part of the weight estimated by sampling threads from outside */
	/* Memory metrics only */
	double variance;        /* variance of the weight, in B²; 0 = exact, or unknown if mean_b is not 0 */
	uint64_t mean_b;        /* bytes between samples, maximum of all heaps; 0 = every block was recorded */
	size_t heaps;           /* number of heaps with a block */
	uint64_t peak_ns;       /* PEAK: time of the highest peak of any heap */
	uint64_t unseen_b;      /* UNREACHABLE: live at exit but not checked for reachability */
	const char *unseen_why; /* why the first part of unseen_b was not checked; "" = not recorded */
};

/* Computes any metric except CPU time. Unreadable chunks are skipped (sonde_session_damaged_b() returns their size). */
int sonde_weights_take(struct sonde_weights *out, struct sonde_session *session, const struct sonde_weigh_view *view);
void sonde_weights_fini(struct sonde_weights *weights);

/* The leaf shown below the stack of a blocking call: "[mutex]". Static string. */
const char *sonde_weigh_leaf(uint32_t kind);

/* The part of the recording in which waiting counts, intersected with the range `wanted`. */
struct sonde_selection sonde_weigh_range(const struct sonde_session *session, const struct sonde_selection *wanted);

/* How much of a sampled wait lies in `range`, a part of the recording `all`. Samples of several threads may represent
 * more time than there was; the excess outside the recording is attributed to the part inside it proportionally. */
static inline uint64_t sonde_weigh_sampled(const struct sonde_selection *all, const struct sonde_selection *range,
					   uint64_t start_ns, uint64_t dur_ns)
{
	uint64_t from_ns = start_ns > all->from_ns ? start_ns : all->from_ns, end_ns = start_ns + dur_ns;
	uint64_t to_ns = end_ns < all->to_ns ? end_ns : all->to_ns;
	uint64_t part_from_ns = from_ns > range->from_ns ? from_ns : range->from_ns;
	uint64_t part_to_ns = to_ns < range->to_ns ? to_ns : range->to_ns;
	if (to_ns <= from_ns || part_to_ns <= part_from_ns)
		return 0;
	/* In integers: the quotient of doubles may be slightly below 1 and would lose 1 ns per wait. */
	return (uint64_t)((unsigned __int128)dur_ns * (part_to_ns - part_from_ns) / (to_ns - from_ns));
}

/* Clips a blocking call to a range; 0 = no overlap. */
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
