/* ring.h: the shared memory between a target and its drainer (the recorder, or the target's own drain thread).
 *
 * A process has one pool: a sealed memfd of fixed size, created and allocated by the drainer. It holds this head, a
 * heap of sites, their index by id, and 64 KB chunks. A thread takes a free chunk by clearing its bit in free_map; only
 * the drainer sets bits again, after it has read the chunk and zeroed it. Only the first `committed` chunks have memory
 * behind them; the drainer raises that number within the session's cap.
 *
 * A thread that takes a chunk may split it for threads that write little (kind SPLIT). Part 0 keeps the chunk's own
 * head; all other parts are small chunks with a head of their own, free if their bit in `free_parts` is set. The
 * drainer returns parts one by one; a chunk with all parts free is whole again. An unsplit chunk has `free_parts` 0, so
 * a thread that acts on stale information finds no part there.
 *
 * Chunks of one thread and kind form a chain; `seq` counts all chunks of the process. A chunk is zero when taken, and
 * its non-zero words never change, so a non-zero word is its own publication: a single store (release order) is all
 * that a thread does for a zone event. A signal handler that interrupts an event between reserving its word and storing
 * it leaves words in reverse order; the drainer stops at the zero word until it is filled, then sorts by time. The
 * drainer must treat everything here as hostile input.
 *
 *   zone event        time << 20 | site; site 0 ends the innermost zone
 *   variable event    struct sonde_event (event.h); while it is being written its first word is only `words` << 16
 *   histogram chunk   after the head: hits[SONDE_HIST_BUCKETS]; sum, ~min and max in the head
 *   counter chunk     after the head: one u64 per site id, total of this thread; 0 = never used
 */
#ifndef SONDE_FORMAT_RING_H
#define SONDE_FORMAT_RING_H

#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>

#define SONDE_RING_MAGIC 0x314c4f4f50444e53u /* "SNDPOOL1" */
#define SONDE_RING_VERSION 2u

#define SONDE_RING_CHUNK_B 65536u
#define SONDE_RING_HEAD_B 128u
#define SONDE_RING_WORDS ((SONDE_RING_CHUNK_B - SONDE_RING_HEAD_B) / 8u)
#define SONDE_RING_MAX_CHUNKS 4096u
#define SONDE_RING_PARTS 16u
#define SONDE_RING_PARTS_ALL 0xfffeu /* bits of the parts that can be taken */
#define SONDE_RING_PART_B (SONDE_RING_CHUNK_B / SONDE_RING_PARTS)
#define SONDE_RING_PART_WORDS ((SONDE_RING_PART_B - SONDE_RING_HEAD_B) / 8u)

#define SONDE_RING_SITE_BITS 20
#define SONDE_RING_SITE_MASK ((1u << SONDE_RING_SITE_BITS) - 1u)
#define SONDE_RING_TIME_MASK ((UINT64_C(1) << 44) - 1u)

#define SONDE_RING_SITES_OFFSET 4096u
#define SONDE_RING_CHUNKS_OFFSET (8u * SONDE_RING_CHUNK_B)
#define SONDE_RING_MAX_SITES SONDE_RING_WORDS /* a counter chunk has a slot for each */
#define SONDE_RING_INDEX_OFFSET (SONDE_RING_CHUNKS_OFFSET - 4u * SONDE_RING_MAX_SITES)
#define SONDE_RING_SITES_B (SONDE_RING_INDEX_OFFSET - SONDE_RING_SITES_OFFSET)
#define SONDE_RING_SITE_OTHER 1u /* used for all sites when the table is full */

enum sonde_ring_clock { SONDE_RING_CLOCK_CYCLES = 1, SONDE_RING_CLOCK_NS = 2 };
enum sonde_ring_on_full { SONDE_RING_DROP = 0, SONDE_RING_OVERWRITE = 1, SONDE_RING_BLOCK = 2 };

