/* drain_state.h: what drain.c, drain_zones.c and drain_events.c share of the read side of a pool. */
#ifndef SONDE_FOLD_DRAIN_STATE_H
#define SONDE_FOLD_DRAIN_STATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "fold/drain.h"

#define SONDE_DRAIN_INDEX (2 * SONDE_DRAIN_THREADS)
#define SONDE_DRAIN_ENTRIES (SONDE_RING_MAX_CHUNKS * (SONDE_RING_PARTS - 1))
#define SONDE_DRAIN_COUNTERS 16384u
#define SONDE_DRAIN_FUTURE (UINT64_C(1) << 30) /* counters of two cores may differ by this much, no more */

struct sonde_drain_entry {
	uint64_t serial;
	uint32_t seq;
	uint8_t kind;
	uint8_t part; /* 0 = the whole chunk */
	uint16_t chunk;
};

struct sonde_drain_counter {
	uint64_t key;
	uint64_t total;
};

struct sonde_drain {
	struct sonde_ring_pool *pool;
	uint32_t chunk_count;
	uint32_t clock;
	uint32_t site_highest;
	uint32_t rounds;
	uint32_t rows;     /* highest used + 1 */
	uint32_t free_row; /* no lower one is free */
	uint32_t used;     /* chunks */
	uint32_t freed;    /* chunks and parts, in this round */
	uint64_t lost_seen[SONDE_RING_LOST_CAUSES];
	uint64_t known[(SONDE_RING_MAX_SITES + 63) / 64];
	uint32_t known_below; /* all ids below it are known: programs count them up */
	struct sonde_drain_thread threads[SONDE_DRAIN_THREADS];
	uint32_t index[SONDE_DRAIN_INDEX]; /* row + 1 by serial; made anew each round, */
	uint32_t index_mask;               /* no larger than what there is needs */
	struct sonde_drain_entry entries[SONDE_DRAIN_ENTRIES];
	struct sonde_drain_counter counters[SONDE_DRAIN_COUNTERS];
	uint32_t count; /* of words[] */
	uint64_t words[SONDE_RING_WORDS];
	uint64_t event[SONDE_RING_WORDS];
	uint64_t times[SONDE_RING_WORDS];
	uint32_t sites[SONDE_RING_WORDS];
	char texts[4 * 65536];
};
_Static_assert(sizeof(struct sonde_drain) <= SONDE_DRAIN_B, "drain memory");

/* What one round hands from function to function. */
struct sonde_drain_round {
	struct sonde_drain *drain;
	const struct sonde_clockfit *fit;
	const struct sonde_drain_sink *sink;
	int final;
};

/* A site's id as the process gave it, or SONDE_RING_SITE_OTHER: announced. */
uint32_t sonde_drain_site(const struct sonde_drain_round *round, uint32_t id);
/* Gives a chunk, or a part, back, zeroed. */
void sonde_drain_chunk_free(struct sonde_drain *drain, const struct sonde_drain_entry *entry, uint64_t mark);

/* Each reads a chunk of its kind as far as it is published; 1 = it is finished and given back. */
int sonde_drain_zones_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			   const struct sonde_drain_entry *entry);
int sonde_drain_events_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			    const struct sonde_drain_entry *entry);
int sonde_drain_counters_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			      const struct sonde_drain_entry *entry);
int sonde_drain_histogram_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			       const struct sonde_drain_entry *entry);
int sonde_drain_heap_read(const struct sonde_drain_round *round, struct sonde_drain_thread *thread,
			  const struct sonde_drain_entry *entry);

static inline struct sonde_ring_chunk *sonde_drain_chunk_of(const struct sonde_drain *drain,
							    const struct sonde_drain_entry *entry)
{
	return sonde_ring_part_at(sonde_ring_chunk_at(drain->pool, entry->chunk), entry->part);
}

/* Moves a chunk's mark; 0 when the thread has overwritten the chunk meanwhile. */
static inline int sonde_drain_chunk_claim(struct sonde_ring_chunk *chunk, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(&chunk->mark, &from, to, memory_order_acq_rel,
						       memory_order_relaxed);
}

static inline int sonde_drain_chunk_released(const struct sonde_drain_round *round,
					     const struct sonde_drain_thread *thread, uint32_t state)
{
	return round->final || thread->ended || state == SONDE_RING_RELEASED;
}

static inline uint64_t sonde_drain_ticks_now(const struct sonde_drain *drain)
{
	return drain->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles() : sonde_clock_now_ns();
}

/* The 44 bits of an event's time made whole: it is the past, or nearly. */
static inline uint64_t sonde_drain_ticks_unwrap(uint64_t latest, uint64_t ticks)
{
	return latest - ((latest - ticks) & SONDE_RING_TIME_MASK);
}

static inline uint64_t sonde_drain_ticks_ns(const struct sonde_drain_round *round, uint64_t ticks)
{
	if (round->drain->clock != SONDE_RING_CLOCK_CYCLES)
		return ticks;
	if ((int64_t)(ticks - round->fit->first.cycles) < 0)
		ticks = round->fit->first.cycles; /* nothing can be older than the recording */
	return sonde_clockfit_ns(round->fit, ticks);
}

#endif
