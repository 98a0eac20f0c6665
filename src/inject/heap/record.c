/* record.c: writes the hooks' records: allocations and frees (format/heap.h).
 *
 * Each allocation and each free reads the clock, which takes a third of the cost of such a pair. With a single thread,
 * order alone would do; but lifetimes are computed from these timestamps, and a free with the timestamp of the
 * preceding allocation would give every block freed at once a lifetime of zero.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/hash.h"
#include "inject/heap/heap.h"
#include "inject/hook/caller.h"
#include "inject/hook/connect.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/process.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/stacks.h"
#include "inject/hook/thread.h"
#include "inject/hook/uncounted.h"
#include "inject/hook/walk.h"

#pragma weak pthread_atfork
#pragma weak __register_atfork
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *object);

/* --- sampling ------------------------------------------------------------------------------------------------------
 *
 * An allocation is recorded with probability 1 − e^(−size / mean): bytes are counted down from an exponentially
 * distributed number. Sampled blocks are stored in sets of a few addresses, behind a filter of counters, so that frees
 * of all other blocks cost one check of a byte.
 */

#define SET_BITS 15
#define SETS (1u << SET_BITS)
#define SET_BLOCKS 6u
#define UNCOUNTED 255u

struct set {
	/* inverted, so that leak checkers do not take them for pointers; 0 = free */
	_Atomic uint64_t blocks[SET_BLOCKS];
	_Atomic uint32_t is_overfull; /* there were more: every free of a block in this set is recorded */
};

__thread uint64_t heap_left __attribute__((tls_model("initial-exec")));

/* A forked child continues with its own copies: when it frees blocks that its parent has sampled, the recorder ignores
 * these frees. */
_Atomic uint8_t heap_filter[1u << HEAP_FILTER_BITS] INJECT_UNCOUNTED;
_Atomic uint8_t heap_none = HEAP_NEVER;
static struct set *sets; /* NULL: every block is recorded, or out of memory: then every free is recorded */

void heap_record_sample(void)
{
	size_t size_b = SETS * sizeof(*sets);
	if (sets || !inject_calls_begin())
		return;
	long page = inject_connect_spares(size_b)
			? inject_machine_call(SYS_mmap, 0, (long)size_b, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
			: -1;
	inject_calls_end();
	if (page < -4095 || page >= 0)
		sets = (struct set *)page; /* NOLINT: it is one */
}

static struct set *set_of(uint64_t address)
{
	return &sets[(address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SET_BITS)];
}

static uint8_t next_of(uint8_t count)
{
	return count + 1 == HEAP_NEVER ? UNCOUNTED : (uint8_t)(count + 1);
}

void heap_record_mark(const void *block)
{
	_Atomic uint8_t *counter = &heap_filter[heap_record_page(block)];
	uint8_t count = atomic_load(counter);
	while (count != UNCOUNTED && !atomic_compare_exchange_weak(counter, &count, next_of(count)))
		;
}

static void unmark(const void *block)
{
	_Atomic uint8_t *counter = &heap_filter[heap_record_page(block)];
	uint8_t count = atomic_load(counter);
	while (count && count != UNCOUNTED && !atomic_compare_exchange_weak(counter, &count, (uint8_t)(count - 1)))
		;
}

static void note(const void *block)
{
	uint64_t address = (uint64_t)(uintptr_t)block;
	heap_record_mark(block);
	if (unlikely(!sets))
		return;
	struct set *set = set_of(address);
	for (uint32_t i = 0; i < SET_BLOCKS; i++) {
		uint64_t unused = 0;
		if (atomic_compare_exchange_strong(&set->blocks[i], &unused, ~address))
			return;
	}
	atomic_store(&set->is_overfull, 1); /* its mark stays, so that its free is looked up */
}

/* True if the free of this block must be recorded. */
static int is_noted(const void *block)
{
	uint64_t address = (uint64_t)(uintptr_t)block;
	if (unlikely(!sets))
		return 1;
	struct set *set = set_of(address);
	for (uint32_t i = 0; i < SET_BLOCKS; i++) {
		uint64_t noted = ~address;
		if (!atomic_compare_exchange_strong(&set->blocks[i], &noted, 0))
			continue;
		unmark(block);
		return 1;
	}
	return atomic_load(&set->is_overfull) != 0;
}

/* Natural logarithm: the mantissa's by the series of 2 artanh, accurate to 1e−9; libm cannot be used here. */
static double log_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	int exponent = (int)(bits >> 52 & 2047) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&value, &bits, sizeof(value));
	double ratio = (value - 1) / (value + 1), square = ratio * ratio, sum = 0;
	for (int power = 21; power > 0; power -= 2)
		sum = sum * square + 1.0 / power;
	return 2 * ratio * sum + exponent * 0.69314718055994530942;
}

/* A child's samples do not depend on its parent's: it draws anew. A child created without the C library continues
 * the countdown: the remainder is exponentially distributed, too. glibc's pthread_atfork() cannot be imported
 * dynamically. */
static void on_child(void)
{
	heap_left = 0;
	hook_process_forked();
	heap_operators_forked();
	if (!heap_is_light)
		return;
	hook_thread_forget(); /* not connected until its first sample */
	if (!inject_sandbox_is_on())
		heap_seed ^= (uint64_t)inject_machine_pid() << 32;
}