/* Why events are missing. Counts only increase. */
enum sonde_ring_lost {
	SONDE_RING_LOST_FULL = 0,        /* no free chunk */
	SONDE_RING_LOST_OVERWRITTEN = 1, /* the thread's oldest chunk was reused, as configured */
	SONDE_RING_LOST_SIGNAL = 2,      /* a signal handler ran inside our slow path */
	SONDE_RING_LOST_LONG = 3,        /* larger than a chunk */
	SONDE_RING_LOST_DEEP = 4,        /* more zones opened while the ring was full than the thread can remember */
	SONDE_RING_LOST_SITES = 5,       /* sites counted as '(other)' */
	SONDE_RING_LOST_HISTS = 6,       /* histogram values for which the thread has no slot */
	SONDE_RING_LOST_NESTED = 7,      /* zones nested too deeply for a recording; counted by the drainer */
	SONDE_RING_LOST_CAUSES = 8,
};

/* The name of a cause in recordings. */
static inline const char *sonde_ring_lost_text(enum sonde_ring_lost cause)
{
	static const char *const texts[SONDE_RING_LOST_CAUSES] = {
	    [SONDE_RING_LOST_FULL] = "ring full",
	    [SONDE_RING_LOST_OVERWRITTEN] = "overwritten",
	    [SONDE_RING_LOST_SIGNAL] = "signal handler inside the slow path",
	    [SONDE_RING_LOST_LONG] = "event too long",
	    [SONDE_RING_LOST_DEEP] = "ring full, too many zones open",
	    [SONDE_RING_LOST_SITES] = "site table full: counted as (other)",
	    [SONDE_RING_LOST_HISTS] = "too many histograms in a thread",
	    [SONDE_RING_LOST_NESTED] = "zones nested too deeply",
	};
	return cause < SONDE_RING_LOST_CAUSES ? texts[cause] : "unknown";
}

struct sonde_ring_pool {
	uint64_t magic;
	uint32_t version;
	uint32_t clock;             /* enum sonde_ring_clock; set by the drainer before the target sees the pool */
	uint32_t on_full;           /* enum sonde_ring_on_full; likewise */
	uint32_t chunk_count;       /* likewise */
	_Atomic uint32_t committed; /* drainer; read by the target */
	_Atomic uint32_t closed;    /* drainer: draining has ended */
	_Atomic uint32_t freed;     /* drainer: a futex word, changed when chunks become free */
	_Atomic uint32_t waiters;   /* target: threads waiting on that futex */
	_Atomic uint32_t doorbell;  /* set by the target to request draining; cleared by the drainer */
	_Atomic uint32_t sites_b;   /* target: reserved bytes of the site heap */
	_Atomic uint32_t sites;     /* target: number of ids assigned */
	_Atomic uint32_t may_grow;  /* drainer: `committed` can still rise, so a request is worth a short wait */
	/* target: events buffered in threads until chunks are free; lost if the process ends now */
	_Atomic uint64_t pending;
	_Atomic uint64_t lost[SONDE_RING_LOST_CAUSES];         /* target; LOST_NESTED: drainer */
	_Atomic uint64_t free_map[SONDE_RING_MAX_CHUNKS / 64]; /* bit set = free; target clears, drainer sets */
	/* Bit set = the chunk may have a free part. Both sides set it after `free_parts`; both clear it. */
	_Atomic uint64_t split_map[SONDE_RING_MAX_CHUNKS / 64];
	/* drainer, before the target sees the pool: 0 = an older drainer that cannot read parts */
	uint32_t reads_parts;
};
_Static_assert(sizeof(struct sonde_ring_pool) <= SONDE_RING_SITES_OFFSET, "pool head");

/* An entry of the site heap, followed by name_b … unit_b bytes of text, each with a NUL. Entries in the index are
 * complete, and every site id in an event is in the index. */
