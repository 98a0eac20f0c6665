/* heap_calls.c: the allocator's functions, in front of the ones that the program would call.
 *
 * Which those are is asked when the first of ours is called, which may be the dynamic loader's doing. Asking may
 * allocate: from a small arena that is never given back.
 *
 * What is not recorded jumps to the real function, and what is to be looked at jumps to a function that stands where
 * the hook stood: its return address and frame pointer are the caller's (HOOK_CALLER).
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/heap.h"
#include "inject/next.h"
#include "inject/objects.h"

#define EXPORT __attribute__((visibility("default")))
#define ARENA_B 65536u
#define ALIGN_B 16u

static void *first_malloc(size_t size_b);
static void *first_calloc(size_t count, size_t size_b);
static void first_free(void *block);

/* The first three are called without a look whether they are known. */
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

static _Atomic int state; /* 0 = not asked yet, 1 = asking, 2 = known */

/* --- while asking ------------------------------------------------------------------------------------------------ */

static _Alignas(ALIGN_B) char arena[ARENA_B];
static _Atomic size_t arena_used;

static int is_arena(const void *block)
{
	return (uintptr_t)block - (uintptr_t)arena < ARENA_B;
}

/* Zeroed; its size stands in front of it. free() is made to look by the filter. */
static void *take_arena(size_t size_b)
{
	if (size_b > ARENA_B - ALIGN_B)
		return NULL;
	size_t wanted_b = (size_b + 2 * ALIGN_B - 1) & ~(size_t)(ALIGN_B - 1);
	size_t at = atomic_fetch_add(&arena_used, wanted_b);
	if (at > ARENA_B - wanted_b)
		return NULL;
	memcpy(arena + at, &size_b, sizeof(size_b));
	heap_record_mark(arena + at + ALIGN_B);
	return arena + at + ALIGN_B;
}

static size_t arena_size(const void *block)
{
	size_t size_b;
	memcpy(&size_b, (const char *)block - ALIGN_B, sizeof(size_b));
	return size_b;
}

static void ask_all(void)
{
	heap_operators_begin(); /* first: what it takes to say that there are none is not the program's */
	next.calloc = (void *(*)(size_t, size_t))inject_next_allocator("calloc");
	next.malloc = (void *(*)(size_t))inject_next_allocator("malloc");
	next.free = (void (*)(void *))inject_next_allocator("free");
	next.realloc = (void *(*)(void *, size_t))inject_next_allocator("realloc");
	next.posix_memalign = (int (*)(void **, size_t, size_t))inject_next_allocator("posix_memalign");
	next.aligned_alloc = (void *(*)(size_t, size_t))inject_next_allocator("aligned_alloc");
	next.memalign = (void *(*)(size_t, size_t))inject_next_allocator("memalign");
	next.valloc = (void *(*)(size_t))inject_next_allocator("valloc");
	next.pvalloc = (void *(*)(size_t))inject_next_allocator("pvalloc");
	next.dlclose = (int (*)(void *))inject_next("dlclose");
	heap_maps_ask();
}

/* Whether the real functions can be called. The first call comes before there are threads. */
static int is_ready(void)
{
	int unasked = 0;
	if (likely(atomic_load_explicit(&state, memory_order_acquire) == 2))
		return 1;
	if (!atomic_compare_exchange_strong(&state, &unasked, 1))
		return unasked == 2;
	ask_all();
	atomic_store_explicit(&state, 2, memory_order_release);
	return 1;
}

/* --- C ----------------------------------------------------------------------------------------------------------- */

static void *first_malloc(size_t size_b)
{
	return is_ready() ? next.malloc(size_b) : take_arena(size_b);
}

static void *first_calloc(size_t count, size_t size_b)
{
	size_t all_b;
	if (is_ready())
		return next.calloc(count, size_b);
	return __builtin_mul_overflow(count, size_b, &all_b) ? NULL : take_arena(all_b);
}

static void first_free(void *block)
{
	if (is_ready())
		next.free(block);
}

static __attribute__((noinline)) void *malloc_taken(size_t size_b)
{
	if (unlikely(next.malloc == first_malloc) && !is_ready())
		return take_arena(size_b);
	void *block = next.malloc(size_b);
	struct hook_caller caller = HOOK_CALLER();
	return heap_record_take(block, size_b, &caller);
}

