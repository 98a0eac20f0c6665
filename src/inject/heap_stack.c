/* heap_stack.c: numbers the stacks of the process, and tells the recorder each of them once.
 *
 * A table of hashes, shared by all threads. Whoever adds a stack writes it into its own ring before its number can be
 * found, so that the recorder reads a stack before the first block of any thread that names it. Two threads that find
 * the same new stack at once may both number it: the recorder sees two numbers of one stack.
 */
#include "inject/heap.h"

#define SLOT_BITS 20
#define SLOTS (1u << SLOT_BITS)
#define SLOTS_MOST (SLOTS / 4 * 3)
#define PROBES 64u

struct slot {
	_Atomic uint64_t hash;
	_Atomic uint32_t number;
	uint32_t unused;
};

/* A forked child reads zeros. */
static struct slot *slots;

int heap_stack_init(void)
{
	slots = inject_connect_page(SLOTS * sizeof(*slots));
	return slots ? 0 : -1;
}

static __attribute__((noinline)) uint32_t tell(struct heap_thread *thread)
{
	uint32_t count = thread->depth;
	if (!heap_thread_room(thread, count + 2))
		return 0;
	uint32_t number = atomic_fetch_add(&heap_process->stacks, 1) + 1;
	heap_thread_put(thread, sonde_heap_op(SONDE_HEAP_STACK));
	heap_thread_put(thread, (uint64_t)number << 32 | (uint64_t)thread->status << 16 | count);
	for (uint32_t i = count; i-- > 0;)
		heap_thread_put(thread, thread->frames[i].pc);
	return number;
}

/* Numbers it in the slot that was claimed for it. */
static uint32_t add(struct heap_thread *thread, struct slot *slot)
{
	uint32_t number = tell(thread);
	atomic_store_explicit(&slot->number, number, memory_order_release);
	return number;
}

uint32_t heap_stack(struct heap_thread *thread)
{
	uint64_t hash = thread->frames[thread->depth - 1].hash | 1;
	uint32_t at = (uint32_t)(hash >> (64 - SLOT_BITS));
	for (uint32_t i = 0; i < PROBES; i++, at = (at + 1) % SLOTS) {
		uint64_t there = atomic_load_explicit(&slots[at].hash, memory_order_relaxed);
		if (!there && atomic_compare_exchange_strong(&slots[at].hash, &there, hash))
			return add(thread, &slots[at]);
		if (likely(there == hash)) {
			uint32_t number = atomic_load_explicit(&slots[at].number, memory_order_acquire);
			return likely(number) ? number : tell(thread);
		}
	}
	return tell(thread); /* the table is as good as full */
}
