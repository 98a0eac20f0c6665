/* heap_record.c: what a hook writes: a block begins, a block ends (format/heap.h). */
#include <string.h>

#include "inject/heap.h"

static void put_begins(struct heap_thread *thread, uint64_t address, size_t size_b, uint32_t stack)
{
	uint64_t short_b = size_b < SONDE_HEAP_SIZE_MAX ? size_b : SONDE_HEAP_SIZE_MAX;
	uint64_t ticks = heap_thread_ticks(thread);
	if (unlikely(short_b == SONDE_HEAP_SIZE_MAX)) {
		heap_thread_put(thread, sonde_heap_op(SONDE_HEAP_SIZE));
		heap_thread_put(thread, size_b);
	}
	heap_thread_put(thread, SONDE_HEAP_BEGINS | sonde_heap_block(address, ticks));
	heap_thread_put(thread, short_b << 32 | stack);
}

/* --- sampling ------------------------------------------------------------------------------------------------------
 * An allocation is recorded with probability 1 − e^(−size / mean): bytes are counted down to an exponentially
 * distributed number. Sampled blocks are noted in sets of a few addresses each, with a count a set in front, so that
 * the ends of all others pass by one look at a byte. */

#define SETS (1u << 15)
#define SET_BLOCKS 6u

struct set {
	_Atomic uint64_t blocks[SET_BLOCKS]; /* 0 = free */
};

/* A forked child goes on with its own copy: it frees what its parent sampled, and the recorder knows it not. */
static _Atomic uint8_t set_counts[SETS]; /* 255: more than could be noted */
static struct set sets[SETS];

static uint32_t set_of(uint64_t address)
{
	return (uint32_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - 15));
}

static void note(uint64_t address)
{
	uint32_t at = set_of(address);
	for (uint32_t i = 0; i < SET_BLOCKS; i++) {
		uint64_t unused = 0;
		if (!atomic_compare_exchange_strong(&sets[at].blocks[i], &unused, address))
			continue;
		if (atomic_load(&set_counts[at]) < 255)
			atomic_fetch_add(&set_counts[at], 1);
		return;
	}
	atomic_store(&set_counts[at], 255); /* from now on every end in this set is told: nothing is missed */
}

/* Whether the end of a block must be told. */
static int is_noted(uint64_t address)
{
	uint32_t at = set_of(address);
	uint8_t count = atomic_load_explicit(&set_counts[at], memory_order_relaxed);
	if (likely(!count))
		return 0;
	for (uint32_t i = 0; i < SET_BLOCKS; i++) {
		uint64_t noted = address;
		if (!atomic_compare_exchange_strong(&sets[at].blocks[i], &noted, 0))
			continue;
		if (count < 255)
			atomic_fetch_sub(&set_counts[at], 1);
		return 1;
	}
	return count == 255;
}

/* ln(1 + x) − ln(1) for the mantissa by the series of 2 artanh; good to 1e−9, and libm is not ours to ask. */
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

/* Exponentially distributed, by xorshift64* (Marsaglia 2003, Vigna 2016). */
static int64_t next_distance(struct heap_thread *thread)
{
	if (!thread->random)
		thread->random = (uint64_t)thread->tid * UINT64_C(0x9e3779b97f4a7c15) ^ heap_seed;
	thread->random ^= thread->random >> 12;
	thread->random ^= thread->random << 25;
	thread->random ^= thread->random >> 27;
	uint64_t mixed = thread->random * UINT64_C(0x2545f4914f6cdd1d);
	double uniform = ((double)(mixed >> 11) + 0.5) * 0x1p-53;
	return (int64_t)(-log_of(uniform) * (double)heap_mean_b) + 1;
}

/* Counts an allocation down; whether it is sampled. */
static __attribute__((noinline)) int draw(struct heap_thread *thread, uint64_t size_b)
{
	if (!thread->drawn) { /* the thread's first */
		thread->drawn = 1;
		thread->left = next_distance(thread);
		thread->left -= (int64_t)size_b;
		if (thread->left > 0)
			return 0;
	}
	thread->left = next_distance(thread); /* memoryless: what was too much counts no more */
	return 1;
}

/* --- records ----------------------------------------------------------------------------------------------------- */

void heap_record_begins(const void *block, size_t size_b, const struct heap_caller *caller)
{
	struct heap_thread *thread;
	uint64_t address = (uint64_t)(uintptr_t)block, counted_b = size_b ? size_b : 1;
	if (heap_mean_b && (thread = heap_self) && likely(thread->left > (int64_t)counted_b)) {
		thread->left -= (int64_t)counted_b;
		thread->begun = address;
		return;
	}
	if (!block || !(thread = heap_thread_enter()))
		return;
	if (!heap_mean_b || draw(thread, counted_b)) {
		heap_unwind(thread, caller);
		uint32_t stack = heap_stack(thread);
		if (likely(stack && heap_thread_room(thread, 4)))
			put_begins(thread, address, size_b, stack);
		if (heap_mean_b)
			note(address);
	}
	thread->begun = address;
	heap_thread_leave(thread);
}

void heap_record_ends(const void *block)
{
	struct heap_thread *thread;
	uint64_t address = (uint64_t)(uintptr_t)block;
	if (!block || (heap_mean_b && !is_noted(address)) || !(thread = heap_thread_enter()))
		return;
	if (likely(thread->deleted != address) && likely(heap_thread_room(thread, 1))) {
		uint64_t ticks = heap_thread_ticks(thread);
		heap_thread_put(thread, sonde_heap_block(address, ticks));
	}
	heap_thread_leave(thread);
}

void heap_record_kept(const void *block)
{
	struct heap_thread *thread;
	if (!block || !(thread = heap_thread_enter()))
		return;
	if (heap_thread_room(thread, 2)) {
		heap_thread_put(thread, sonde_heap_op(SONDE_HEAP_KEPT));
		heap_thread_put(thread, (uint64_t)(uintptr_t)block);
	}
	heap_thread_leave(thread);
}

void heap_record_will_new(void)
{
	if (heap_self)
		heap_self->begun = 0;
}

void heap_record_new(const void *block, size_t size_b, const struct heap_caller *caller)
{
	const struct heap_thread *thread = heap_self;
	if (!thread || thread->begun != (uint64_t)(uintptr_t)block)
		heap_record_begins(block, size_b, caller);
}

void heap_record_deleted(const void *block)
{
	struct heap_thread *thread = heap_self;
	if (block)
		heap_record_ends(block);
	if (thread)
		thread->deleted = (uint64_t)(uintptr_t)block;
}