__attribute__((constructor)) static void heap_record_begin(void)
{
	if (__register_atfork)
		__register_atfork(heap_operators_fork, NULL, on_child, NULL);
	else if (pthread_atfork)
		pthread_atfork(heap_operators_fork, NULL, on_child);
}

/* Exponentially distributed, by xorshift64* (Marsaglia 2003, Vigna 2016). With a given seed, the first thread of the
 * command draws the same numbers in every run. */
static uint64_t next_distance(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	uint64_t mixed = *random * UINT64_C(0x2545f4914f6cdd1d);
	double uniform = ((double)(mixed >> 11) + 0.5) * 0x1p-53;
	return (uint64_t)(-log_of(uniform) * (double)heap_mean_b) + 1;
}

/* Counts down by a block that heap_record_passes() has rejected; true if the block is sampled. */
static int draw(struct hook_thread *thread, uint64_t counted_b)
{
	if (!thread->random)
		thread->random = sonde_hash_pair((uint64_t)(thread->tid - hook_first_pid), heap_seed);
	if (!heap_left) { /* the thread's first allocation */
		heap_left = next_distance(&thread->random);
		if (heap_left > counted_b) {
			heap_left -= counted_b;
			return 0;
		}
	}
	heap_left = next_distance(&thread->random); /* memoryless: the excess is discarded */
	return 1;
}

/* Counts down in a thread that has no state yet; true if the block is not sampled. In a light recording, a process that
 * allocates little is not even connected, so its threads draw and count down before they have any state. */
static __attribute__((noinline)) int is_counted_first(size_t size_b)
{
	static _Atomic uint64_t draws;
	if (heap_left || !hook_process_init() || !heap_is_light || !hook_process)
		return 0;
	uint64_t random = sonde_hash_pair(~atomic_fetch_add(&draws, 1), heap_seed);
	heap_left = inject_sandbox_is_on() ? UINT64_MAX : next_distance(&random);
	return heap_record_passes(size_b);
}

/* --- records ----------------------------------------------------------------------------------------------------- */

static inline void put_begins(struct hook_thread *thread, uint64_t hidden, size_t size_b, uint32_t stack)
{
	uint64_t ticks = hook_thread_ticks(thread);
	if (unlikely(size_b >= SONDE_HEAP_SIZE_MAX)) {
		hook_thread_put_two(thread, sonde_heap_op(SONDE_HEAP_SIZE), size_b);
		size_b = SONDE_HEAP_SIZE_MAX;
	}
	hook_thread_put_two(thread, SONDE_HEAP_BEGINS | sonde_heap_block(~hidden, ticks), size_b << 32 | stack);
}

void *heap_record_take(void *block, size_t size_b, const struct hook_caller *caller)
{
	struct hook_thread *thread;
	if (unlikely(!block))
		return NULL;
	if (unlikely(!hook_self) && is_counted_first(size_b))
		return block;
	uint64_t hidden = heap_record_hide(block);
	if (unlikely(!(thread = hook_thread_enter())))
		return heap_record_show(hidden);
	thread->begun = ~hidden;
	if (likely(!heap_mean_b) || draw(thread, (uint64_t)size_b + !size_b)) {
		const struct hook_frame *leaf = hook_unwind(thread, caller);
		uint32_t stack = likely(leaf->stack) ? leaf->stack : hook_stack(thread);
		if (likely(stack) && likely(hook_thread_has_capacity(thread)))
			put_begins(thread, hidden, size_b, stack);
		if (heap_mean_b)
			note(heap_record_show(hidden));
	}
	hook_thread_leave(thread);
	return heap_record_show(hidden);
}

static int is_not_connected(void)
{
	return !hook_process || atomic_load(&hook_process->link.process.state) == SONDE_PROCESS_NEW;
}

int heap_record_recorded(const void *block)
{
	struct hook_thread *thread;
	uint64_t hidden = heap_record_hide(block);
	if (heap_is_light && is_not_connected()) /* sampled in the parent process, before the fork */
		return 0;
	if (unlikely(!block) || (heap_mean_b && !is_noted(block)) || unlikely(!(thread = hook_thread_enter())))
		return 0;
	int is_told = likely(thread->deleted != ~hidden) && likely(hook_thread_has_capacity(thread));
	if (likely(is_told)) {
		uint64_t ticks = hook_thread_ticks(thread);
		hook_thread_put(thread, sonde_heap_block(~hidden, ticks));
	}
	hook_thread_leave(thread);
	return is_told;
}

void heap_record_kept(const void *block)
{
	struct hook_thread *thread;
	if (!block || !(thread = hook_thread_enter()))
		return;
	if (hook_thread_capacity(thread, 2))
		hook_thread_put_two(thread, sonde_heap_op(SONDE_HEAP_KEPT), (uint64_t)(uintptr_t)block);
	if (heap_mean_b)
		note(block);
	hook_thread_leave(thread);
}

void *heap_record_new(void *block, size_t size_b, const struct hook_caller *caller)
{
	const struct hook_thread *thread = hook_self;
	if (thread && thread->begun == (uint64_t)(uintptr_t)block)
		return block;
	return heap_record_begins(block, size_b, caller);
}

void heap_record_deleted(const void *block)
{
	struct hook_thread *thread = hook_self;
	if (block)
		heap_record_recorded(block);
	if (thread)
		thread->deleted = (uint64_t)(uintptr_t)block;
}
