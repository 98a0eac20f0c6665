/* calls.c: hooks of the allocator's functions, which call those that the program would have called.
 *
 * The real functions are looked up when the first hook is called, possibly by the dynamic loader. If a call is not
 * recorded, the hook ends in a tail call of the real function. Otherwise it ends in a tail call of a function of ours,
 * which takes the hook's place on the stack: its return address and frame pointer lead to the caller (HOOK_CALLER).
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "inject/heap/heap.h"
#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/next.h"
#include "inject/hook/objects.h"
#include "inject/hook/process.h"
#include "inject/hook/rules.h"
#include "inject/hook/thread.h"

#define EXPORT __attribute__((visibility("default")))

static void *first_malloc(size_t size_b);
static void *first_calloc(size_t count, size_t size_b);
static void first_free(void *block);

/* The first three are called without checking whether they are known. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void (*free)(void *);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	int (*dlclose)(void *);
} next = {.malloc = first_malloc, .calloc = first_calloc, .free = first_free};

static int is_behind;        /* another object's realloc() is called instead of ours */
static _Atomic int is_found; /* repeated lookups give the same result */

#define FIND(name) __typeof__(next.name) name = (__typeof__(next.name))inject_next_allocator(#name)

/* Looks up the real functions; true once they are stored. None is stored before all are found: until then, other
 * threads that call the allocator look up the same functions themselves. Nothing can be stored before our object is
 * relocated, because the loader would overwrite it. */
static __attribute__((noinline)) int find_all(void)
{
	if (!inject_is_bound())
		return 0;
	FIND(malloc);
	FIND(calloc);
	FIND(free);
	FIND(realloc);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(memalign);
	FIND(valloc);
	FIND(pvalloc);
	if (!malloc || !calloc || !free)
		return 0;
	next.realloc = realloc;
	next.posix_memalign = posix_memalign;
	next.aligned_alloc = aligned_alloc;
	next.memalign = memalign;
	next.valloc = valloc;
	next.pvalloc = pvalloc;
	is_behind = inject_next_is_before("realloc");
	INJECT_NEXT(next.dlclose, "dlclose");
	heap_operators_begin();
	heap_maps_ask();
	next.free = free;
	next.calloc = calloc;
	next.malloc = malloc;
	atomic_store_explicit(&is_found, 1, memory_order_release);
	return 1;
}

static inline int is_ready(void)
{
	return likely(atomic_load_explicit(&is_found, memory_order_acquire)) || find_all();
}

/* Looks up one real function, for a call before they are stored; NULL = missing. */
#define EARLY(name) ((__typeof__(next.name))inject_next_allocator(#name))

static void *first_malloc(size_t size_b)
{
	return find_all() ? next.malloc(size_b) : NULL;
}

static void *first_calloc(size_t count, size_t size_b)
{
	return find_all() ? next.calloc(count, size_b) : NULL;
}

static void first_free(void *block)
{
	if (find_all())
		next.free(block);
}

/* For calls by a library's IFUNC resolver before our object is relocated: thread-local variables cannot be used yet. */
static __attribute__((noinline)) void *malloc_early(size_t size_b)
{
	void *(*real)(size_t) = EARLY(malloc);
	return real ? real(size_b) : NULL;
}

static __attribute__((noinline)) void *calloc_early(size_t count, size_t size_b)
{
	void *(*real)(size_t, size_t) = EARLY(calloc);
	return real ? real(count, size_b) : NULL;
}

static __attribute__((noinline)) void free_early(void *block)
{
	void (*real)(void *) = EARLY(free);
	if (real)
		real(block);
}

/* --- C ----------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void *malloc_taken(size_t size_b)
{
	void *block = next.malloc(size_b);
	struct hook_caller caller = HOOK_CALLER();
	return heap_record_take(block, size_b, &caller);
}

EXPORT void *malloc(size_t size_b)
{
	if (unlikely(!heap_record_has_self()))
		return malloc_early(size_b);
	return likely(heap_record_passes(size_b)) ? next.malloc(size_b) : malloc_taken(size_b);
}

static __attribute__((noinline)) void *calloc_taken(size_t count, size_t size_b)
{
	void *block = next.calloc(count, size_b);
	struct hook_caller caller = HOOK_CALLER();
	return heap_record_take(block, count * size_b, &caller);
}

EXPORT void *calloc(size_t count, size_t size_b)
{
	size_t all_b;
	if (unlikely(!heap_record_has_self()))
		return calloc_early(count, size_b);
	if (unlikely(__builtin_mul_overflow(count, size_b, &all_b)))
		return next.calloc(count, size_b); /* returns the error itself */
	return likely(heap_record_passes(all_b)) ? next.calloc(count, size_b) : calloc_taken(count, size_b);
}

