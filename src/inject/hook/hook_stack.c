/* hook_stack.c: numbers the stacks of the process, and records each of them once.
 *
 * A hash table, shared by all threads. A thread that adds a stack writes it into its own ring before the number can be
 * found, so the recorder reads a stack before the first block of any thread that refers to it. Two threads that find
 * the same new stack at the same time may both number it: the recorder then sees two numbers for one stack.
 *
 * The tables are kept small: the first fits into a cache, the larger ones use huge pages.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "format/record.h"
#include "inject/hook/connect.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/process.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/slots.h"
#include "inject/hook/stacks.h"
#include "inject/hook/thread.h"

#define LEVELS 3u
#define HUGE_B ((uintptr_t)2 << 20)

static const uint8_t bits_of[LEVELS] = {15, 18, 21};

/* Each table replaces the previous one when that is three quarters full. They read as zeros in a forked child. */
static inject_slot *tables[LEVELS];
static _Atomic uint32_t level;

int hook_stack_init(void)
{
	tables[0] = inject_connect_page(sizeof(*tables[0]) << bits_of[0]);
	return tables[0] ? 0 : -1;
}

static inject_slot *map_table(size_t size_b)
{
	char *page = inject_connect_spares(size_b + HUGE_B) ? inject_connect_page(size_b + HUGE_B) : NULL;
	if (!page)
		return NULL;
	char *aligned = page + (-(uintptr_t)page & (HUGE_B - 1));
	inject_machine_call(SYS_madvise, (long)aligned, (long)size_b, MADV_HUGEPAGE, 0, 0, 0);
	return (inject_slot *)(void *)aligned;
}

/* Maps the table after table `from`. This is tried only once: if there is no memory, table `from` fills up, and stacks
 * that do not fit are recorded repeatedly. */
static __attribute__((noinline)) void grow(uint32_t from)
{
	static _Atomic uint32_t tried;
	uint32_t before = from, next = from + 1;
	if (next == LEVELS || !atomic_compare_exchange_strong(&tried, &before, next) || !inject_calls_begin())
		return;
	tables[next] = map_table(sizeof(*tables[next]) << bits_of[next]);
	if (tables[next])
		atomic_store_explicit(&level, next, memory_order_release);
	inject_calls_end();
}

/* Records the stack; only the innermost frames if there are too many. The first word is stored last, so a partial
 * record is never read. */
static uint32_t record(struct hook_thread *thread)
{
	uint32_t depth = (uint32_t)(thread->innermost - thread->frames);
	uint32_t count = depth < SONDE_HEAP_FRAMES_MAX ? depth : SONDE_HEAP_FRAMES_MAX;
	uint8_t status = count < depth ? SONDE_STACK_DEEP : thread->status;
	if (!hook_thread_capacity(thread, count + 2))
		return 0;
	uint32_t number = atomic_fetch_add(&hook_process->stacks, 1) + 1;
	_Atomic uint64_t *words = thread->at;
	atomic_store_explicit(&words[1], (uint64_t)number << 32 | (uint64_t)status << 16 | count, memory_order_relaxed);
	for (uint32_t i = 0; i < count; i++)
		atomic_store_explicit(&words[2 + i], thread->innermost[-(ptrdiff_t)i].pc, memory_order_relaxed);
	atomic_store_explicit(&words[0], sonde_heap_op(SONDE_HEAP_STACK), memory_order_release);
	thread->at += 2 + count;
	return number;
}

/* Finds the stack in the smaller tables, since it may have been recorded before the tables grew; otherwise records it.
 * Returns its number; 0 = no room. */
static __attribute__((noinline)) uint32_t find_slowly(struct hook_thread *thread, inject_slot *slot, uint32_t at)
{
	uint64_t hash = thread->innermost->hash;
	uint32_t number = 0;
	for (uint32_t before = at; before-- && !number;)
		number = inject_slots_find(tables[before], bits_of[before], hash);
	if (!number && !(number = record(thread)))
		return 0;
	inject_slots_set(slot, hash, number);
	if (number > (1u << bits_of[at]) / 4 * 3)
		grow(at);
	return number;
}

static inline uint32_t find(struct hook_thread *thread)
{
	uint32_t at = atomic_load_explicit(&level, memory_order_acquire), number;
	inject_slot *slot = inject_slots_claim(tables[at], bits_of[at], thread->innermost->hash, &number);
	return likely(number) ? number : find_slowly(thread, slot, at);
}

__attribute__((noinline)) uint32_t hook_stack(struct hook_thread *thread)
{
	if (!thread->innermost->stack)
		thread->innermost->stack = find(thread);
	return thread->innermost->stack;
}
