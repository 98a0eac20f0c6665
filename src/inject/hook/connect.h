/* connect.h: an injected object's connection to the recorder, without a descriptor that stays open in the program.
 *
 * Nothing here allocates, locks, sets errno, or calls functions that the program may have replaced. If the program may
 * have sandboxed itself, call only between inject_calls_begin() and inject_calls_end() (hook/sandbox.h).
 */
#ifndef SONDE_INJECT_HOOK_CONNECT_H
#define SONDE_INJECT_HOOK_CONNECT_H

#include <stddef.h>

#include "runtime/runtime.h"

/* Lies on a page that reads as zeros in a forked child, so that the child finds state NEW and makes its own
 * connection. */
struct inject_link {
	struct sonde_process process;
	int code; /* result of the last attempt */
	uint32_t tries, unanswered;
	volatile uint32_t quiet; /* calls to skip before the next attempt */
};

/* Sent when connecting: enum sonde_link_flag. */
extern uint32_t inject_connect_flags;
/* Calls to skip after a recorder did not answer, before the second and last attempt; 0 = no second attempt. */
extern uint32_t inject_connect_quiet;

/* Like getenv(), which the program may have replaced; NULL = not set. */
const char *inject_connect_env(const char *name);

/* Reads the name of the recorder's socket from the environment; 0 = not set. */
int inject_connect_name(void);
/* True if the recorder's socket has this name. */
int inject_connect_is_named(const char *name, size_t most_b);

/* Bytes of address space that the process may still use; UINT64_MAX = unlimited. */
uint64_t inject_connect_left_b(void);
/* True if the process can spare `size_b` bytes of address space. */
int inject_connect_spares(uint64_t size_b);

/* `size_b` zeroed bytes that read as zeros in a forked child; NULL = none. */
void *inject_connect_page(size_t size_b);

/* The process's pool, after connecting if that was not tried yet; NULL = none: link->process.state tells whether to ask
 * again. Async-signal-safe. */
struct sonde_ring_pool *inject_connect_pool(struct inject_link *link);

/* Clears and returns a set bit below `most` in a word of a map; −1 = none is set. */
static inline int inject_connect_take_bit(_Atomic uint64_t *word, uint32_t most)
{
	uint64_t bits = atomic_load_explicit(word, memory_order_relaxed);
	while (bits && (uint32_t)__builtin_ctzll(bits) < most) {
		uint64_t bit = bits & -bits;
		/* acquire: the drainer zeroed the chunk before it set the bit */
		bits = atomic_fetch_and_explicit(word, ~bit, memory_order_acquire);
		if (bits & bit)
			return __builtin_ctzll(bit);
	}
	return -1;
}

/* Takes a free chunk; NULL = none. */
static inline struct sonde_ring_chunk *inject_connect_take(struct sonde_ring_pool *pool)
{
	uint32_t committed = atomic_load_explicit(&pool->committed, memory_order_acquire);
	if (committed > pool->chunk_count)
		committed = pool->chunk_count;
	for (uint32_t first = 0; first < committed; first += 64) {
		int at = inject_connect_take_bit(&pool->free_map[first / 64], committed - first);
		if (at >= 0)
			return sonde_ring_chunk_at(pool, first + (uint32_t)at);
	}
	return NULL;
}

/* Requests draining of the pool, unless already requested. */
void inject_connect_ring(struct sonde_ring_pool *pool);

/* Sends a message without waiting; size 0: no message, the connection itself wakes the recorder. */
void inject_connect_send(const void *message, size_t size_b);

/* True if the recorder has ended; 0 also if unknown. */
int inject_connect_is_gone(void);
/* True if nobody listens on the socket any more, or if the recorder cannot be reached at any address (in other
 * namespaces). */
int inject_connect_is_refused(void);

/* Sends `question` and waits, at most `wait_s`, for an answer of exactly `answer_b` bytes and perhaps a descriptor
 * (*fd, else −1). Returns 0 or a negative errno: −EHOSTDOWN if the recorder is stopped (runtime/link.c); from then on
 * no thread waits for an answer, until the recorder continues. */
int inject_connect_ask(const void *question, size_t question_b, void *answer, size_t answer_b, int *fd, int wait_s);
/* True once, when a stopped recorder has continued: questions that were not sent may be asked again. */
int inject_connect_is_back(void);
void inject_connect_close(int fd);

#endif
