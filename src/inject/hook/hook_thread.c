/* hook_thread.c: a thread's chunk of the ring, from its first record to its last.
 *
 * The state of a thread is mapped when it first records something, and reused for another thread when it ends. A hook
 * that finds no free chunk waits for the recorder: a heap profile with holes is wrong, a waiting program is only slow.
 * Hooks of blocking calls may run while the program holds a lock: they wait only briefly, and only if waiting has
 * recently helped.
 *
 * A thread gets its first part of a chunk before its first wait, because thousands of threads may be released from a
 * wait, and end, at the same time.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "inject/hook/births.h"
#include "inject/hook/connect.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/object.h"
#include "inject/hook/process.h"
#include "inject/hook/rules.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/thread.h"
#include "inject/hook/walk.h"

#define WAIT_NS 100000000 /* then the recorder is notified again, and checked for being alive */
#define WAITS_MAX 300u
#define WAITS_GONE 20u         /* a live recorder never makes threads wait this long */
#define PAUSE_STEP_NS 50000000 /* for hooks that wait only briefly */
#define PAUSE_STILL_NS 150000000u
#define PAUSE_NS 500000000u
#define PAUSES_VAIN 2u
#define KEPT 8u               /* one chunk in KEPT is reserved for threads that need a part */
#define FAST_TICKS (1u << 20) /* about 10 ms */
#define TIME_WORDS 2u
#define KEYS_INSIDE 32u /* PTHREAD_KEY_2NDLEVEL_SIZE */
#define BLOCK_WORDS 4u  /* including its SIZE */

#pragma weak pthread_key_create
#pragma weak pthread_setspecific

__thread struct hook_thread *hook_self __attribute__((tls_model("initial-exec")));
static __thread uint8_t is_beginning __attribute__((tls_model("initial-exec")));
static __thread struct inject_stack born __attribute__((tls_model("initial-exec"))); /* stack of a created thread */

static _Atomic(struct hook_thread *) spare; /* states of ended threads */
static pthread_key_t end_key;
static _Atomic int has_key;

#define FAULT(number) (UINT64_C(1) << ((number)-1))
#define FAULTS                                                                                             \
	(FAULT(SIGSEGV) | FAULT(SIGBUS) | FAULT(SIGILL) | FAULT(SIGFPE) | FAULT(SIGTRAP) | FAULT(SIGSYS) | \
	 FAULT(SIGABRT))

uint64_t hook_thread_hold_signals(void)
{
	uint64_t held = ~FAULTS, before = 0;
	inject_machine_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&held, (long)&before, sizeof(held), 0, 0);
	return before;
}

void hook_thread_let_signals(uint64_t before)
{
	inject_machine_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

/* --- chunks ------------------------------------------------------------------------------------------------------ */

/* True once recording has ended for this process. */
static int has_left(void)
{
	return atomic_load(&hook_process->link.process.state) == SONDE_PROCESS_OFF;
}

/* A free part of a split chunk; NULL = none. */
static struct sonde_ring_chunk *take_part(struct sonde_ring_pool *pool)
{
	for (uint32_t word = 0; word < SONDE_RING_MAX_CHUNKS / 64; word++) {
		uint64_t bits = atomic_load(&pool->split_map[word]);
		for (; bits; bits &= bits - 1) {
			uint64_t bit = bits & -bits;
			uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bit);
			struct sonde_ring_chunk *chunk = sonde_ring_chunk_at(pool, index);
			int part = inject_connect_take_bit(&chunk->free_parts, SONDE_RING_PARTS);
			if (part > 0)
				return sonde_ring_part_at(chunk, (uint32_t)part);
			atomic_fetch_and(&pool->split_map[word], ~bit);
			if (atomic_load(&chunk->free_parts)) /* returned, or split again, in the meantime */
				atomic_fetch_or(&pool->split_map[word], bit);
		}
	}
	return NULL;
}

/* Splits a chunk and returns its first part. */
static struct sonde_ring_chunk *split(struct sonde_ring_pool *pool, struct sonde_ring_chunk *chunk)
{
	uint64_t index = (uint64_t)((char *)chunk - (char *)sonde_ring_chunk_at(pool, 0)) / SONDE_RING_CHUNK_B;
	atomic_store(&chunk->free_parts, SONDE_RING_PARTS_ALL & ~2u);
	atomic_store(&chunk->kind, SONDE_RING_SPLIT);
	atomic_fetch_or(&pool->split_map[index / 64], UINT64_C(1) << index % 64);
	return sonde_ring_part_at(chunk, 1);
}

