/* record.c: what a hook writes: a block begins, a block ends (format/heap.h).
 *
 * Each beginning and each end reads the clock, a third of what a pair costs. While there is one thread order could do
 * without; but lifetimes are counted from these stamps, and an end that took the time of the beginning before it would
 * make every block that goes at once live for no time at all.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "inject/heap/heap.h"
#include "inject/hook/machine.h"

#pragma weak pthread_atfork
#pragma weak __register_atfork
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *object);

/* --- sampling ------------------------------------------------------------------------------------------------------
 * An allocation is recorded with probability 1 − e^(−size / mean): bytes are counted down to an exponentially
 * distributed number. Sampled blocks are noted in sets of a few addresses each, with a count a set in front, so that
 * the ends of all others pass by one look at a byte. */

#define SET_BITS 15
#define SETS (1u << SET_BITS)
#define SET_BLOCKS 6u
#define UNCOUNTED 255u

struct set {
	_Atomic uint64_t blocks[SET_BLOCKS]; /* inverted, so that no leak checker takes them for pointers; 0 = free */
	_Atomic uint32_t is_overfull;        /* there were more: every end in this set is told */
};

__thread uint64_t heap_left __attribute__((tls_model("initial-exec")));

/* A forked child goes on with its own copies: it frees what its parent sampled, and the recorder knows it not. */
_Atomic uint8_t heap_filter[1u << HEAP_FILTER_BITS];
_Atomic uint8_t heap_none = HEAP_NEVER;
static struct set *sets; /* NULL: every block is recorded, or there is no memory: then every end is told */

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
	atomic_store(&set->is_overfull, 1); /* its mark stays, so that its end is looked for */
}

/* Whether the end of a block must be told. */
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

/* A child's samples do not depend on its parent's: it draws for itself. One that was made past the C library goes on
 * counting: what is left is exponentially distributed, too. glibc's pthread_atfork() is no function to be imported. */
static void on_child(void)
{
	heap_left = 0;
	hook_process_forked();
	heap_operators_forked();
	if (!heap_is_light)
		return;
	hook_thread_forget(); /* not connected until it has a sample */
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

/* Exponentially distributed, by xorshift64* (Marsaglia 2003, Vigna 2016). With a seed that is given the first thread of
 * the command draws the same in every run. */
static uint64_t next_distance(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	uint64_t mixed = *random * UINT64_C(0x2545f4914f6cdd1d);
	double uniform = ((double)(mixed >> 11) + 0.5) * 0x1p-53;
	return (uint64_t)(-log_of(uniform) * (double)heap_mean_b) + 1;
}

/* Counts a block down that heap_record_passes() did not; whether it is sampled. */
static int draw(struct hook_thread *thread, uint64_t counted_b)
{
	if (!thread->random)
		thread->random = sonde_hash_pair((uint64_t)(thread->tid - hook_first_pid), heap_seed);
	if (!heap_left) { /* the thread's first */
		heap_left = next_distance(&thread->random);
		if (heap_left > counted_b) {
			heap_left -= counted_b;
			return 0;
		}
	}
	heap_left = next_distance(&thread->random); /* memoryless: what was too much counts no more */
	return 1;
}

/* In a light recording a process that allocates little is not even connected: its threads draw and count down before
 * anybody knows them. */
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
		if (likely(stack) && likely(hook_thread_has_room(thread)))
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

int heap_record_told(const void *block)
{
	struct hook_thread *thread;
	uint64_t hidden = heap_record_hide(block);
	if (heap_is_light && is_not_connected()) /* it was sampled in the process that this one was forked from */
		return 0;
	if (unlikely(!block) || (heap_mean_b && !is_noted(block)) || unlikely(!(thread = hook_thread_enter())))
		return 0;
	int is_told = likely(thread->deleted != ~hidden) && likely(hook_thread_has_room(thread));
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
	if (hook_thread_room(thread, 2))
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
		heap_record_told(block);
	if (thread)
		thread->deleted = (uint64_t)(uintptr_t)block;
}
