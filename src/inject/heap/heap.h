/* heap.h: the inside of libsonde-heap.so, which is preloaded into programs whose allocations are recorded.
 *
 * Every call goes on to the allocator that the program would have called. Around it the hook writes 24 bytes into its
 * thread's ring (hook/hook.h, format/heap.h). Where blocks are sampled, most calls only count bytes down, and look at one
 * byte of a filter: what that takes stands here, to be part of the hooks.
 */
#ifndef SONDE_INJECT_HEAP_HEAP_H
#define SONDE_INJECT_HEAP_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/hook/hook.h"
#include "inject/hook/next.h"

#define HEAP_SEED_ENV "SONDE_HEAP_SEED" /* a number to draw samples by, for tests; else the clock tells one */

#pragma GCC visibility push(hidden)

extern uint64_t heap_mean_b; /* bytes between samples; 0 = every block */
extern uint64_t heap_seed;   /* of the sampling */
extern int heap_is_light;    /* blocks are sampled, and nothing else is done */

/* --- heap/record.c --------------------------------------------------------------------------------------------- */

#define HEAP_FILTER_BITS 16
#define HEAP_NEVER 254u
#define HEAP_PAGE_BITS 12

/* Bytes that the calling thread may still be given without a sample; 0 = not drawn yet: heap_record_take() does. */
extern __thread uint64_t heap_left __attribute__((tls_model("initial-exec")));
/* How many blocks in pages of each kind have ends that must be told; 255: more than were counted. And how many are
 * none: a number that never stands there when all must be. */
extern _Atomic uint8_t heap_filter[1u << HEAP_FILTER_BITS];
extern _Atomic uint8_t heap_none;

/* A block's address while something else is called: what we leave on the stack must not look like the program's pointer
 * to it when leaks are looked for. */
static inline uint64_t heap_record_hide(const void *block)
{
	uint64_t hidden = ~(uint64_t)(uintptr_t)block;
	__asm__("" : "+r"(hidden));
	return hidden;
}

static inline void *heap_record_show(uint64_t hidden)
{
	return (void *)(uintptr_t)~hidden; /* NOLINT: it was one */
}

/* Whether variables of the thread can be used: the loader has stored where they lie. */
static inline int heap_record_has_self(void)
{
#if defined(__x86_64__)
	uint64_t offset;
	__asm__("movq heap_left@gottpoff(%%rip), %0" : "=r"(offset));
	return offset != 0;
#else
	return inject_is_bound();
#endif
}

/* Before the first sample: maps what the sampled blocks are noted in. */
void heap_record_sample(void);

/* Returns the block. */
void *heap_record_take(void *block, size_t size_b, const struct hook_caller *caller);
int heap_record_told(const void *block);

/* Counts a block of this size down; whether nothing else is to be done. One of no bytes counts as one. */
static inline int heap_record_passes(size_t size_b)
{
	uint64_t counted_b = (uint64_t)size_b + !size_b, left_b = heap_left;
	if (unlikely(counted_b >= left_b))
		return 0;
	heap_left = left_b - counted_b;
	return 1;
}

/* Pages of one region have bytes of their own; and regions that lie a multiple of its size apart do not meet. */
static inline uint32_t heap_record_page(const void *block)
{
	uint64_t page = (uint64_t)(uintptr_t)block >> HEAP_PAGE_BITS;
	return (uint32_t)(page ^ page >> HEAP_FILTER_BITS) & ((1u << HEAP_FILTER_BITS) - 1);
}

/* Whether a block's end may have to be told: most need not. */
static inline int heap_record_may_end(const void *block)
{
	return atomic_load_explicit(&heap_filter[heap_record_page(block)], memory_order_relaxed) !=
	       atomic_load_explicit(&heap_none, memory_order_relaxed);
}

/* From now on heap_record_may_end() says yes of this block. */
void heap_record_mark(const void *block);

/* From now on it says yes of all blocks, as at first, or only of those that are marked. */
static inline void heap_record_look(int at_all)
{
	atomic_store_explicit(&heap_none, at_all ? HEAP_NEVER : 0, memory_order_relaxed);
}

/* A block was given out, by the allocator that has just returned. NULL is nothing. Operators new and delete often call
 * malloc and free, which are hooked, too: see below. Returns the block. */
static inline void *heap_record_begins(void *block, size_t size_b, const struct hook_caller *caller)
{
	return heap_record_passes(size_b) ? block : heap_record_take(block, size_b, caller);
}

/* A block is about to be given back; whether that was told. */
static inline int heap_record_ends(const void *block)
{
	return heap_record_may_end(block) && heap_record_told(block);
}

/* The last one was not, whose end was told: realloc had no memory. */
void heap_record_kept(const void *block);

/* Before operator new: what heap_record_new() is to be given after it. */
static inline uint64_t heap_record_will_new(void)
{
	if (hook_self)
		hook_self->begun = 0;
	return heap_left;
}

/* After operator new, where it has called no allocator that is hooked. */
void *heap_record_new(void *block, size_t size_b, const struct hook_caller *caller);

/* Around operator delete, where heap_record_may_end() says yes: the block, then NULL. */
void heap_record_deleted(const void *block);

/* --- heap/names.c ---------------------------------------------------------------------------------------------- */

/* Tells the recorder when malloc is in the executable, so that the hooks are never called. */
void heap_names_begin(void);

/* --- heap/maps.c ----------------------------------------------------------------------------------------------- */

/* Finds the functions that map memory. */
void heap_maps_ask(void);
/* Finds the objects whose mappings are not the program's; before it none is told. Not before other objects have begun:
 * a sanitizer's dl_iterate_phdr() cannot be called earlier. */
void heap_maps_begin(void *real_malloc);

/* --- heap/operators.c ------------------------------------------------------------------------------------------ */

/* Finds the operators that all objects call. While only those are loaded that the program begins with. */
void heap_operators_begin(void);
/* Around a call of dlclose(). */
void heap_operators_close(void);
void heap_operators_closed(void);
/* Before the thread forks, and in its child, which asks the loader no more. */
void heap_operators_fork(void);
void heap_operators_forked(void);

#pragma GCC visibility pop

#endif