/* True if more than one chunk in KEPT is free. */
static int has_plenty(struct sonde_ring_pool *pool)
{
	uint32_t committed = atomic_load(&pool->committed), free = 0;
	for (uint32_t first = 0; first < committed; first += 64) {
		uint64_t bits = atomic_load_explicit(&pool->free_map[first / 64], memory_order_relaxed);
		for (; bits; bits &= bits - 1)
			free++;
	}
	return free > committed / KEPT;
}

/* Most threads write little, or spread it over their lifetime: they get parts. A thread that fills its part very
 * quickly gets a whole chunk, unless the remaining ones are needed for parts. */
static struct sonde_ring_chunk *take(const struct hook_thread *thread, uint32_t words)
{
	struct sonde_ring_pool *pool = thread->pool;
	int is_long = !pool->reads_parts || words + 2 * TIME_WORDS > SONDE_RING_PART_WORDS;
	int is_whole = is_long || (hook_thread_now(thread) - thread->opened < FAST_TICKS && has_plenty(pool));
	struct sonde_ring_chunk *chunk = is_whole ? NULL : take_part(pool), *whole;
	if (!chunk && (whole = inject_connect_take(pool)))
		chunk = is_whole ? whole : split(pool, whole);
	return chunk || is_long ? chunk : take_part(pool);
}

/* Waits for a free chunk until the recorder has read one; NULL = the recorder reads no more, and no thread waits again.
 * Meanwhile signal handlers run as in the program without us (mask `signals`), and may jump out. */
static struct sonde_ring_chunk *wait_for_chunk(const struct hook_thread *thread, uint32_t words, uint64_t signals)
{
	struct sonde_ring_pool *pool = thread->pool;
	struct timespec remainder = {0, WAIT_NS};
	for (uint32_t waits = 0; waits < WAITS_MAX && !atomic_load(&pool->closed) && !has_left(); waits++) {
		uint32_t freed = atomic_load(&pool->freed);
		struct sonde_ring_chunk *chunk = take(thread, words);
		if (chunk)
			return chunk;
		atomic_fetch_add(&pool->waiters, 1);
		inject_connect_ring(pool);
		hook_thread_let_signals(signals);
		inject_machine_call(SYS_futex, (long)&pool->freed, FUTEX_WAIT, freed, (long)&remainder, 0, 0);
		hook_thread_hold_signals();
		atomic_fetch_sub(&pool->waiters, 1);
		if (inject_connect_is_gone() || (waits > WAITS_GONE && inject_connect_is_refused()))
			atomic_store(&pool->closed, 1);
	}
	if (!has_left() && !atomic_exchange(&pool->closed, 1))
		atomic_fetch_add(&pool->lost[SONDE_RING_LOST_FULL], 1);
	return NULL;
}

/* True if a short wait is worthwhile: for a thread's first chunk, since others may just have ended, and if the pool can
 * grow. A thread waits once per chunk. No thread waits after two waits in which nothing became free, which means that
 * the recorder is stopped, or that there are too few chunks. */
static int may_pause(const struct hook_thread *thread)
{
	struct sonde_ring_pool *pool = thread->pool;
	if (thread->has_paused || (thread->last_seq && !atomic_load(&pool->may_grow)))
		return 0;
	return atomic_load(&hook_process->vain) < PAUSES_VAIN ||
	       atomic_load(&hook_process->vain_freed) != atomic_load(&pool->freed);
}

static void note_vain(uint32_t freed)
{
	if (atomic_exchange(&hook_process->vain_freed, freed) != freed)
		atomic_store(&hook_process->vain, 0);
	atomic_fetch_add(&hook_process->vain, 1);
}

/* Waits briefly for a free chunk: a lost call is a hole in the recording, but the program may hold a lock. Without a
 * chunk the record is lost; the next one may find room. */
