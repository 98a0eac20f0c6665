/* writer.c: writes events into the process's ring, from a signal handler, without waiting.
 *
 * A reduced sonde_event_reserve(): one kind of event and one writer per thread, because all signals are blocked in the
 * handler. If there is no free chunk, the sample is dropped and counted, and the recorder is woken to drain and add
 * memory; the CPU time then goes to the next sample, since samples carry the thread's clock.
 */
#include <string.h>

#include "inject/hook/inject.h"

static void close_chunk(struct inject_thread *thread, enum sonde_ring_state state)
{
	if (!thread->chunk)
		return;
	if (thread->at < SONDE_RING_WORDS)
		atomic_store_explicit(&sonde_ring_words(thread->chunk)[thread->at], SONDE_RING_EVENTS_END,
				      memory_order_release);
	atomic_store_explicit(&thread->chunk->state, (uint32_t)state, memory_order_release);
	thread->chunk = NULL;
}

static int open_chunk(struct inject_thread *thread, struct sonde_ring_pool *pool)
{
	struct sonde_process *process = inject_process();
	struct sonde_ring_chunk *chunk = inject_connect_take(pool);
	if (!chunk) {
		inject_connect_ring(pool);
		return -1;
	}
	uint32_t seq = atomic_fetch_add(&process->chunks, 1) + 1;
	if (!thread->serial)
		thread->serial = atomic_fetch_add(&process->threads, 1) + 1;
	atomic_store_explicit(&chunk->state, SONDE_RING_OPEN, memory_order_relaxed);
	chunk->tid = (uint32_t)thread->tid;
	chunk->thread = thread->serial;
	chunk->prev = thread->last_seq;
	atomic_store_explicit(&chunk->mark, sonde_ring_mark(seq, 0), memory_order_relaxed);
	atomic_store_explicit(&chunk->kind, SONDE_RING_EVENTS, memory_order_release);
	thread->chunk = chunk;
	thread->at = 0;
	thread->last_seq = seq;
	return 0;
}

static struct sonde_event *lose(struct sonde_ring_pool *pool, enum sonde_ring_lost cause)
{
	atomic_fetch_add_explicit(&pool->lost[cause], 1, memory_order_relaxed);
	return NULL;
}

struct sonde_event *inject_writer_reserve(struct sonde_ring_pool *pool, uint32_t words)
{
	struct inject_thread *thread = &inject_self;
	if (words > SONDE_RING_WORDS)
		return lose(pool, SONDE_RING_LOST_LONG);
	if (thread->pool != pool) {
		thread->chunk = NULL;
		thread->serial = 0;
		thread->last_seq = 0;
		thread->pool = pool;
	}
	if (thread->chunk && words > SONDE_RING_WORDS - thread->at)
		close_chunk(thread, SONDE_RING_SEALED);
	if (!thread->chunk && open_chunk(thread, pool))
		return lose(pool, SONDE_RING_LOST_FULL);
	_Atomic uint64_t *slot = &sonde_ring_words(thread->chunk)[thread->at];
	thread->at += words;
	atomic_store_explicit(slot, (uint64_t)words << 16, memory_order_release);
	return (struct sonde_event *)(void *)slot;
}

void inject_writer_publish(struct sonde_event *event, const struct sonde_event *head)
{
	event->time = head->time;
	uint64_t word = head->type | (uint64_t)head->words << 16 | (uint64_t)head->site << 32;
	atomic_store_explicit((_Atomic uint64_t *)(void *)event, word, memory_order_release);
}

void inject_writer_release(void)
{
	close_chunk(&inject_self, SONDE_RING_RELEASED);
}