static __attribute__((noinline)) void free_recorded(void *block)
{
	uint64_t hidden = heap_record_hide(block);
	if (unlikely(!is_ready())) {
		free_early(block);
		return;
	}
	heap_record_ends(heap_record_show(hidden));
	next.free(heap_record_show(hidden));
}

EXPORT void free(void *block)
{
	if (unlikely(heap_record_may_end(block)))
		free_recorded(block);
	else
		next.free(block);
}

static void *move(void *block, size_t size_b, const struct hook_caller *caller)
{
	if (unlikely(!is_ready())) {
		void *(*real)(void *, size_t) = EARLY(realloc);
		return real ? real(block, size_b) : NULL;
	}
	int recorded = heap_record_ends(block);
	void *moved = next.realloc(block, size_b);
	if (likely(moved))
		return heap_record_begins(moved, size_b, caller);
	if (size_b && recorded)
		heap_record_kept(block);
	return NULL;
}

EXPORT void *realloc(void *block, size_t size_b)
{
	struct hook_caller caller = HOOK_CALLER();
	return move(block, size_b, &caller);
}

/* The C library's own version calls realloc(), which would be recorded as well. If an allocator that precedes us has no
 * reallocarray(), the block belongs to that allocator. */
EXPORT void *reallocarray(void *block, size_t count, size_t size_b)
{
	struct hook_caller caller = HOOK_CALLER();
	size_t all_b;
	if (__builtin_mul_overflow(count, size_b, &all_b)) {
		errno = ENOMEM;
		return NULL;
	}
	if (unlikely(is_ready() && is_behind))
		return realloc(block, all_b);
	return move(block, all_b, &caller);
}

EXPORT int posix_memalign(void **out, size_t align_b, size_t size_b)
{
	if (unlikely(!is_ready())) {
		int (*real)(void **, size_t, size_t) = EARLY(posix_memalign);
		return real ? real(out, align_b, size_b) : ENOMEM;
	}
	int code = next.posix_memalign(out, align_b, size_b);
	struct hook_caller caller = HOOK_CALLER();
	if (!code)
		heap_record_begins(*out, size_b, &caller);
	return code;
}

/* memalign, aligned_alloc */
#define ALIGNED(name)                                                \
	EXPORT void *name(size_t align_b, size_t size_b)             \
	{                                                            \
		if (unlikely(!is_ready())) {                         \
			void *(*real)(size_t, size_t) = EARLY(name); \
			return real ? real(align_b, size_b) : NULL;  \
		}                                                    \
		void *block = next.name(align_b, size_b);            \
		struct hook_caller caller = HOOK_CALLER();           \
		return heap_record_begins(block, size_b, &caller);   \
	}

/* valloc, pvalloc */
#define PAGES(name)                                                \
	EXPORT void *name(size_t size_b)                           \
	{                                                          \
		if (unlikely(!is_ready())) {                       \
			void *(*real)(size_t) = EARLY(name);       \
			return real ? real(size_b) : NULL;         \
		}                                                  \
		void *block = next.name(size_b);                   \
		struct hook_caller caller = HOOK_CALLER();         \
		return heap_record_begins(block, size_b, &caller); \
	}

ALIGNED(memalign)
ALIGNED(aligned_alloc)
PAGES(valloc)
PAGES(pvalloc)

/* --- unloaded code ----------------------------------------------------------------------------------------------- */

EXPORT int dlclose(void *object)
{
	if (unlikely(!is_ready()) || !next.dlclose)
		return -1;
	if (!hook_process)
		return next.dlclose(object);
	struct inject_objects_count before;
	inject_objects_counted(&before);
	heap_operators_close();
	int code = next.dlclose(object);
	heap_operators_closed();
	hook_rules_forget_gone(&before);
	return code;
}

__attribute__((constructor)) static void heap_begin(void)
{
	is_ready();
	hook_process_init();
	if (!heap_is_light)
		heap_maps_begin((void *)(uintptr_t)next.malloc); /* NOLINT: a function's address */
	heap_names_begin();
	struct hook_thread *thread = heap_is_light ? NULL : hook_thread_enter();
	if (thread) /* fails in a child of vfork(), or if no descriptors are left */
		hook_thread_leave(thread);
}
