/* drain.h: the read side of a pool (format/ring.h): turns chunks of untrusted memory into ordered, validated events.
 *
 * The recorder uses it for each process, and a process that records itself uses it in its drain thread. It copies words
 * out before it inspects them, trusts no index, length, order or count, and returns a chunk zeroed once everything in
 * it has been passed to the sink. The caller maps SONDE_DRAIN_B bytes of zeroed memory for it (mostly never touched);
 * nothing is allocated. Single-threaded.
 */
#ifndef SONDE_FOLD_DRAIN_H
#define SONDE_FOLD_DRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "fold/clockfit.h"
#include "fold/hist.h"
#include "format/event.h"
#include "format/ring.h"

#define SONDE_DRAIN_THREADS 65536u     /* a power of two */
#define SONDE_DRAIN_ZONE_THREADS 8192u /* maximum threads that hold chunks other than HEAP at once */

struct sonde_drain_thread {
	uint64_t serial; /* 0 = free row */
	uint32_t tid;
	uint32_t index;      /* index of this row, for the sink's own tables; below SONDE_DRAIN_ZONE_THREADS, except for
				heap-only threads */
	uint32_t zones_seq;  /* sequence number of the chunk being read, or of the last one finished */
	uint32_t zones_done; /* chunk zones_seq is finished */
	uint64_t last_ns;    /* time of the last zone event: delivered times never decrease */
	uint32_t chunks;     /* number of its chunks in this drain round */
	uint32_t ended;      /* the thread has exited */
	uint64_t user;       /* free for use by the sink */
};

struct sonde_drain_site {
	uint32_t id, kind, line, color;
	const char *name, *function, *file, *unit; /* NUL-terminated; "" = none */
};

/* Times are CLOCK_MONOTONIC ns. Site ids are the process's own and have been announced by `site`, or are
 * SONDE_RING_SITE_OTHER. */
struct sonde_drain_sink {
	void *context;
	void (*site)(void *context, const struct sonde_drain_site *site);
	/* `gap`: earlier zones were overwritten, so the set of open zones is unknown. */
	void (*zones)(void *context, struct sonde_drain_thread *thread, const uint32_t *sites, const uint64_t *times_ns,
		      size_t count, int gap);
	void (*event)(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event);
	void (*counter)(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total);
	/* Called when a thread exits and at the final drain, with everything that the thread recorded. */
	void (*histogram)(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			  uint64_t sum, uint64_t min, uint64_t max);
	void (*lost)(void *context, enum sonde_ring_lost cause, uint64_t count);
	void (*thread_end)(void *context, struct sonde_drain_thread *thread);
	/* True if a thread of the process still exists. */
	int (*alive)(void *context, uint32_t tid);
	uint32_t zones_max; /* events passed to `zones` at once, ≥ 64; 0 = a whole chunk */
	/* Words of a HEAP chunk (format/heap.h) in the order in which the thread wrote them, unchecked; NULL =
	 * dropped. */
	void (*heap)(void *context, struct sonde_drain_thread *thread, const uint64_t *words, size_t count);
};

struct sonde_drain;

#define SONDE_DRAIN_B (8u << 20)

/* Writes the header of a zeroed pool of `chunks`, of which `committed` have memory. */
void sonde_drain_format(struct sonde_ring_pool *pool, uint32_t chunks, uint32_t committed, uint32_t clock,
			uint32_t on_full);
/* Adds memory-backed chunks. */
void sonde_drain_commit(struct sonde_ring_pool *pool, uint32_t from, uint32_t to);

/* `memory`: SONDE_DRAIN_B zeroed bytes, 64-byte aligned. `clock` and `chunks` must match sonde_drain_format(). */
struct sonde_drain *sonde_drain_init(void *memory, struct sonde_ring_pool *pool, uint32_t chunks, uint32_t clock);
/* Delivers everything published so far. `final`: the process has exited, so reserved but unwritten words are
 * skipped. */
void sonde_drain_run(struct sonde_drain *drain, const struct sonde_clockfit *fit, const struct sonde_drain_sink *sink,
		     int final);
/* Chunks in use during the last run. */
uint32_t sonde_drain_used(const struct sonde_drain *drain);

#endif
