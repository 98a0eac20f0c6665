/* drain_state.h: state of the read side of a pool that drain_round.c, drain_zones.c and drain_events.c share. */
#ifndef SONDE_FOLD_DRAIN_STATE_H
#define SONDE_FOLD_DRAIN_STATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "fold/drain.h"

#define SONDE_DRAIN_INDEX (2 * SONDE_DRAIN_THREADS)
#define SONDE_DRAIN_ENTRIES (SONDE_RING_MAX_CHUNKS * (SONDE_RING_PARTS - 1))
#define SONDE_DRAIN_COUNTERS 16384u
#define SONDE_DRAIN_FUTURE (UINT64_C(1) << 30) /* upper bound of the difference between the counters of two cores */

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
	uint32_t free_row; /* no lower row is free */
	uint32_t used;     /* number of chunks in use */
	uint32_t freed;    /* chunks and parts freed in this round */
	uint64_t lost_seen[SONDE_RING_LOST_CAUSES];
	uint64_t known[(SONDE_RING_MAX_SITES + 63) / 64];
	uint32_t known_below; /* all ids below are known: programs assign them consecutively */
	struct sonde_drain_thread threads[SONDE_DRAIN_THREADS];
	uint32_t index[SONDE_DRAIN_INDEX]; /* row + 1 by serial; rebuilt each round */
	uint32_t index_mask;               /* size of the used part of `index` − 1, as small as the rows allow */
	struct sonde_drain_entry entries[SONDE_DRAIN_ENTRIES];
	struct sonde_drain_counter counters[SONDE_DRAIN_COUNTERS];
	uint32_t count; /* number of words in words[] */
	uint64_t words[SONDE_RING_WORDS];
	uint64_t event[SONDE_RING_WORDS];
	uint64_t times[SONDE_RING_WORDS];
	uint32_t sites[SONDE_RING_WORDS];
	char texts[4 * 65536];
};
_Static_assert(sizeof(struct sonde_drain) <= SONDE_DRAIN_B, "drain memory");

/* The context that one round passes between functions. */
struct sonde_drain_round {
	struct sonde_drain *drain;
	const struct sonde_clockfit *fit;
	const struct sonde_drain_sink *sink;
	int final;
};

/* Maps a site id of the process to itself if announced, else to SONDE_RING_SITE_OTHER. */
uint32_t sonde_drain_site(const struct sonde_drain_round *round, uint32_t id);
/* Returns a chunk or part to the pool, zeroed. */
void sonde_drain_chunk_free(struct sonde_drain *drain, const struct sonde_drain_entry *entry, uint64_t mark);

/* Each reads a chunk of its kind as far as it is published; 1 = finished and freed. */
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

/* Advances a chunk's mark; 0 if the thread has overwritten the chunk in the meantime. */
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

/* Extends the 44 bits of an event's time to 64: events lie in the past, or nearly so. */
static inline uint64_t sonde_drain_ticks_unwrap(uint64_t latest, uint64_t ticks)
{
	return latest - ((latest - ticks) & SONDE_RING_TIME_MASK);
}

static inline uint64_t sonde_drain_ticks_ns(const struct sonde_drain_round *round, uint64_t ticks)
{
	if (round->drain->clock != SONDE_RING_CLOCK_CYCLES)
		return ticks;
	if ((int64_t)(ticks - round->fit->first.cycles) < 0)
		ticks = round->fit->first.cycles; /* no event is older than the recording */
	return sonde_clockfit_ns(round->fit, ticks);
}

#endif
