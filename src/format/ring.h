/* ring.h: the shared memory between a target and whoever drains it (the recorder, or the target's own drain thread).
 *
 * A process has one pool: a memfd of fixed size, sealed, made and allocated by the drainer. It holds this head, a heap
 * of sites, their index by id, and 64 KB chunks. A thread takes a free chunk by clearing its bit in free_map; only the drainer sets bits
 * again, after it has read the chunk and zeroed it. Only the first `committed` chunks have memory behind them; the
 * drainer raises that while the session's cap allows.
 *
 * A thread that takes a chunk may split it for threads that say little (kind SPLIT): all of its parts but the first,
 * which it keeps its head in, are small chunks with a head of their own, free where their bit in `free_parts` is set.
 * The drainer gives parts back one by one; a chunk whose parts are all free is a whole one again. In one that is not
 * split `free_parts` is 0: whoever comes late finds nothing there.
 *
 * Chunks of one thread and kind form a chain; `seq` counts all chunks of the process. A chunk is zero when taken and
 * nothing in it changes from non-zero, so a non-zero word is its own publication: the one store that writes it (release
 * order) is all that a thread does for a zone event. A signal handler that interrupts an event between reserving its
 * word and storing it leaves words in reverse order; the drainer stops at the zero word until it is filled, then orders
 * by time. Everything here is hostile input to the drainer.
 *
 *   zone event        time << 20 | site; site 0 ends the innermost zone
 *   variable event    struct sonde_event (event.h); while it is written its first word is only `words` << 16
 *   histogram chunk   after the head: hits[SONDE_HIST_BUCKETS]; sum, ~min and max in the head
 *   counter chunk     after the head: one u64 a site id, total of this thread; 0 = never touched
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
#define SONDE_RING_PARTS_ALL 0xfffeu /* bits of those that can be taken */
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
#define SONDE_RING_SITE_OTHER 1u              /* where sites go that found no room */

enum sonde_ring_clock { SONDE_RING_CLOCK_CYCLES = 1, SONDE_RING_CLOCK_NS = 2 };
enum sonde_ring_on_full { SONDE_RING_DROP = 0, SONDE_RING_OVERWRITE = 1, SONDE_RING_BLOCK = 2 };

/* Why events are missing. Counts only grow. */
enum sonde_ring_lost {
	SONDE_RING_LOST_FULL = 0,        /* no free chunk */
	SONDE_RING_LOST_OVERWRITTEN = 1, /* the thread's oldest chunk was used again, as asked */
	SONDE_RING_LOST_SIGNAL = 2,      /* a signal handler ran inside our slow path */
	SONDE_RING_LOST_LONG = 3,        /* larger than a chunk */
	SONDE_RING_LOST_DEEP = 4,        /* more zones opened while the ring was full than can be kept in mind */
	SONDE_RING_LOST_SITES = 5,       /* sites that went to '(other)' */
	SONDE_RING_LOST_HISTS = 6,       /* values of histograms for which a thread has no place */
	SONDE_RING_LOST_NESTED = 7, /* zones inside so many others that no recording can hold them; by the drainer */
	SONDE_RING_LOST_CAUSES = 8,
};

/* What a recording calls a cause. */
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
	uint32_t clock;             /* enum sonde_ring_clock; drainer, before the target sees the pool */
	uint32_t on_full;           /* enum sonde_ring_on_full; likewise */
	uint32_t chunk_count;       /* likewise */
	_Atomic uint32_t committed; /* drainer; read by the target */
	_Atomic uint32_t closed;    /* drainer: nobody drains any more */
	_Atomic uint32_t freed;     /* drainer: a futex word, changed when chunks become free */
	_Atomic uint32_t waiters;   /* target: threads on that futex */
	_Atomic uint32_t doorbell;  /* target sets it when it asks to be drained; the drainer clears it */
	_Atomic uint32_t sites_b;   /* target: reserved bytes of the site heap */
	_Atomic uint32_t sites;     /* target: ids given */
	_Atomic uint32_t may_grow;  /* drainer: `committed` can still rise: asking is worth a moment */
	_Atomic uint64_t pending; /* target: events that wait for room in their threads: lost if the process ends now */
	_Atomic uint64_t lost[SONDE_RING_LOST_CAUSES];         /* target; LOST_NESTED: drainer */
	_Atomic uint64_t free_map[SONDE_RING_MAX_CHUNKS / 64]; /* bit set = free; target clears, drainer sets */
	/* Bit set = look there for a free part. Both set it after `free_parts`; both clear it. */
	_Atomic uint64_t split_map[SONDE_RING_MAX_CHUNKS / 64];
	uint32_t reads_parts; /* drainer, before the target sees the pool: one that is older than parts reads none */
};
_Static_assert(sizeof(struct sonde_ring_pool) <= SONDE_RING_SITES_OFFSET, "pool head");

/* An entry of the site heap. name_b … unit_b bytes of text follow, each with a NUL. What the index leads to is complete,
 * and no event has an id that the index does not lead on from. */
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
	SONDE_RING_HEAP = 5,  /* heap.h; the only kind of parts */
	SONDE_RING_SPLIT = 6, /* no words */
};

enum sonde_ring_state {
	SONDE_RING_OPEN = 0,     /* its thread writes */
	SONDE_RING_SEALED = 1,   /* its thread has gone on to the next */
	SONDE_RING_RELEASED = 2, /* its thread has ended */
};

/* First word of the rest of an event chunk that was too short for the next event. */
#define SONDE_RING_EVENTS_END UINT64_C(0xffff)

#define SONDE_RING_TAKEN_BACK UINT32_MAX /* seq in `mark` of a chunk that the drainer is about to free */

struct sonde_ring_chunk {
	_Atomic uint32_t kind; /* enum sonde_ring_kind, stored last by the thread that took the chunk */
	_Atomic uint32_t state;
	uint32_t tid;
	uint32_t site;   /* histogram */
	uint64_t thread; /* counts threads of the process: tids are used again */
	uint32_t prev;   /* seq of the chunk before it in the chain, 0 = first: tells the drainer of a gap */
	uint32_t reserved;
	/* seq << 32 | words drained. The drainer moves it by compare-and-swap after copying words out; a thread that
	 * overwrites its own oldest chunk claims it the same way, so exactly one of them accounts for each word. */
	_Atomic uint64_t mark;
	_Atomic uint64_t sum, not_min, max; /* histogram; not_min: ~min, so that 0 is the start of both */
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

/* A part of a split chunk; 0 = the chunk itself. */
static inline struct sonde_ring_chunk *sonde_ring_part_at(struct sonde_ring_chunk *chunk, uint32_t part)
{
	return (struct sonde_ring_chunk *)(void *)((char *)chunk + (size_t)part * SONDE_RING_PART_B);
}

/* One a site id: offset in the site heap + 1; 0 = no such site yet. Stored after the entry, before any event of it. */
static inline _Atomic uint32_t *sonde_ring_site_index(const struct sonde_ring_pool *pool)
{
	return (_Atomic uint32_t *)((uintptr_t)pool + SONDE_RING_INDEX_OFFSET);
}

static inline _Atomic uint64_t *sonde_ring_words(struct sonde_ring_chunk *chunk)
{
	return (_Atomic uint64_t *)(void *)((char *)chunk + SONDE_RING_HEAD_B);
}

#endif
