/* connect.h: an injected object's way to the recorder, without a descriptor that stays open in the program.
 *
 * Nothing here allocates, locks, sets errno, or goes through functions that the program may have replaced. Where the
 * program may have locked itself in: between inject_calls_begin() and inject_calls_end() (hook/sandbox.h).
 */
#ifndef SONDE_INJECT_HOOK_CONNECT_H
#define SONDE_INJECT_HOOK_CONNECT_H

#include <stddef.h>

#include "runtime/runtime.h"

/* On a page that a forked child reads as zeros: it finds state NEW and connects for itself. */
struct inject_link {
	struct sonde_process process;
	int code; /* of the last try */
	uint32_t tries, unanswered;
	volatile uint32_t quiet; /* times that it is not tried before the next try */
};

/* Told when connecting: enum sonde_link_flag. */
extern uint32_t inject_connect_flags;
/* Times that a recorder which did not answer is left in peace before the second and last try; 0 = there is none. */
extern uint32_t inject_connect_quiet;

/* As getenv(), which the program may have one of its own of; NULL = it is not there. */
const char *inject_connect_env(const char *name);

/* Takes the name of the recorder's socket out of the environment; 0 = there is none. */
int inject_connect_name(void);
/* Whether it is this one. */
int inject_connect_is_named(const char *name, size_t most_b);

/* Bytes of address space that the process may still take; UINT64_MAX = they are not limited. */
uint64_t inject_connect_left_b(void);
/* Whether that is so much that it will not miss `size_b` of it. */
int inject_connect_spares(uint64_t size_b);

/* `size_b` zeroed bytes that a forked child reads as zeros; NULL = none. */
void *inject_connect_page(size_t size_b);

/* The process's pool, after connecting when nobody has tried yet; NULL = none: process.state says whether to ask again.
 * Usable in signal handlers. */
struct sonde_ring_pool *inject_connect_pool(struct inject_link *link);

/* Clears a set bit below `most` in a word of a map; −1 = there is none. */
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

/* A free chunk; NULL = none. */
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

/* Asks for the pool to be drained soon, unless somebody has asked already. */
void inject_connect_ring(struct sonde_ring_pool *pool);

/* Sends a message without waiting for anybody; size 0: none, the connection alone wakes the recorder. */
void inject_connect_send(const void *message, size_t size_b);

/* The recorder has ended; 0 also when that is not known. */
int inject_connect_is_gone(void);
/* Nobody listens there any more; also where neither way leads to the recorder: in other namespaces. */
int inject_connect_is_refused(void);

/* Sends `question` and waits, `wait_s` at most, for an answer of exactly `answer_b` bytes and perhaps a descriptor
 * (*fd, else −1); 0 or a negative errno: −EHOSTDOWN when the recorder is stopped (runtime/link.c): then nobody waits
 * until it goes on. */
int inject_connect_ask(const void *question, size_t question_b, void *answer, size_t answer_b, int *fd, int wait_s);
/* Whether it goes on now; told once. What was not asked meanwhile may be asked again. */
int inject_connect_is_back(void);
void inject_connect_close(int fd);

#endif
