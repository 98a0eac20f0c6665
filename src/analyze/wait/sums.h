/* sums.h: WAITS added up: the state of the passes `waits`, `locks` and `io`.
 *
 * What was measured and what looks from outside stand for are kept apart: sums of the one are never added to the other.
 * A cell is what calls of one kind, from one stack, on one object came to. A call that lies partly in the time that was
 * asked for counts where it began, with the time that lies in it; means are of calls that began in it.
 */
#ifndef SONDE_ANALYZE_WAIT_SUMS_H
#define SONDE_ANALYZE_WAIT_SUMS_H

#include "analyze/zone/durations.h"
#include "analyze/pass.h"
#include "analyze/window.h"
#include "util/map.h"

struct sonde_wait_sum {
	uint64_t calls, total_ns, longest_ns, amount;
	uint64_t begun_ns; /* what the calls came to; the rest of total_ns is of calls that began before */
	double variance;   /* of total_ns, in ns²: of sampled ones */
};

struct sonde_wait_cell {
	uint32_t kind; /* enum sonde_wait_kind */
	uint32_t stack, object;
	struct sonde_wait_sum sum;
};

struct sonde_wait_cells {
	struct sonde_wait_cell *rows;
	size_t count, cap;
	struct sonde_map map;
};

/* A thread that waited for an object, or held it while others waited. */
struct sonde_wait_party {
	uint32_t object, thread;
	int held;
	uint64_t total_ns;
};

struct sonde_wait_sums {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct sonde_heap_range all; /* the recording */
	struct sonde_wait_cells measured;
	struct sonde_wait_party *parties;
	size_t party_count, party_cap;
	struct sonde_map party_map;
	struct sonde_durations kinds[SONDE_WAIT_KINDS]; /* whole calls */
	uint64_t cut;                                   /* stacks that do not reach their root */
	/* `calls`: waits that were found, `amount`: looks that found them. */
	struct sonde_wait_cells sampled;
	uint64_t sampled_cut, sampled_bare; /* the latter: without a stack */
};

/* As a pass does. */
int sonde_wait_sums_begin(void **state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_wait_sums_feed(void *state, const struct sonde_batch *batch);
int sonde_wait_sums_merge(void *state, void *other);
void sonde_wait_sums_end(void *state);

void sonde_wait_sum_add(struct sonde_wait_sum *into, const struct sonde_wait_sum *from);
/* In ns; absent where no call began in the time. */
struct sonde_cell sonde_wait_sum_mean(const struct sonde_wait_sum *sum);

static inline enum sonde_wait_group sonde_wait_group_of(const struct sonde_wait_cell *cell)
{
	return sonde_wait_row(cell->kind)->group;
}

/* The innermost location of a stack that is not in the C or C++ library, whose functions say how a thread waits and not
 * where; of a stack that has none the innermost. NULL of an empty one. */
const struct sonde_location *sonde_wait_place(const struct sonde_session *session, uint32_t stack);
/* "drain (queue.c:31)"; "(no stack)" */
const char *sonde_wait_place_text(const struct sonde_wait_sums *sums, struct sonde_report *report, uint32_t stack);

/* Cells of groups, added up by place; `of` 0: of all objects. Rows by time, longest first; the caller frees them. −1
 * without memory. */
struct sonde_wait_place_row {
	uint32_t function, kind;
	uint32_t stack; /* of the cell with the longest time */
	uint64_t stack_ns;
	struct sonde_wait_sum sum;
};

ptrdiff_t sonde_wait_places(struct sonde_wait_place_row **out, const struct sonde_wait_sums *sums, uint32_t groups,
			    uint32_t of);
/* The same of sampled ones, of all objects. */
ptrdiff_t sonde_wait_places_sampled(struct sonde_wait_place_row **out, const struct sonde_wait_sums *sums,
				    uint32_t groups);
/* The object of the cell of a kind and function with the longest time; 0 = none. */
uint32_t sonde_wait_object_sampled(const struct sonde_wait_sums *sums, uint32_t function, uint32_t kind);

/* What an object is called: "queue_mutex", "/etc/passwd", "0x7f12…"; in the report. NULL without memory. */
const char *sonde_wait_object_name(const struct sonde_wait_sums *sums, struct sonde_report *report, uint32_t object);

#endif
