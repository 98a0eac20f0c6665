/* sums.h: WAITS summed up: the state of the passes `waits`, `locks` and `io`.
 *
 * Measured waits and those sampled from outside are never added together. A cell sums the calls of one kind, from one
 * stack, on one object. A call that partly overlaps the selected time counts where it began, with the time inside the
 * range; means cover calls that began in it.
 */
#ifndef SONDE_ANALYZE_WAIT_SUMS_H
#define SONDE_ANALYZE_WAIT_SUMS_H

#include "analyze/zone/durations.h"
#include "analyze/pass.h"
#include "analyze/window.h"
#include "util/map.h"

struct sonde_wait_sum {
	uint64_t calls, total_ns, longest_ns, amount;
	/* time of the calls counted in `calls`; the rest of total_ns belongs to calls that began earlier */
	uint64_t begun_ns;
	double variance; /* variance of total_ns, in ns²: sampled waits only */
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

/* A thread that waited for an object, or that held it while others waited. */
struct sonde_wait_party {
	uint32_t object, thread;
	int held;
	uint64_t total_ns;
};

struct sonde_wait_sums {
	struct sonde_session *session;
	struct sonde_pass_options options;
	struct sonde_window window;
	struct sonde_selection all; /* the recording */
	struct sonde_wait_cells measured;
	struct sonde_wait_party *parties;
	size_t party_count, party_cap;
	struct sonde_map party_map;
	struct sonde_durations kinds[SONDE_WAIT_KINDS]; /* complete calls */
	uint64_t cut;                                   /* number of incomplete stacks */
	/* `calls`: waits found; `amount`: samples that found them. */
	struct sonde_wait_cells sampled;
	uint64_t sampled_cut,
	    sampled_bare; /* number of sampled waits with an incomplete stack, and without any stack */
};

/* The functions of a pass. */
int sonde_wait_sums_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options);
int sonde_wait_sums_feed(void *state, const struct sonde_batch *batch);
int sonde_wait_sums_merge(void *state, void *other);
void sonde_wait_sums_end(void *state);

void sonde_wait_sum_add(struct sonde_wait_sum *into, const struct sonde_wait_sum *from);
/* The mean duration of the calls, in ns; absent if no call began in the selected time. */
struct sonde_cell sonde_wait_sum_mean(const struct sonde_wait_sum *sum);

static inline enum sonde_wait_group sonde_wait_group_of(const struct sonde_wait_cell *cell)
{
	return sonde_wait_row(cell->kind)->group;
}

/* "drain (queue.c:31)"; "(no stack)" */
const char *sonde_wait_place_text(const struct sonde_wait_sums *sums, struct sonde_report *report, uint32_t stack);

/* Cells of the groups, summed by call site; `of` 0: of all objects. Sorted by time, longest first; the caller frees
 * them. −1 if out of memory. */
struct sonde_wait_place_row {
	uint32_t function, kind;
	uint32_t stack; /* stack of the cell with the longest time */
	uint64_t stack_ns;
	struct sonde_wait_sum sum;
};

ptrdiff_t sonde_wait_places(struct sonde_wait_place_row **out, const struct sonde_wait_sums *sums, uint32_t groups,
			    uint32_t of);
/* Like sonde_wait_places(), for sampled waits, of all objects. */
ptrdiff_t sonde_wait_places_sampled(struct sonde_wait_place_row **out, const struct sonde_wait_sums *sums,
				    uint32_t groups);
/* The object of the cell of a kind and function with the longest time; 0 = none. */
uint32_t sonde_wait_object_sampled(const struct sonde_wait_sums *sums, uint32_t function, uint32_t kind);

/* Display name of an object: "queue_mutex", "/etc/passwd", "0x7f12…"; allocated in the report. NULL if out of
 * memory. */
const char *sonde_wait_object_name(const struct sonde_wait_sums *sums, struct sonde_report *report, uint32_t object);

#endif