EXPORT void *malloc(size_t size_b)
{
	return likely(heap_record_passes(size_b)) ? next.malloc(size_b) : malloc_taken(size_b);
}

static __attribute__((noinline)) void *calloc_taken(size_t count, size_t size_b)
{
	if (unlikely(next.calloc == first_calloc) && !is_ready())
		return take_arena(count * size_b);
	void *block = next.calloc(count, size_b);
	struct hook_caller caller = HOOK_CALLER();
	return heap_record_take(block, count * size_b, &caller);
}

EXPORT void *calloc(size_t count, size_t size_b)
{
	size_t all_b;
	if (unlikely(__builtin_mul_overflow(count, size_b, &all_b)))
		return next.calloc(count, size_b); /* says what it says of that */
	return likely(heap_record_passes(all_b)) ? next.calloc(count, size_b) : calloc_taken(count, size_b);
}

static __attribute__((noinline)) void free_told(void *block)
{
	uint64_t hidden = heap_record_hide(block);
	if (is_arena(block) || (unlikely(next.free == first_free) && !is_ready()))
		return;
	heap_record_ends(heap_record_show(hidden));
	next.free(heap_record_show(hidden));
}

EXPORT void free(void *block)
{
	if (unlikely(heap_record_may_end(block)))
		free_told(block);
	else
		next.free(block);
}

static void *move_from_arena(const void *block, size_t size_b)
{
	size_t old_b = arena_size(block);
	void *moved = atomic_load(&state) == 2 ? next.malloc(size_b) : take_arena(size_b);
	if (moved)
		memcpy(moved, block, old_b < size_b ? old_b : size_b);
	return moved;
}

static void *move(void *block, size_t size_b, const struct hook_caller *caller)
{
	if (unlikely(!next.realloc) && !is_ready() && !block)
		return take_arena(size_b);
	if (unlikely(is_arena(block))) {
		void *moved = move_from_arena(block, size_b);
		return is_arena(moved) ? moved : heap_record_begins(moved, size_b, caller);
	}
	int told = heap_record_ends(block);
	void *moved = next.realloc(block, size_b);
	if (likely(moved))
		return heap_record_begins(moved, size_b, caller);
	if (size_b && told)
		heap_record_kept(block);
	return NULL;
}

EXPORT void *realloc(void *block, size_t size_b)
{
	struct hook_caller caller = HOOK_CALLER();
	return move(block, size_b, &caller);
}

/* The C library's own calls realloc(), which would be recorded, too. */
EXPORT void *reallocarray(void *block, size_t count, size_t size_b)
{
	struct hook_caller caller = HOOK_CALLER();
	size_t all_b;
	if (__builtin_mul_overflow(count, size_b, &all_b)) {
		errno = ENOMEM;
		return NULL;
	}
	return move(block, all_b, &caller);
}

EXPORT int posix_memalign(void **out, size_t align_b, size_t size_b)
{
	if (unlikely(!is_ready()))
		return ENOMEM;
	int code = next.posix_memalign(out, align_b, size_b);
	struct hook_caller caller = HOOK_CALLER();
	if (!code)
		heap_record_begins(*out, size_b, &caller);
	return code;
}

/* memalign, aligned_alloc */
#define ALIGNED(name)                                              \
	EXPORT void *name(size_t align_b, size_t size_b)           \
	{                                                          \
		if (unlikely(!is_ready()))                         \
			return NULL;                               \
		void *block = next.name(align_b, size_b);          \
		struct hook_caller caller = HOOK_CALLER();         \
		return heap_record_begins(block, size_b, &caller); \
	}

/* valloc, pvalloc */
#define PAGES(name)                                                \
	EXPORT void *name(size_t size_b)                           \
	{                                                          \
		if (unlikely(!is_ready()))                         \
			return NULL;                               \
		void *block = next.name(size_b);                   \
		struct hook_caller caller = HOOK_CALLER();         \
		return heap_record_begins(block, size_b, &caller); \
	}

ALIGNED(memalign)
ALIGNED(aligned_alloc)
PAGES(valloc)
PAGES(pvalloc)

/* --- code that goes ---------------------------------------------------------------------------------------------- */

EXPORT int dlclose(void *object)
{
	if (unlikely(!is_ready()) || !next.dlclose)
		return -1;
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
	if (thread) /* not in a child that vfork() made, or when there are no descriptors left */
		hook_thread_leave(thread);
}
