/* thread.c: per-thread pages, and the slow path of zone events.
 *
 * A thread gets its page at its first event and releases it when it exits (through a pthread key created early enough
 * that setting it never allocates; the drainer also detects exited threads). Pages are kept and reused, so another
 * thread may write `limit` and `off` of any page at any time.
 *
 * While there is no space (or while paused), events are not simply dropped: the end of a recorded zone must not get
 * lost, and an end must not end the wrong zone. So they are reduced to "pending ends, then begins still open", which
 * are written with their own times as soon as there is space. Only zones that both began and ended in the meantime are
 * lost, and counted.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/runtime.h"

#define THREADS_MAX 8192
#define KEY_INLINE_MAX 32 /* glibc and musl store the first keys in the thread itself: setting them never allocates */

static struct sonde_thread nobody; /* limit 0: every thread's first event takes the slow path */
__thread struct sonde_hot *sonde_hot_self __attribute__((tls_model("initial-exec"))) = &nobody.hot;

static _Atomic(struct sonde_thread *) pages[THREADS_MAX];
static _Atomic uint32_t pages_used;
static pthread_key_t exit_key;
static int exit_key_made;

static void chunk_release(struct sonde_ring_chunk *chunk)
{
	if (chunk)
		atomic_store_explicit(&chunk->state, SONDE_RING_RELEASED, memory_order_release);
}

/* Resets everything but the page's position in the table and its `off`. */
static void page_reset(struct sonde_thread *thread)
{
	__atomic_store_n(&thread->hot.limit, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->hot.counters, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->hot.cursor, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->hot.hists, NULL, __ATOMIC_RELAXED);
	size_t from = offsetof(struct sonde_thread, pool);
	memset((char *)thread + from, 0, sizeof(*thread) - from);
}

/* Runs at thread exit; an event in a later destructor registers the thread again. */
static void thread_exit(void *data)
{
	struct sonde_thread *thread = data;
	sonde_hot_self = &nobody.hot;
	struct sonde_process *process = sonde_process_get();
	if (!process || !thread->tid)
		return;
	/* Its chunks may belong to an earlier recording, and its pool may have been reused. */
	int ours = thread->recording == atomic_load(&process->recording);
	struct sonde_ring_pool *pool = ours ? thread->pool : NULL;
	uint32_t held = thread->owed + thread->opened;
	if (pool && held) {
		sonde_process_lost(pool, SONDE_RING_LOST_FULL, held);
		atomic_fetch_sub(&pool->pending, held);
	}
	atomic_fetch_add_explicit(&process->chunks, 0, memory_order_release); /* see sonde_chunk_take() */
	chunk_release(ours ? thread->zones.chunk : NULL);
	chunk_release(ours ? thread->events.chunk : NULL);
	chunk_release(ours ? thread->counters : NULL);
	for (uint32_t i = 0; ours && i < SONDE_THREAD_HISTS; i++)
		chunk_release(thread->hists[i]);
	page_reset(thread);
	atomic_store_explicit(&thread->in_use, 0, memory_order_release);
	if (pool)
		sonde_process_doorbell(process, pool);
}

void sonde_thread_key(void)
{
	if (exit_key_made || pthread_key_create(&exit_key, thread_exit))
		return;
	exit_key_made = exit_key < KEY_INLINE_MAX ? 1 : -1;
	if (exit_key_made < 0)
		pthread_key_delete(exit_key);
}