static struct sonde_ring_chunk *pause_for_chunk(struct hook_thread *thread, uint32_t words, uint64_t signals)
{
	struct sonde_ring_pool *pool = thread->pool;
	struct timespec remainder = {0, PAUSE_STEP_NS};
	uint32_t freed = atomic_load(&pool->freed), before = freed;
	struct sonde_ring_chunk *chunk = NULL;
	inject_connect_ring(pool);
	int is_worth = may_pause(thread);
	uint64_t start_ns = is_worth ? sonde_clock_now_ns() : 0, moved_ns = start_ns, now_ns = start_ns;
	while (is_worth && !(chunk = take(thread, words)) && !atomic_load(&pool->closed) && !has_left() &&
	       now_ns - moved_ns < PAUSE_STILL_NS && now_ns - start_ns < PAUSE_NS) {
		inject_connect_ring(pool);
		atomic_fetch_add(&pool->waiters, 1);
		hook_thread_let_signals(signals);
		inject_machine_call(SYS_futex, (long)&pool->freed, FUTEX_WAIT, freed, (long)&remainder, 0, 0);
		hook_thread_hold_signals();
		atomic_fetch_sub(&pool->waiters, 1);
		freed = atomic_load(&pool->freed);
		now_ns = sonde_clock_now_ns();
		moved_ns = freed != before ? now_ns : moved_ns;
		before = freed;
	}
	if (chunk)
		return chunk;
	thread->has_paused = 1;
	if (is_worth && now_ns - moved_ns >= PAUSE_STILL_NS)
		note_vain(freed);
	atomic_fetch_add(&pool->lost[SONDE_RING_LOST_FULL], words > 0);
	return NULL;
}

static void close_chunk(struct hook_thread *thread, enum sonde_ring_state state)
{
	if (thread->chunk)
		atomic_store_explicit(&thread->chunk->state, (uint32_t)state, memory_order_release);
	thread->chunk = NULL;
	thread->at = thread->limit = thread->end = NULL;
}

void hook_thread_put_time(struct hook_thread *thread, uint64_t ticks)
{
	hook_thread_put_two(thread, sonde_heap_op(SONDE_HEAP_TIME), ticks << SONDE_HEAP_TICK_SHIFT | 1); /* never 0 */
	thread->last = ticks;
}

void hook_thread_time(struct hook_thread *thread)
{
	hook_thread_put_time(thread, hook_thread_now(thread));
}

/* Called with signals held, so that no handler abandons a chunk or a connection by siglongjmp. */
static int open_chunk(struct hook_thread *thread, uint32_t words, uint64_t signals)
{
	struct sonde_process *process = &hook_process->link.process;
	struct sonde_ring_pool *pool = thread->pool;
	close_chunk(thread, SONDE_RING_SEALED);
	if (unlikely(inject_connect_is_back())) /* rules that could not be requested were recorded as missing */
		hook_rules_forget();
	struct sonde_ring_chunk *chunk = take(thread, words);
	if (!chunk &&
	    !(chunk = hook_waits ? wait_for_chunk(thread, words, signals) : pause_for_chunk(thread, words, signals)))
		return 0;
	int is_part = ((char *)chunk - (char *)pool) % SONDE_RING_CHUNK_B != 0;
	/* Read before writing: a read makes the kernel map all pages of the chunk at once, a write only one. */
	(void)atomic_load_explicit(&chunk->kind, memory_order_relaxed);
	uint32_t seq = atomic_fetch_add(&process->chunks, 1) + 1;
	atomic_store_explicit(&chunk->state, SONDE_RING_OPEN, memory_order_relaxed);
	chunk->tid = (uint32_t)thread->tid;
	chunk->thread = thread->serial;
	chunk->prev = thread->last_seq;
	atomic_store_explicit(&chunk->mark, sonde_ring_mark(seq, 0), memory_order_relaxed);
	atomic_store_explicit(&chunk->kind, SONDE_RING_HEAP, memory_order_release);
	thread->chunk = chunk;
	thread->last_seq = seq;
	thread->has_paused = 0;
	thread->at = sonde_ring_words(chunk);
	thread->end = thread->at + (is_part ? SONDE_RING_PART_WORDS : SONDE_RING_WORDS);
	thread->limit = thread->end - (BLOCK_WORDS + TIME_WORDS - 1);
	hook_thread_put_time(thread, hook_thread_now(thread));
	thread->opened = thread->last;
	return 1;
}

