/* chunk.c: takes chunks from the pool, and handles an empty pool.
 *
 * A chunk is taken by clearing its bit with a single atomic AND: there is no list, so neither a dying thread nor a
 * hostile one can break it. If no chunk is free, the drainer is notified once (the doorbell word keeps threads from
 * repeating it). While the pool may still grow, the thread waits up to 10 ms (up to 100 ms for its first chunks). Then
 * the policy decides: give up, take the thread's own oldest chunk, or wait as long as the drainer makes progress. Where
 * other events are given up, events of the program's own pools wait, just like allocations, because heap totals with
 * gaps are wrong; but they wait only once.
 *
 * No wait may stop a program for ever. If nothing becomes free for 30 s, or for 2 s while the recorder is stopped
 * (SIGSTOP, debugger), events are dropped and counted until a chunk becomes free. Steps are counted instead of time,
 * because no steps pass while the program itself is stopped. A limit below 30 s would lose events while a live recorder
 * does long work.
 */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define WAIT_STEP_NS 500000
#define WAIT_STEPS_GROW 20
#define WAIT_STEPS_FIRST 200
#define WAIT_STEPS_STILL 60000  /* while the drainer makes no progress */
#define WAIT_STEPS_STOPPED 4000 /* while the recorder is stopped */
#define FIRST_CHUNKS 4u         /* that a thread needs: zones, events, counters and a histogram */
#define WAIT_STEPS_CHECK 100    /* steps between checks that the drainer is still there */

#define MAP_AHEAD 64u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static uint32_t committed(const struct sonde_ring_pool *pool)
{
	uint32_t count = atomic_load_explicit(&pool->committed, memory_order_acquire);
	return count < pool->chunk_count ? count : pool->chunk_count;
}

/* Takes one of the first `count` chunks. */
static struct sonde_ring_chunk *take_below(struct sonde_ring_pool *pool, uint32_t count, uint32_t hint)
{
	uint32_t words = (count + 63) / 64;
	for (uint32_t i = 0; i < words; i++) {
		uint32_t word = (i + hint) % words;
		uint64_t bits = atomic_load_explicit(&pool->free_map[word], memory_order_relaxed);
		while (bits) {
			uint64_t bit = bits & -bits;
			uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bit);
			if (index >= count)
				break;
			/* acquire: pairs with the drainer, which zeroed the chunk before setting the bit */
			bits = atomic_fetch_and_explicit(&pool->free_map[word], ~bit, memory_order_acquire);
			if (bits & bit)
				return sonde_ring_chunk_at(pool, index);
		}
	}
	return NULL;
}

/* Maps all pages of the next unmapped chunks, so that no event takes a page fault later. Reading first maps 16 pages
 * per fault where the kernel can, and these pages become writable. Returns 0 if there are none. */
static int map_more(struct sonde_process *process, struct sonde_ring_pool *pool)
{
	uint32_t from = atomic_load_explicit(&process->mapped, memory_order_acquire), to = committed(pool);
	if (from >= to)
		return 0;
	if (to > from + MAP_AHEAD)
		to = from + MAP_AHEAD;
	char *start = (char *)sonde_ring_chunk_at(pool, from);
	size_t size_b = (size_t)(to - from) * SONDE_RING_CHUNK_B;
	(void)madvise(start, size_b, MADV_POPULATE_READ);
	if (madvise(start, size_b, MADV_POPULATE_WRITE))
		for (size_t at = 0; at < size_b; at += 4096)
			atomic_fetch_or_explicit((_Atomic uint64_t *)(void *)(start + at), 0, memory_order_relaxed);
	/* If two threads do this concurrently, the later one changes nothing. */
	atomic_compare_exchange_strong_explicit(&process->mapped, &from, to, memory_order_release,
						memory_order_relaxed);
	return 1;
}

/* Prefers chunks that are mapped already. */
static struct sonde_ring_chunk *take_free(struct sonde_process *process, struct sonde_ring_pool *pool, uint32_t hint)
{
	struct sonde_ring_chunk *chunk;
	do
		chunk = take_below(pool, atomic_load_explicit(&process->mapped, memory_order_acquire), hint);
	while (!chunk && map_more(process, pool));
	return chunk;
}

static uint32_t chunk_index(const struct sonde_ring_pool *pool, const struct sonde_ring_chunk *chunk)
{
	size_t at = (size_t)((const char *)chunk - (const char *)pool);
	return (uint32_t)((at - SONDE_RING_CHUNKS_OFFSET) / SONDE_RING_CHUNK_B);
}