static struct sonde_thread *page_new(void)
{
	void *page =
	    mmap(NULL, SONDE_THREAD_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (!madvise(page, SONDE_THREAD_B, MADV_WIPEONFORK))
		return page;
	munmap(page, SONDE_THREAD_B);
	return NULL;
}

static struct sonde_thread *page_claim(void)
{
	for (uint32_t i = 0; i < THREADS_MAX; i++) {
		struct sonde_thread *page = atomic_load_explicit(&pages[i], memory_order_acquire);
		uint32_t free_page = 0;
		if (page) {
			if (atomic_compare_exchange_strong(&page->in_use, &free_page, 1))
				return page;
			continue;
		}
		struct sonde_thread *fresh = page_new();
		if (!fresh)
			return NULL;
		atomic_store(&fresh->in_use, 1);
		if (atomic_compare_exchange_strong(&pages[i], &page, fresh)) {
			uint32_t used = atomic_load(&pages_used);
			while (used < i + 1 && !atomic_compare_exchange_weak(&pages_used, &used, i + 1))
				;
			return fresh;
		}
		munmap(fresh, SONDE_THREAD_B);
		i--;
	}
	return NULL;
}

void sonde_thread_forget_all(void)
{
	uint32_t used = atomic_load(&pages_used);
	for (uint32_t i = 0; i < used; i++)
		atomic_store(&pages[i], NULL);
	atomic_store(&pages_used, 0);
	__atomic_store_n(&nobody.hot.off, 0, __ATOMIC_RELAXED);
}

void sonde_thread_interrupt_all(int off)
{
	uint32_t used = atomic_load(&pages_used);
	for (uint32_t i = 0; i < used; i++) {
		struct sonde_thread *page = atomic_load_explicit(&pages[i], memory_order_acquire);
		if (!page)
			continue;
		__atomic_store_n(&page->hot.off, (uint64_t)off, __ATOMIC_SEQ_CST);
		__atomic_store_n(&page->hot.limit, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&page->hot.counters, NULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&page->hot.hists, NULL, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&nobody.hot.off, (uint64_t)off, __ATOMIC_SEQ_CST);
}

struct sonde_thread *sonde_thread_current(void)
{
	struct sonde_hot *hot = sonde_hot_self;
	struct sonde_thread *thread = (struct sonde_thread *)(void *)hot;
	return !hot || hot == &nobody.hot || !thread->tid ? NULL : thread;
}

/* The only thread of a forked child continues with its wiped page, which the table has forgotten. */
static void page_adopt(struct sonde_thread *thread)
{
	atomic_store(&thread->in_use, 1);
	for (uint32_t i = 0; i < THREADS_MAX; i++) {
		struct sonde_thread *empty = NULL;
		if (!atomic_compare_exchange_strong(&pages[i], &empty, thread) && empty != thread)
			continue;
		uint32_t used = atomic_load(&pages_used);
		while (used < i + 1 && !atomic_compare_exchange_weak(&pages_used, &used, i + 1))
			;
		return;
	}
}

void sonde_thread_off(struct sonde_process *process)
{
	if (!sonde_hot_self)
		return;
	__atomic_store_n(&sonde_hot_self->off, 1, __ATOMIC_SEQ_CST);
	/* A concurrent start either sees this store and undoes it, or its state is seen here. */
	if (atomic_load(&process->state) != SONDE_PROCESS_OFF)
		__atomic_store_n(&sonde_hot_self->off, 0, __ATOMIC_SEQ_CST);
}

static struct sonde_thread *thread_register(struct sonde_process *process)
{
	struct sonde_thread *thread = (struct sonde_thread *)(void *)sonde_hot_self;
	if (thread != &nobody)
		page_adopt(thread);
	else
		thread = page_claim();
	if (!thread)
		return NULL;
	thread->serial = atomic_fetch_add(&process->threads, 1) + 1;
	thread->tid = (uint32_t)syscall(SYS_gettid);
	sonde_hot_self = &thread->hot;
	if (exit_key_made > 0)
		pthread_setspecific(exit_key, thread);
	return thread;
}

/* Number of words before `cursor` that are in no chunk: if we are in a signal handler, the events that it has
 * interrupted have reserved them, and have not checked the limit yet. */
static uint64_t words_beyond(const struct sonde_thread *thread, uint64_t cursor)
{
	return cursor > thread->zones.end ? (cursor - thread->zones.end) / 8 : 0;
}

/* Called when the thread's pool has changed, because a new recording has begun: the thread abandons its chunks and
 * reserved words in the old pool. */
static void pool_changed(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint32_t recording)
{
	uint32_t tid = thread->tid;
	uint64_t serial = thread->serial, beyond = thread->beyond + words_beyond(thread, thread->hot.cursor);
	page_reset(thread);
	thread->busy = 1;
	thread->beyond = beyond;
	thread->tid = tid;
	thread->serial = serial;
	thread->pool = pool;
	thread->recording = recording;
}

struct sonde_thread *sonde_thread_enter(struct sonde_ring_pool **pool)
{
	int saved = errno;
	*pool = NULL;
	if (!sonde_hot_self)
		return NULL;
	struct sonde_process *process = sonde_process_get();
	*pool = process ? sonde_process_pool(process) : NULL;
	struct sonde_thread *thread = NULL;
	if (*pool) {
		thread = sonde_thread_current();
		if (!thread)
			thread = thread_register(process);
	}
	errno = saved;
	if (!thread)
		return NULL;
	if (thread->busy) {
		sonde_process_lost(*pool, SONDE_RING_LOST_SIGNAL, 1);
		return NULL;
	}
	thread->busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	uint32_t recording = atomic_load_explicit(&process->recording, memory_order_relaxed);
	if (thread->pool != *pool || thread->recording != recording)
		pool_changed(thread, *pool, recording);
	return thread;
}

uint32_t sonde_thread_innermost(const struct sonde_thread *thread)
{
	uint64_t at = SONDE_HOT_LOAD(thread->hot.cursor);
	if (!thread->zones.chunk || thread->owed + thread->opened)
		return 0;
	uint64_t base = (uint64_t)(uintptr_t)thread->zones.chunk + SONDE_RING_HEAD_B;
	uint64_t ended = 0;
	for (; at > base && at <= thread->zones.end; at -= 8) {
		uint64_t word = __atomic_load_n((uint64_t *)(uintptr_t)(at - 8), __ATOMIC_RELAXED);
		uint32_t site = (uint32_t)word & SONDE_RING_SITE_MASK;
		if (!word)
			return 0;
		if (site && !ended)
			return site;
		ended += site ? UINT64_MAX : 1;
	}
	return 0;
}

/* --- zone events without space ------------------------------------------------------------------------------------ */

static void pend(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint64_t word, int paused)
{
	uint32_t held = thread->owed + thread->opened;
	int is_end = !(word & SONDE_RING_SITE_MASK);
	if (is_end && thread->depth_lost) {
		thread->depth_lost--;
		return; /* counted together with its begin */
	}
	if (is_end && thread->opened) {
		thread->opened--;
		atomic_fetch_sub_explicit(&pool->pending, 1, memory_order_relaxed);
		if (!paused)
			sonde_process_lost(pool, SONDE_RING_LOST_FULL, 2);
		return;
	}
	if (held < SONDE_THREAD_PENDING) {
		thread->pending[held] = word;
		thread->owed += (uint32_t)is_end;
		thread->opened += (uint32_t)!is_end;
		atomic_fetch_add_explicit(&pool->pending, 1, memory_order_relaxed);
		return;
	}
	thread->depth_lost += (uint64_t)!is_end;
	sonde_process_lost(pool, SONDE_RING_LOST_DEEP, is_end ? 1 : 2);
}

/* Writes a word into the current chunk; −1 if that is full and there is no other. */
static int zone_store(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint64_t word)
{
	for (;;) {
		uint64_t slot = sonde_hot_add(&thread->hot.cursor, 8);
		if (thread->zones.end && slot < thread->zones.end) {
			sonde_hot_store(slot, word);
			return 0;
		}
		thread->beyond += words_beyond(thread, slot);
		if (sonde_chain_next(thread, pool, &thread->zones, SONDE_RING_ZONES)) {
			thread->hot.cursor = 0;
			return -1;
		}
		thread->hot.cursor = (uint64_t)(uintptr_t)sonde_ring_words(thread->zones.chunk);
	}
}

static int zone_flush(struct sonde_thread *thread, struct sonde_ring_pool *pool)
{
	uint32_t held = thread->owed + thread->opened;
	for (uint32_t i = 0; i < held; i++) {
		if (!zone_store(thread, pool, thread->pending[i]))
			continue;
		memmove(thread->pending, thread->pending + i, (held - i) * sizeof(*thread->pending));
		uint32_t ends = i < thread->owed ? i : thread->owed;
		thread->owed -= ends;
		thread->opened -= i - ends;
		atomic_fetch_sub_explicit(&pool->pending, i, memory_order_relaxed);
		return -1;
	}
	if (held)
		atomic_fetch_sub_explicit(&pool->pending, held, memory_order_relaxed);
	thread->owed = 0;
	thread->opened = 0;
	return 0;
}

static void zone_word(struct sonde_thread *thread, struct sonde_ring_pool *pool, uint64_t word)
{
	struct sonde_process *process = sonde_process_get();
	__atomic_store_n(&thread->hot.limit, 0, __ATOMIC_RELAXED); /* handlers take the slow path */
	int paused = atomic_load(&process->state) != SONDE_PROCESS_ON;
	if (paused || thread->depth_lost || zone_flush(thread, pool) || zone_store(thread, pool, word)) {
		pend(thread, pool, word, paused);
		return;
	}
	if (pool->clock != SONDE_RING_CLOCK_CYCLES || thread->beyond)
		return;
	__atomic_store_n(&thread->hot.limit, thread->zones.end, __ATOMIC_SEQ_CST);
	if (atomic_load(&process->state) != SONDE_PROCESS_ON || atomic_load(&process->pool) != pool)
		__atomic_store_n(&thread->hot.limit, 0, __ATOMIC_RELAXED);
}

/* Stores ends that handlers left behind, in order: they are older than the next event. */
static void late_store(struct sonde_thread *thread)
{
	uint32_t stored = 0;
	do
		for (; stored < __atomic_load_n(&thread->late, __ATOMIC_RELAXED); stored++)
			zone_word(thread, thread->pool, thread->late_ends[stored]);
	while (
	    !__atomic_compare_exchange_n(&thread->late, &(uint32_t){stored}, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void sonde_thread_leave(struct sonde_thread *thread)
{
	do {
		thread->busy = 1;
		atomic_signal_fence(memory_order_seq_cst);
		late_store(thread);
		thread->skipped = 0;
		atomic_signal_fence(memory_order_seq_cst);
		thread->busy = 0;
		atomic_signal_fence(memory_order_seq_cst);
	} while (thread->late);
}

/* A handler's event while its thread is busy. With a limit of 0, the handler's other events come here too, so that a
 * zone is recorded or left out as a whole. */
static void zone_inside(struct sonde_thread *thread, struct sonde_ring_pool *pool, int is_end)
{
	__atomic_store_n(&thread->hot.limit, 0, __ATOMIC_RELAXED);
	if (is_end && !thread->skipped && thread->late < SONDE_THREAD_LATE) {
		thread->late_ends[thread->late++] = sonde_event_time(pool) << SONDE_RING_SITE_BITS;
		return;
	}
	if (!is_end)
		thread->skipped++;
	else if (thread->skipped)
		thread->skipped--;
	sonde_process_lost(pool, SONDE_RING_LOST_SIGNAL, 1);
}

/* Like sonde_thread_enter(), but from here on handlers store no words, and those stored before are complete. *inside:
 * the caller is such a handler, and must not call sonde_thread_leave(). */
static struct sonde_thread *zone_enter(struct sonde_ring_pool **pool, int *inside)
{
	struct sonde_thread *thread = sonde_thread_current();
	*inside = thread && thread->busy;
	if (*inside) {
		*pool = thread->pool;
		return *pool ? thread : NULL;
	}
	thread = sonde_thread_enter(pool);
	if (!thread)
		return NULL;
	__atomic_store_n(&thread->hot.limit, 0, __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
	late_store(thread);
	return thread;
}

#define GIVEN_BACK 1u /* not an address of a word */

/* Gives a reserved slot back and returns GIVEN_BACK. Returns the slot if it must be filled in place, because the
 * drainer waits for it: a handler has then stored words after it or switched to another chunk. Handlers give back all
 * slots that they do not fill. */
static uint64_t slot_kept(uint64_t slot, uint64_t size_b)
{
	uint64_t after = slot + size_b;
	int back =
	    __atomic_compare_exchange_n(&sonde_hot_self->cursor, &after, slot, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return back ? GIVEN_BACK : slot;
}

/* False past the end of a chunk, in no chunk, or in a chunk of an earlier recording. Such a slot is subtracted from the
 * slots that zone_store() found beyond the end. */
static int slot_is_word(struct sonde_thread *thread, const struct sonde_ring_pool *pool, uint64_t slot)
{
	if (slot % 8)
		return 0;
	uint64_t at = slot - (uint64_t)(uintptr_t)pool;
	int is_word = at >= SONDE_RING_CHUNKS_OFFSET && at < sonde_ring_pool_b(pool->chunk_count) &&
		      slot % SONDE_RING_CHUNK_B >= SONDE_RING_HEAD_B;
	thread->beyond -= !is_word && thread->beyond;
	return is_word;
}

void sonde_hot_slow(struct sonde_place *place, uint64_t slot)
{
	struct sonde_ring_pool *pool;
	int inside;
	slot = slot_kept(slot, 8);
	struct sonde_thread *thread = zone_enter(&pool, &inside);
	if (!thread)
		return;
	int saved = errno, keep = slot_is_word(thread, pool, slot);
	if (inside && !keep) {
		zone_inside(thread, pool, !place);
		return;
	}
	uint64_t word = place ? sonde_place_id(pool, place) : 0;
	word |= sonde_event_time(pool) << SONDE_RING_SITE_BITS;
	if (keep)
		sonde_hot_store(slot, word);
	else
		zone_word(thread, pool, word);
	errno = saved;
	if (!inside)
		sonde_thread_leave(thread);
}

void sonde_hot_slow_next(struct sonde_place *place, uint64_t slot)
{
	struct sonde_ring_pool *pool;
	int inside;
	slot = slot_kept(slot, 16);
	struct sonde_thread *thread = zone_enter(&pool, &inside);
	if (!thread)
		return;
	int saved = errno, keep = slot_is_word(thread, pool, slot);
	int keep_next = slot_is_word(thread, pool, slot + 8) && keep;
	if (inside && !keep)
		zone_inside(thread, pool, 1);
	if (inside && !keep_next)
		zone_inside(thread, pool, 0);
	uint64_t time = sonde_event_time(pool) << SONDE_RING_SITE_BITS;
	uint64_t word = time | sonde_place_id(pool, place);
	if (keep)
		sonde_hot_store(slot, time);
	else if (!inside)
		zone_word(thread, pool, time);
	if (keep_next)
		sonde_hot_store(slot + 8, word);
	else if (!inside)
		zone_word(thread, pool, word);
	errno = saved;
	if (!inside)
		sonde_thread_leave(thread);
}
