/* heap_record.c: what a hook writes: a block begins, a block ends (format/heap.h). */
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
	thread->begins++;
	thread->begun = address;
}

void heap_record_begins(const void *block, size_t size_b, const struct heap_caller *caller)
{
	struct heap_thread *thread;
	if (!block || !(thread = heap_thread_enter()))
		return;
	heap_unwind(thread, caller);
	uint32_t stack = heap_stack(thread);
	if (likely(stack && heap_thread_room(thread, 4)))
		put_begins(thread, (uint64_t)(uintptr_t)block, size_b, stack);
	heap_thread_leave(thread);
}

void heap_record_ends(const void *block)
{
	struct heap_thread *thread;
	uint64_t address = (uint64_t)(uintptr_t)block;
	if (!block || !(thread = heap_thread_enter()))
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

uint64_t heap_record_mark(void)
{
	const struct heap_thread *thread = heap_self;
	return thread ? thread->begins : 0;
}

void heap_record_new(const void *block, size_t size_b, const struct heap_caller *caller, uint64_t mark)
{
	const struct heap_thread *thread = heap_self;
	if (!thread || thread->begins == mark || thread->begun != (uint64_t)(uintptr_t)block)
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