/* True if this thread's records would not be read: from now on the hooks do nothing. */
static int is_over(const struct hook_thread *thread)
{
	if (likely(!atomic_load(&thread->pool->closed)) && likely(!has_left()))
		return 0;
	atomic_store(&hook_process->link.process.state, SONDE_PROCESS_OFF);
	hook_state_is(HOOK_OFF);
	return 1;
}

int hook_thread_capacity(struct hook_thread *thread, uint32_t words)
{
	if (likely(thread->at && (uint64_t)(thread->end - thread->at) >= words + TIME_WORDS))
		return 1;
	if (words + 2 * TIME_WORDS > SONDE_RING_WORDS || !hook_process)
		return 0;
	if (is_over(thread) || !inject_calls_begin())
		return 0;
	int saved = errno;
	uint64_t signals = hook_thread_hold_signals();
	int result = open_chunk(thread, words, signals);
	hook_thread_let_signals(signals);
	inject_calls_end();
	errno = saved;
	return result;
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static void make_spare(struct hook_thread *thread)
{
	struct hook_thread *head = atomic_load(&spare);
	do
		thread->next = head;
	while (!atomic_compare_exchange_weak(&spare, &head, thread));
}

/* Puts the calling thread's state into the list of spare ones. Of the states that were in it, only the first is still
 * reachable: its link to the others was on a page that reads as zeros in the child. */
void hook_thread_forget(void)
{
	struct hook_thread *thread = hook_self;
	hook_self = NULL;
	if (thread)
		make_spare(thread);
}

/* Releases the thread's chunk and state when it ends. If the thread frees memory after this, it starts again with a new
 * state. */
static void give_back(struct hook_thread *thread)
{
	if (hook_self != thread || thread->where != HOOK_OUTSIDE || thread->pid != inject_machine_pid())
		return;
	thread->where = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	close_chunk(thread, SONDE_RING_RELEASED);
	hook_self = NULL;
	make_spare(thread);
}

static void on_thread_end(void *data)
{
	if (!inject_calls_begin())
		return;
	give_back(data);
	inject_calls_end();
}

/* Creates the key whose destructor runs when a thread ends. Must not run in a hook, because the C library may take a
 * lock. Values of the first keys are stored in a thread's control block; for later keys glibc allocates memory. */
__attribute__((constructor)) static void make_key(void)
{
	if (!pthread_key_create || !pthread_setspecific)
		return;
	if (!pthread_key_create(&end_key, on_thread_end) && end_key < KEYS_INSIDE)
		atomic_store(&has_key, 1);
}

/* Takes the whole list at once, which avoids the ABA problem. */
static struct hook_thread *take_spare(void)
{
	struct hook_thread *first = atomic_exchange(&spare, NULL), *remainder = first ? first->next : NULL,
			   *none = NULL;
	if (atomic_compare_exchange_strong(&spare, &none, remainder))
		return first;
	while (remainder) { /* other threads added states in the meantime */
		struct hook_thread *next = remainder->next;
		make_spare(remainder);
		remainder = next;
	}
	return first;
}

int inject_birth_is_wanted(int *out)
{
	*out = 0;
	hook_birth();
	return hook_process && !has_left();
}

void inject_birth_begin(const struct inject_stack *stack, int handed)
{
	(void)handed;
	born = *stack;
}

/* Finds the bounds of the thread's stack: reads the mappings if the thread's start was not seen (clone(), the C
 * library's own threads). On other stacks, such as those of coroutines, no address is known to be readable. */
static void find_stack(struct hook_thread *thread)
{
	struct inject_stack stack = born;
	if (!stack.end && thread->tid == thread->pid)
		stack = inject_stack_main();
	else if (!stack.end)
		stack = inject_stack_mapped((char *)thread->steps, sizeof(thread->steps));
	thread->stack_low = stack.low;
	thread->stack_end = stack.end;
}

/* A spare or new state for the thread; NULL = no room: the process is then no longer recorded. */
static struct hook_thread *get_state(void)
{
	struct hook_thread *thread = hook_self ? hook_self : take_spare();
	if (!thread && inject_connect_spares(sizeof(*thread)))
		thread = inject_connect_page(sizeof(*thread));
	if (!thread)
		hook_process_leave(SONDE_LINK_NO_CAPACITY);
	return thread;
}

/* Gives the calling thread its state; NULL = it is not recorded, as in a child that shares its parent's memory
 * (vfork). */
static struct hook_thread *begin(uint64_t where)
{
	if (hook_process->sandbox.pid && hook_process->sandbox.pid != inject_machine_pid())
		return NULL;
	struct sonde_ring_pool *pool = hook_process_open() ? inject_connect_pool(&hook_process->link) : NULL;
	struct hook_thread *thread;
	if (!pool && hook_process->link.code == -ENOMEM)
		hook_process_leave(SONDE_LINK_NO_CAPACITY);
	if (!pool && (hook_process->link.code == -EHOSTDOWN || hook_process->link.code == -EAGAIN))
		hook_process_leave(SONDE_LINK_SILENT);
	if (!pool || !(thread = get_state()))
		return NULL;
	uint64_t random = thread->random;
	memset((void *)thread, 0, offsetof(struct hook_thread, frames));
	thread->where = where;
	thread->random = random;
	thread->innermost = thread->frames;
	thread->frames[0] = (struct hook_frame){.slot = UINT64_MAX, .hash = 1};
	thread->pool = pool;
	thread->has_cycles = pool->clock == SONDE_RING_CLOCK_CYCLES;
	thread->pid = inject_machine_pid();
	thread->tid = (pid_t)inject_machine_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
	if (!hook_process->sandbox.pid)
		hook_process->sandbox.pid = thread->pid;
	thread->serial = atomic_fetch_add(&hook_process->link.process.threads, 1) + 1;
	find_stack(thread);
	hook_self = thread;
	hook_state_is(HOOK_ON);
	if (atomic_load(&has_key))
		pthread_setspecific(end_key, thread);
	return thread;
}

/* --- nested hooks ------------------------------------------------------------------------------------------------ */

static int is_own_stack(const struct hook_thread *thread, uint64_t address)
{
	return address >= thread->stack_low && address < thread->stack_end;
}

/* True if the hook that the thread was in has been left by siglongjmp: the frame of that hook was below this one on the
 * stack, or was on a signal handler's stack, and the thread is on its own stack now. */
static int is_left(const struct hook_thread *thread, uint64_t where)
{
	stack_t stack = {.ss_flags = 0};
	if (!is_own_stack(thread, where) || (is_own_stack(thread, thread->where) && thread->where > where))
		return 0;
	return !inject_machine_call(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) && !(stack.ss_flags & SS_ONSTACK);
}

/* Closes the chunk of a thread that has left a hook by siglongjmp. A partial record in it is not read: readers stop
 * after the last complete one. */
static void recover(struct hook_thread *thread, uint64_t where)
{
	thread->where = where;
	thread->innermost = thread->frames;
	close_chunk(thread, SONDE_RING_SEALED);
	hook_rules_recover(thread);
}

/* A call from inside a hook: by a signal handler, or after a hook was left by siglongjmp. */
static struct hook_thread *enter_again(struct hook_thread *thread, uint64_t where)
{
	if (is_left(thread, where)) {
		recover(thread, where);
		return thread;
	}
	atomic_fetch_add(&thread->pool->lost[SONDE_RING_LOST_SIGNAL], 1);
	return NULL;
}

struct hook_thread *hook_thread_enter_slowly(uint64_t where)
{
	struct hook_thread *thread = hook_self;
	int saved = errno;
	if (!hook_process && !hook_process_init())
		return NULL;
	if (!hook_process || atomic_load(&hook_process->link.process.state) == SONDE_PROCESS_OFF) {
		hook_state_is(HOOK_OFF);
		return NULL;
	}
	if (!inject_calls_begin())
		return NULL;
	if (thread && thread->where) {
		thread = enter_again(thread, where);
	} else if (is_beginning) { /* a call of ours reached the program's own mmap(), and led back here */
		thread = NULL;
	} else {
		uint64_t before = hook_thread_hold_signals();
		is_beginning = 1;
		thread = begin(where);
		is_beginning = 0;
		hook_thread_let_signals(before);
	}
	inject_calls_end();
	/* A thread gets its first chunk before it waits: many threads may be released from a wait at once. */
	if (thread && !thread->last_seq)
		hook_thread_capacity(thread, 0);
	errno = saved;
	return thread;
}