static void wait_freed(struct sonde_ring_pool *pool, uint32_t seen)
{
	struct timespec step = {0, WAIT_STEP_NS};
	atomic_fetch_add_explicit(&pool->waiters, 1, memory_order_seq_cst);
	syscall(SYS_futex, &pool->freed, FUTEX_WAIT, seen, &step, NULL, 0);
	atomic_fetch_sub_explicit(&pool->waiters, 1, memory_order_relaxed);
}

/* What `process->stuck` is while the drainer is considered stuck: it changes with each chunk that becomes free. */
static uint64_t stuck_at(const struct sonde_ring_pool *pool)
{
	return UINT64_C(1) << 32 | atomic_load_explicit(&pool->freed, memory_order_acquire);
}

/* True if no thread waits any more until a chunk becomes free. `still`: steps since one last did. */
static int is_stuck(struct sonde_process *process, const struct sonde_ring_pool *pool, uint32_t still)
{
	uint64_t at = stuck_at(pool);
	if (atomic_load(&process->stuck) == at)
		return 1;
	if (still < WAIT_STEPS_STOPPED || still % WAIT_STEPS_CHECK)
		return 0;
	if (still < WAIT_STEPS_STILL && !sonde_link_is_peer_stopped(process))
		return 0;
	atomic_store(&process->stuck, at);
	return 1;
}

/* A short wait pays off while the pool can grow, and for a thread's first chunks, because other threads may just have
 * exited. A thread waits only once, because a hung drainer must not slow down every event. `step`: steps waited;
 * `still`: of these, since a chunk last became free. */
static int may_wait(struct sonde_process *process, struct sonde_ring_pool *pool, struct sonde_thread *thread,
		    uint32_t step, uint32_t still)
{
	if (atomic_load(&pool->closed) || atomic_load(&process->state) == SONDE_PROCESS_OFF)
		return 0;
	uint32_t steps = thread->taken < FIRST_CHUNKS   ? WAIT_STEPS_FIRST
			 : atomic_load(&pool->may_grow) ? WAIT_STEPS_GROW
							: 0;
	int is_requested = step % WAIT_STEPS_CHECK == 0;
	if (!thread->waited && step < steps)
		return 1;
	thread->waited = 1;
	if (pool->on_full != SONDE_RING_BLOCK) {
		thread->waited_long |= thread->waits && step >= WAIT_STEPS_STILL;
		if (!thread->waits || thread->waited_long || pool->on_full != SONDE_RING_DROP)
			return 0;
	}
	if (is_stuck(process, pool, still))
		return 0;
	if (!is_requested)
		return 1;
	int rc = sonde_link_check(process);
	if (rc == -EPIPE) /* nobody will read again, so no other event waits */
		atomic_store(&pool->closed, 1);
	return !rc;
}

/* Number of undrained events in one of the thread's chunks. */
static uint64_t undrained(struct sonde_ring_chunk *chunk, uint32_t drained)
{
	_Atomic uint64_t *words = sonde_ring_words(chunk);
	uint64_t count = 0;
	uint32_t kind = atomic_load_explicit(&chunk->kind, memory_order_relaxed);
	for (uint32_t at = drained; at < SONDE_RING_WORDS;) {
		uint64_t word = atomic_load_explicit(&words[at], memory_order_relaxed);
		if (kind == SONDE_RING_ZONES) {
			count += word != 0;
			at++;
		} else {
			uint32_t size = (uint32_t)(word >> 16) & 0xffff;
			if (!size)
				break;
			count++;
			at += size;
		}
	}
	return count;
}

static void remember(struct sonde_thread *thread, struct sonde_ring_pool *pool, struct sonde_ring_chunk *chunk,
		     uint32_t seq)
{
	if (thread->owned_count == SONDE_THREAD_OWNED) {
		thread->owned_first = (thread->owned_first + 1) % SONDE_THREAD_OWNED;
		thread->owned_count--;
	}
	uint32_t at = (thread->owned_first + thread->owned_count++) % SONDE_THREAD_OWNED;
	thread->owned[at].index = chunk_index(pool, chunk);
	thread->owned[at].seq = seq;
}

/* Takes the thread's oldest chunk that the drainer has not finished, except the chunks that the thread writes to: if we
 * are in a signal handler, the event that it has interrupted may have reserved a word there. */