struct sonde_ring_site {
	uint32_t size_b; /* multiple of 8; reserved by adding to sites_b */
	uint32_t id;
	uint64_t hash;
	uint32_t kind;
	uint32_t line;
	uint32_t color;
	uint16_t name_b, function_b, file_b, unit_b; /* lengths without NUL */
	uint32_t reserved;
};
_Static_assert(sizeof(struct sonde_ring_site) == 40, "ring site");

enum sonde_ring_kind {
	SONDE_RING_ZONES = 1,
	SONDE_RING_EVENTS = 2,
	SONDE_RING_HISTOGRAM = 3,
	SONDE_RING_COUNTERS = 4,
	SONDE_RING_HEAP = 5,  /* heap.h; the only kind that uses parts */
	SONDE_RING_SPLIT = 6, /* no words */
};

enum sonde_ring_state {
	SONDE_RING_OPEN = 0,     /* its thread writes to it */
	SONDE_RING_SEALED = 1,   /* its thread has moved to the next chunk */
	SONDE_RING_RELEASED = 2, /* its thread has ended */
};

/* First word of the unused rest of an event chunk, if it was too short for the next event. */
#define SONDE_RING_EVENTS_END UINT64_C(0xffff)

#define SONDE_RING_TAKEN_BACK UINT32_MAX /* seq in `mark` of a chunk that the drainer is about to free */

struct sonde_ring_chunk {
	_Atomic uint32_t kind; /* enum sonde_ring_kind, stored last by the thread that took the chunk */
	_Atomic uint32_t state;
	uint32_t tid;
	uint32_t site;   /* histogram */
	uint64_t thread; /* numbers the threads of the process, since tids are reused */
	uint32_t prev;   /* seq of the previous chunk in the chain, 0 = first: lets the drainer detect a gap */
	uint32_t reserved;
	/* seq << 32 | words drained. The drainer advances it by compare-and-swap after copying words out; a thread that
	 * overwrites its own oldest chunk claims it the same way, so exactly one of them accounts for each word. */
	_Atomic uint64_t mark;
	_Atomic uint64_t sum, not_min, max; /* histogram; not_min: ~min, so that 0 is the initial value of both */
	_Atomic uint64_t free_parts;        /* split: bit set = free; target clears, drainer sets */
};
_Static_assert(sizeof(struct sonde_ring_chunk) <= SONDE_RING_HEAD_B, "chunk head");

static inline uint64_t sonde_ring_mark(uint32_t seq, uint32_t drained)
{
	return (uint64_t)seq << 32 | drained;
}

static inline size_t sonde_ring_pool_b(uint32_t chunks)
{
	return SONDE_RING_CHUNKS_OFFSET + (size_t)chunks * SONDE_RING_CHUNK_B;
}

static inline struct sonde_ring_chunk *sonde_ring_chunk_at(struct sonde_ring_pool *pool, uint32_t index)
{
	return (struct sonde_ring_chunk *)(void *)((char *)pool + SONDE_RING_CHUNKS_OFFSET +
						   (size_t)index * SONDE_RING_CHUNK_B);
}

/* A part of a split chunk; part 0 is the chunk itself. */
static inline struct sonde_ring_chunk *sonde_ring_part_at(struct sonde_ring_chunk *chunk, uint32_t part)
{
	return (struct sonde_ring_chunk *)(void *)((char *)chunk + (size_t)part * SONDE_RING_PART_B);
}

/* One entry per site id: offset in the site heap + 1; 0 = no such site yet. Stored after the site, before its first
 * event. */
static inline _Atomic uint32_t *sonde_ring_site_index(const struct sonde_ring_pool *pool)
{
	return (_Atomic uint32_t *)((uintptr_t)pool + SONDE_RING_INDEX_OFFSET);
}

static inline _Atomic uint64_t *sonde_ring_words(struct sonde_ring_chunk *chunk)
{
	return (_Atomic uint64_t *)(void *)((char *)chunk + SONDE_RING_HEAD_B);
}

#endif
