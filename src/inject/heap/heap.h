/* heap.h: internals of libsonde-heap.so, which is preloaded into programs to record their allocations.
 *
 * Every call is forwarded to the allocator that the program would have called; in addition, the hook writes 24 bytes
 * into its thread's ring (hook/thread.h, format/heap.h). If blocks are sampled, most calls only count bytes down, or
 * check one byte of a filter: the code for that is here, to be inlined into the hooks.
 */
#ifndef SONDE_INJECT_HEAP_HEAP_H
#define SONDE_INJECT_HEAP_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/next.h"
#include "inject/hook/thread.h"

#define HEAP_SEED_ENV "SONDE_HEAP_SEED" /* seed of the sampling, for tests; by default the clock gives one */

#pragma GCC visibility push(hidden)

extern uint64_t heap_mean_b; /* bytes between samples; 0 = every block */
extern uint64_t heap_seed;   /* seed of the sampling */
extern int heap_is_light;    /* blocks are sampled, and nothing else is done */

/* --- heap/record.c --------------------------------------------------------------------------------------------- */

#define HEAP_FILTER_BITS 16
#define HEAP_NEVER 254u
#define HEAP_PAGE_BITS 12

/* Bytes that the calling thread may still allocate before the next sample; 0 = heap_record_take() must draw the number
 * first. */
extern __thread uint64_t heap_left __attribute__((tls_model("initial-exec")));
/* Per hash of a page: number of blocks whose free must be recorded; 255: overflow, no longer counted. heap_none is the
 * value of a counter that means "no such block": normally 0; if every free must be recorded, a value that no counter
 * ever has. */
extern _Atomic uint8_t heap_filter[1u << HEAP_FILTER_BITS];
extern _Atomic uint8_t heap_none;

/* Hides a block's address while other code is called: values that we leave on the stack must not look like the
 * program's pointers to the leak check. */
static inline uint64_t heap_record_hide(const void *block)
{
	uint64_t hidden = ~(uint64_t)(uintptr_t)block;
	__asm__("" : "+r"(hidden));
	return hidden;
}

static inline void *heap_record_show(uint64_t hidden)
{
	return (void *)(uintptr_t)~hidden; /* NOLINT: it was a pointer before heap_record_hide() */
}

/* True if thread-local variables can be used: the loader has stored their offset. */
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

/* Before the first sample: maps the table of sampled blocks. */
void heap_record_sample(void);

/* Records or samples an allocation. Returns the block. */
void *heap_record_take(void *block, size_t size_b, const struct hook_caller *caller);
int heap_record_recorded(const void *block);

/* Counts down by the size of a block; true if nothing else is to be done. An empty block counts as one byte. */
static inline int heap_record_passes(size_t size_b)
{
	uint64_t counted_b = (uint64_t)size_b + !size_b, left_b = heap_left;
	if (unlikely(counted_b >= left_b))
		return 0;
	heap_left = left_b - counted_b;
	return 1;
}

/* The hash of a block's page. Pages of one region have different hashes, and regions that lie a multiple of their size
 * apart do not collide. */
static inline uint32_t heap_record_page(const void *block)
{
	uint64_t page = (uint64_t)(uintptr_t)block >> HEAP_PAGE_BITS;
	return (uint32_t)(page ^ page >> HEAP_FILTER_BITS) & ((1u << HEAP_FILTER_BITS) - 1);
}

/* True if a block's free may have to be recorded; for most blocks it need not. */
static inline int heap_record_may_end(const void *block)
{
	return atomic_load_explicit(&heap_filter[heap_record_page(block)], memory_order_relaxed) !=
	       atomic_load_explicit(&heap_none, memory_order_relaxed);
}

/* From now on heap_record_may_end() is true for this block. */
void heap_record_mark(const void *block);

/* From now on heap_record_may_end() is true for all blocks, as at the start, or only for marked ones. */
static inline void heap_record_look(int at_all)
{
	atomic_store_explicit(&heap_none, at_all ? HEAP_NEVER : 0, memory_order_relaxed);
}

/* Records a block that the allocator has just returned. NULL is ignored. Operators new and delete often call malloc and
 * free, which are hooked, too: see below. Returns the block. */
static inline void *heap_record_begins(void *block, size_t size_b, const struct hook_caller *caller)
{
	return heap_record_passes(size_b) ? block : heap_record_take(block, size_b, caller);
}

/* Records that a block is about to be freed; true if that was recorded. */
static inline int heap_record_ends(const void *block)
{
	return heap_record_may_end(block) && heap_record_recorded(block);
}

/* realloc failed: retracts the recorded free. */
void heap_record_kept(const void *block);

/* To be called before operator new. Returns heap_left: if heap_left differs afterwards, a hooked allocator has counted
 * the block. */
static inline uint64_t heap_record_will_new(void)
{
	if (hook_self)
		hook_self->begun = 0;
	return heap_left;
}

/* To be called after operator new if heap_left has not changed: records or samples the block, unless a hooked allocator
 * has recorded it. Returns the block. */
void *heap_record_new(void *block, size_t size_b, const struct hook_caller *caller);

/* To be called before operator delete with the block, and after it with NULL, if heap_record_may_end() is true. */
void heap_record_deleted(const void *block);

/* --- heap/names.c ---------------------------------------------------------------------------------------------- */

/* Informs the recorder if malloc is defined in the executable: the hooks are then never called. */
void heap_names_begin(void);

/* --- heap/maps.c ----------------------------------------------------------------------------------------------- */

/* Finds the real functions that map memory. */
void heap_maps_ask(void);
/* Finds the objects whose mappings do not count as the program's; nothing is recorded before that. Call it after other
 * objects are initialised: a sanitizer's dl_iterate_phdr() cannot be called earlier. */
void heap_maps_begin(void *real_malloc);

/* --- heap/operators.c ------------------------------------------------------------------------------------------ */

/* Finds the operators that serve all objects. Call it while only the objects of program startup are loaded. */
void heap_operators_begin(void);
/* To be called before and after a call of dlclose(). */
void heap_operators_close(void);
void heap_operators_closed(void);
/* To be called before the thread forks, and in its child. The child then no longer calls the loader. */
void heap_operators_fork(void);
void heap_operators_forked(void);

#pragma GCC visibility pop

#endif