static struct sonde_ring_chunk *take_own(struct sonde_thread *thread, struct sonde_ring_pool *pool)
{
	for (uint32_t left = thread->owned_count; left; left--) {
		uint32_t index = thread->owned[thread->owned_first].index;
		uint32_t seq = thread->owned[thread->owned_first].seq;
		thread->owned_first = (thread->owned_first + 1) % SONDE_THREAD_OWNED;
		thread->owned_count--;
		struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(pool, index);
		uint64_t mark = atomic_load_explicit(&chunk->mark, memory_order_relaxed);
		if (mark >> 32 == seq && (chunk == thread->zones.chunk || chunk == thread->events.chunk)) {
			remember(thread, pool, chunk, seq);
			continue;
		}
		while (mark >> 32 == seq && (uint32_t)mark <= SONDE_RING_WORDS) {
			if (!atomic_compare_exchange_weak_explicit(&chunk->mark, &mark,
								   sonde_ring_mark(SONDE_RING_TAKEN_BACK, 0),
								   memory_order_acq_rel, memory_order_relaxed))
				continue;
			sonde_process_lost(pool, SONDE_RING_LOST_OVERWRITTEN, undrained(chunk, (uint32_t)mark));
			atomic_store_explicit(&chunk->kind, 0, memory_order_release);
			memset((char *)chunk + SONDE_RING_HEAD_B, 0, SONDE_RING_CHUNK_B - SONDE_RING_HEAD_B);
			return chunk;
		}
	}
	return NULL;
}

static struct sonde_ring_chunk *take_or_wait(struct sonde_thread *thread, struct sonde_ring_pool *pool)
{
	struct sonde_process *process = sonde_process_get();
	uint32_t seen = atomic_load_explicit(&pool->freed, memory_order_acquire);
	struct sonde_ring_chunk *chunk = take_free(process, pool, (uint32_t)thread->serial);
	for (uint32_t step = 1, still = 1, before = seen; !chunk; step++, still++) {
		sonde_process_doorbell(process, pool);
		if (!may_wait(process, pool, thread, step, still))
			break;
		wait_freed(pool, seen);
		seen = atomic_load_explicit(&pool->freed, memory_order_acquire);
		still = seen == before ? still : 0;
		before = seen;
		chunk = take_free(process, pool, (uint32_t)thread->serial);
	}
	if (!chunk && pool->on_full == SONDE_RING_OVERWRITE)
		chunk = take_own(thread, pool);
	return chunk;
}

struct sonde_ring_chunk *sonde_chunk_take(struct sonde_thread *thread, struct sonde_ring_pool *pool)
{
	struct sonde_ring_chunk *chunk = take_or_wait(thread, pool);
	if (!chunk)
		return NULL;
	thread->waited = thread->waited_long = 0;
	thread->taken++;
	struct sonde_process *process = sonde_process_get();
	/* acq_rel: a chunk passes from its previous thread through the drainer, in another process. This also orders
	 * the two threads according to the C memory model. */
	uint32_t seq = atomic_fetch_add_explicit(&process->chunks, 1, memory_order_acq_rel) + 1;
	atomic_store_explicit(&chunk->state, SONDE_RING_OPEN, memory_order_relaxed);
	chunk->tid = thread->tid;
	chunk->thread = thread->serial;
	chunk->site = 0;
	chunk->prev = 0;
	atomic_store_explicit(&chunk->mark, sonde_ring_mark(seq, 0), memory_order_relaxed);
	return chunk;
}

int sonde_chain_next(struct sonde_thread *thread, struct sonde_ring_pool *pool, struct sonde_chain *chain,
		     enum sonde_ring_kind kind)
{
	struct sonde_ring_chunk *old = chain->chunk;
	if (old) {
		/* Pairs with the fetch_add in sonde_chunk_take(). */
		atomic_fetch_add_explicit(&sonde_process_get()->chunks, 0, memory_order_release);
		atomic_store_explicit(&old->state, SONDE_RING_SEALED, memory_order_release);
		chain->chunk = NULL;
		chain->end = 0;
	}
	struct sonde_ring_chunk *chunk = sonde_chunk_take(thread, pool);
	if (!chunk)
		return -1;
	uint32_t seq = (uint32_t)(atomic_load_explicit(&chunk->mark, memory_order_relaxed) >> 32);
	chunk->prev = chain->last_seq;
	atomic_store_explicit(&chunk->kind, kind, memory_order_release);
	chain->chunk = chunk;
	chain->end = (uint64_t)(uintptr_t)chunk + SONDE_RING_CHUNK_B;
	chain->last_seq = seq;
	if (pool->on_full == SONDE_RING_OVERWRITE)
		remember(thread, pool, chunk, seq);
	return 0;
}
