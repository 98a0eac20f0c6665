/* metric.c: counters and histograms in per-thread memory that the drainer reads, so that threads never contend.
 *
 * A thread's first use takes a chunk; histograms take one per site and thread. The drainer adds up the threads and
 * keeps the totals of exited ones.
 */
#include <errno.h>

#include "fold/hist.h"
#include "runtime/runtime.h"

/* Offsets that the inline path of hot.h assumes for chunks and buckets. */
_Static_assert(offsetof(struct sonde_hot_hist, site) == offsetof(struct sonde_ring_chunk, site), "hot.h: site");
_Static_assert(offsetof(struct sonde_hot_hist, sum) == offsetof(struct sonde_ring_chunk, sum), "hot.h: sum");
_Static_assert(offsetof(struct sonde_hot_hist, not_min) == offsetof(struct sonde_ring_chunk, not_min),
	       "hot.h: not_min");
_Static_assert(offsetof(struct sonde_hot_hist, max) == offsetof(struct sonde_ring_chunk, max), "hot.h: max");
_Static_assert(offsetof(struct sonde_hot_hist, hits) == SONDE_RING_HEAD_B, "hot.h: hits");
_Static_assert(sizeof(((struct sonde_hot_hist *)0)->hits) == SONDE_HIST_BUCKETS * 8, "hot.h: hits");
_Static_assert(SONDE_HOT_HIST_BITS == SONDE_HIST_BITS, "hot.h: buckets");
_Static_assert(SONDE_HIST_BUCKETS * 8 <= SONDE_RING_CHUNK_B - SONDE_RING_HEAD_B, "a histogram fits a chunk");

static void counter_add(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint32_t site, uint64_t amount)
{
	if (!thread->counters) {
		struct sonde_ring_chunk *chunk = sonde_chunk_take(thread, pool);
		if (!chunk) {
			sonde_process_lost(pool, SONDE_RING_LOST_FULL, 1);
			return;
		}
		atomic_store_explicit(&chunk->kind, SONDE_RING_COUNTERS, memory_order_release);
		thread->counters = chunk;
	}
	uint64_t *values = (uint64_t *)(void *)((char *)thread->counters + SONDE_RING_HEAD_B);
	sonde_hot_add(&values[site], amount);
	if (atomic_load(&sonde_process_get()->state) == SONDE_PROCESS_ON)
		__atomic_store_n(&thread->hot.counters, values, __ATOMIC_RELAXED);
}

static int counter_slow(struct sonde_place *place, const char *name, uint64_t amount)
{
	struct sonde_ring_pool *pool;
	struct sonde_thread *thread = sonde_thread_enter(&pool);
	if (!thread)
		return SONDE_ERR_OFF;
	int saved = errno;
	uint32_t site = place ? sonde_place_id(pool, place) : sonde_place_named(pool, SONDE_SITE_COUNTER, name);
	if (atomic_load(&sonde_process_get()->state) == SONDE_PROCESS_ON)
		counter_add(thread, pool, site, amount);
	errno = saved;
	sonde_thread_leave(thread);
	return SONDE_OK;
}

void sonde_hot_slow_count(struct sonde_place *place, uint64_t amount)
{
	counter_slow(place, NULL, amount);
}

int sonde_counter_add(const char *name, uint64_t amount)
{
	if (!name)
		return SONDE_ERR_ARGUMENT;
	return sonde_thread_is_off() ? SONDE_ERR_OFF : counter_slow(NULL, name, amount);
}

/* Raises a word to at least `value`, even if a signal handler raises it concurrently. */
static void raise_to(_Atomic uint64_t *word, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
	while (value > seen &&
	       !atomic_compare_exchange_weak_explicit(word, &seen, value, memory_order_relaxed, memory_order_relaxed))
		;
}

/* Adds a value to a histogram. Only this thread writes to it, and each addition is one instruction, so signal handlers
 * may record into the same histogram. */
static void hist_add(struct sonde_ring_chunk *chunk, uint64_t value)
{
	struct sonde_hot_hist *hist = (struct sonde_hot_hist *)(void *)chunk;
	raise_to(&chunk->not_min, ~value);
	raise_to(&chunk->max, value);
	sonde_hot_bump(&hist->sum, value);
	sonde_hot_bump(&hist->hits[sonde_hist_bucket(value)], 1);
}

static struct sonde_ring_chunk *hist_find(const struct sonde_thread *thread, uint32_t site)
{
	for (uint32_t i = 0; i < SONDE_THREAD_HISTS; i++) {
		struct sonde_ring_chunk *chunk = thread->hists[(site + i) % SONDE_THREAD_HISTS];
		if (!chunk || chunk->site == site)
			return chunk;
	}
	return NULL;
}

static struct sonde_ring_chunk *hist_new(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint32_t site)
{
	uint32_t at = site % SONDE_THREAD_HISTS, probes = 0;
	while (thread->hists[at] && probes++ < SONDE_THREAD_HISTS)
		at = (at + 1) % SONDE_THREAD_HISTS;
	struct sonde_ring_chunk *chunk = thread->hists[at] ? NULL : sonde_chunk_take(thread, pool);
	if (!chunk) {
		sonde_process_lost(pool, thread->hists[at] ? SONDE_RING_LOST_HISTS : SONDE_RING_LOST_FULL, 1);
		return NULL;
	}
	chunk->site = site;
	atomic_store_explicit(&chunk->kind, SONDE_RING_HISTOGRAM, memory_order_release);
	thread->hists[at] = chunk;
	return chunk;
}

static int hist_slow(struct sonde_place *place, const char *name, uint64_t value)
{
	struct sonde_ring_pool *pool;
	struct sonde_thread *thread = sonde_thread_enter(&pool);
	if (!thread)
		return SONDE_ERR_OFF;
	int saved = errno, code = SONDE_ERR_OFF;
	uint32_t site = place ? sonde_place_id(pool, place) : sonde_place_named(pool, SONDE_SITE_HISTOGRAM, name);
	if (atomic_load(&sonde_process_get()->state) == SONDE_PROCESS_ON) {
		struct sonde_ring_chunk *chunk = hist_find(thread, site);
		if (!chunk)
			chunk = hist_new(thread, pool, site);
		code = chunk ? SONDE_OK : SONDE_ERR_FULL;
		struct sonde_hot_hist **hists = (struct sonde_hot_hist **)(void *)thread->hists;
		__atomic_store_n(&thread->hot.hists, hists, __ATOMIC_RELAXED);
		if (chunk)
			hist_add(chunk, value);
	}
	errno = saved;
	sonde_thread_leave(thread);
	return code;
}

void sonde_place_histogram(struct sonde_place *place, uint64_t value)
{
	if (!sonde_thread_is_off())
		hist_slow(place, NULL, value);
}

int sonde_histogram_record(const char *name, uint64_t value)
{
	if (!name)
		return SONDE_ERR_ARGUMENT;
	return sonde_thread_is_off() ? SONDE_ERR_OFF : hist_slow(NULL, name, value);
}
