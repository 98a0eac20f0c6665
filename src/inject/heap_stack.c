/* heap_stack.c: numbers the stacks of the process, and tells the recorder each of them once.
 *
 * A table of hashes, shared by all threads. Whoever adds a stack writes it into its own ring before its number can be
 * found, so that the recorder reads a stack before the first block of any thread that names it. Two threads that find
 * the same new stack at once may both number it: the recorder sees two numbers of one stack.
 */
#include "format/record.h"
#include "inject/heap.h"
#include "inject/slots.h"

#define SLOT_BITS 20
#define SLOTS (1u << SLOT_BITS)

/* A forked child reads zeros. */
static struct inject_slot *slots;

int heap_stack_init(void)
{
	slots = inject_connect_page(SLOTS * sizeof(*slots));
	return slots ? 0 : -1;
}

/* Its innermost frames, where there are too many. The first word comes last: nobody reads a part of it. */
static uint32_t tell(struct heap_thread *thread)
{
	uint32_t depth = (uint32_t)(thread->innermost - thread->frames);
	uint32_t count = depth < SONDE_HEAP_FRAMES_MAX ? depth : SONDE_HEAP_FRAMES_MAX;
	uint8_t status = count < depth ? SONDE_STACK_DEEP : thread->status;
	if (!heap_thread_room(thread, count + 2))
		return 0;
	uint32_t number = atomic_fetch_add(&heap_process->stacks, 1) + 1;
	_Atomic uint64_t *words = thread->at;
	atomic_store_explicit(&words[1], (uint64_t)number << 32 | (uint64_t)status << 16 | count, memory_order_relaxed);
	for (uint32_t i = 0; i < count; i++)
		atomic_store_explicit(&words[2 + i], thread->innermost[-(ptrdiff_t)i].pc, memory_order_relaxed);
	atomic_store_explicit(&words[0], sonde_heap_op(SONDE_HEAP_STACK), memory_order_release);
	thread->at += 2 + count;
	return number;
}

static uint32_t find(struct heap_thread *thread)
{
	struct inject_slot *slot = inject_slots_claim(slots, SLOT_BITS, thread->innermost->hash | 1);
	uint32_t number = slot ? inject_slots_number(slot) : 0;
	if (likely(number))
		return number;
	number = tell(thread);
	if (slot && number)
		inject_slots_set(slot, number);
	return number;
}

__attribute__((noinline)) uint32_t heap_stack(struct heap_thread *thread)
{
	if (!thread->innermost->stack)
		thread->innermost->stack = find(thread);
	return thread->innermost->stack;
}
