/* thread.h: a thread's part of the ring, and the state of its hooks (hook/hook_thread.c).
 *
 * A hook writes its records (format/heap.h, format/wait.h) into its thread's chunk without a lock, system call or
 * allocation, between hook_thread_enter() and hook_thread_leave().
 */
#ifndef SONDE_INJECT_HOOK_THREAD_H
#define SONDE_INJECT_HOOK_THREAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "format/heap.h"
#include "inject/hook/connect.h"
#include "inject/hook/likely.h"
#include "inject/hook/walk.h"

#pragma GCC visibility push(hidden)

#define HOOK_OUTSIDE 1u /* in no hook */

/* State of one thread, which owns it. Reads as zeros in a forked child. Fields used by hooks come first. */
struct hook_thread {
	uint64_t
	    where; /* HOOK_OUTSIDE, or the stack address of the hook that the thread is in; 0 = in a forked child */
	_Atomic uint64_t *at, *limit; /* next word of the chunk; below `limit` a block fits; NULL without a chunk */
	uint64_t last;                /* ticks of the previous record */
	uint64_t begun;               /* the last block returned, if it was recorded */
	uint64_t deleted;             /* the block that operator delete is about to free */
	struct hook_frame *innermost; /* points into `frames` */
	uint8_t status;               /* result of the last walk to the outermost frame */
	uint8_t is_cut;               /* frames[1] is not the outermost frame: there were too many */
	uint8_t has_cycles;
	uint8_t has_paused;  /* has waited in vain for a chunk: does not wait again until it gets one */
	uint64_t generation; /* generation of the rules by which the frames were unwound */
	uint64_t stack_low, stack_end;
	_Atomic uint64_t *end;
	struct sonde_ring_pool *pool;
	struct sonde_ring_chunk *chunk;
	struct hook_thread *next; /* in the list of reusable states */
	uint64_t serial;
	uint64_t opened; /* ticks when its chunk was opened; 0 = it had none */
	uint32_t last_seq;
	pid_t pid, tid;
	uint64_t random;
	/* outermost first, from [1] on: [0] is a sentinel that is in no stack and has the highest slot */
	struct hook_frame frames[HOOK_WALK_MAX + 1];
	struct hook_check checks[HOOK_WALK_MAX * HOOK_READS_MAX]; /* outermost first, too */
	/* leaf first; not a local variable, since the thread's stack may be small */
	struct hook_step steps[HOOK_WALK_MAX];
};

extern __thread struct hook_thread *hook_self __attribute__((tls_model("initial-exec")));

/* Blocks signals, and so siglongjmp() out of handlers, while we connect or hold a lock, except signals raised by the
 * program's own faults. Returns the argument for hook_thread_let_signals(). */
uint64_t hook_thread_hold_signals(void);
void hook_thread_let_signals(uint64_t before);

/* In a forked child: forgets the state of the calling thread. */
void hook_thread_forget(void);

/* Does what hook_thread_enter() does, in all cases except that of a known thread that is in no hook. */
struct hook_thread *hook_thread_enter_slowly(uint64_t where);

/* The calling thread, marked as inside a hook until hook_thread_leave(); NULL = nothing is recorded now. */
static inline struct hook_thread *hook_thread_enter(void)
{
	struct hook_thread *thread = hook_self;
	uint64_t where = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	if (unlikely(!thread) || unlikely(thread->where != HOOK_OUTSIDE))
		return hook_thread_enter_slowly(where);
	thread->where = where;
	atomic_signal_fence(memory_order_seq_cst);
	return thread;
}

static inline void hook_thread_leave(struct hook_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->where = HOOK_OUTSIDE;
}

/* Ensures room for `words` and a preceding TIME in one chunk, waiting if all chunks are full; 0 = there is no room.
 * With 0 words nothing counts as lost if there is no chunk yet. */
int hook_thread_capacity(struct hook_thread *thread, uint32_t words);

/* Ensures room for the record of a block's allocation or free. */
static inline int hook_thread_has_capacity(struct hook_thread *thread)
{
	return likely(thread->at < thread->limit) || hook_thread_capacity(thread, 4);
}

static inline void hook_thread_put(struct hook_thread *thread, uint64_t word)
{
	_Atomic uint64_t *at = thread->at;
	atomic_store_explicit(at, word, memory_order_release);
	thread->at = at + 1;
}

/* Writes a record of two words. The first is stored last, so a hook that is left by siglongjmp leaves no partial
 * record. */
static inline void hook_thread_put_two(struct hook_thread *thread, uint64_t first, uint64_t second)
{
	_Atomic uint64_t *at = thread->at;
	atomic_store_explicit(at + 1, second, memory_order_relaxed);
	atomic_store_explicit(at, first, memory_order_release);
	thread->at = at + 2;
}

/* Writes a longer record in the same way. */
static inline void hook_thread_put_many(struct hook_thread *thread, const uint64_t *words, uint32_t count)
{
	_Atomic uint64_t *at = thread->at;
	for (uint32_t i = 1; i < count; i++)
		atomic_store_explicit(at + i, words[i], memory_order_relaxed);
	atomic_store_explicit(at, words[0], memory_order_release);
	thread->at = at + count;
}

static inline uint64_t hook_thread_now(const struct hook_thread *thread)
{
	uint64_t time = likely(thread->has_cycles) ? sonde_clock_cycles() : sonde_clock_now_ns();
	return time >> SONDE_HEAP_TICK_SHIFT;
}

/* Writes a TIME record: later records count from `ticks`. */
void hook_thread_put_time(struct hook_thread *thread, uint64_t ticks);
/* Writes the current time, for records without a time of their own. The caller has ensured room, except for these two
 * words. */
void hook_thread_time(struct hook_thread *thread);

/* Ticks since the thread's last record, after a TIME record if that was too long ago. The caller has ensured room. */
static inline uint64_t hook_thread_ticks(struct hook_thread *thread)
{
	uint64_t ticks = hook_thread_now(thread), passed = ticks - thread->last;
	thread->last = ticks;
	if (likely(passed <= SONDE_HEAP_TICKS_MAX))
		return passed;
	hook_thread_put_time(thread, ticks); /* also if the counter went back slightly */
	return 0;
}

#pragma GCC visibility pop

#endif
