/* heap_operators.c: C++ operators new and delete, for allocators that bring their own; most call malloc and free, and
 * what these hooks have recorded is not recorded again. */
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "inject/bounds.h"
#include "inject/heap.h"
#include "inject/next.h"

#define EXPORT __attribute__((visibility("default")))

#pragma weak dladdr
#pragma weak dlerror
#pragma weak dlopen
#pragma weak dlsym

/* A C++ library that came with something that was loaded for itself (RTLD_LOCAL), as interpreters load their modules,
 * stands nowhere behind us: it is looked for by its names, then in the object that the caller is in. */
static __attribute__((noinline)) void *find(const char *symbol, const void *caller)
{
	int (*real_dlclose)(void *) = (int (*)(void *))inject_next("dlclose");
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1", NULL};
	void *found = inject_next(symbol);
	Dl_info info = {.dli_fname = NULL};
	if (found || !dlopen || !dlsym || inject_sandbox_is_on()) /* files would be opened */
		return found;
	if (dladdr)
		dladdr(caller, &info);
	for (uint32_t i = 0; !found && i < sizeof(libraries) / sizeof(*libraries); i++) {
		const char *library = libraries[i] ? libraries[i] : info.dli_fname;
		void *object = library ? dlopen(library, RTLD_NOLOAD | RTLD_LAZY) : NULL;
		found = object ? dlsym(object, symbol) : NULL;
		if (inject_bounds_have((uintptr_t)found)) /* ours */
			found = NULL;
		if (object && real_dlclose)
			real_dlclose(object); /* it goes when the program wants it to */
	}
	if (dlerror)
		dlerror(); /* the program has asked for nothing that is not there */
	return found;
}

/* Where there is no C++ library at all. */
static __attribute__((noinline)) void *take(size_t size_b, size_t align_b, int may_fail)
{
	size_t wanted_b = size_b + !size_b;
	void *block = align_b > _Alignof(max_align_t) ? memalign(align_b, wanted_b) : malloc(wanted_b);
	if (!block && !may_fail)
		abort();
	return block;
}

/* All of `next` below, between two names that the linker gives. */
#define KEPT __attribute__((section("heap_next"), used))
extern char __start_heap_next[] __attribute__((visibility("hidden")));
extern char __stop_heap_next[] __attribute__((visibility("hidden")));

void heap_operators_forget(void)
{
	memset(__start_heap_next, 0, (size_t)(__stop_heap_next - __start_heap_next));
}

/* `next` is asked for by each by itself: a C program has none of them. An exception of the real one passes through.
 * Debug information names them as what they are, without C++'s mangling. */
#define NEW(symbol, parameters, arguments, align_b, may_fail)                                   \
	EXPORT void *alloc##symbol parameters __asm__(#symbol);                                 \
	EXPORT void *alloc##symbol parameters                                                   \
	{                                                                                       \
		static void *(*next)parameters KEPT;                                            \
		if (unlikely(!next))                                                            \
			next = (void *(*)parameters)find(#symbol, __builtin_return_address(0)); \
		if (unlikely(!next))                                                            \
			return take(size_b, align_b, may_fail);                                 \
		uint64_t left_b = heap_record_will_new();                                       \
		void *block = next arguments;                                                   \
		if (likely(heap_left != left_b)) /* it was counted */                           \
			return block;                                                           \
		struct heap_caller caller = HEAP_CALLER();                                      \
		return heap_record_new(block, size_b, &caller);                                 \
	}

#define DELETE(symbol, parameters, arguments)                                                  \
	EXPORT void free##symbol parameters __asm__(#symbol);                                  \
	EXPORT void free##symbol parameters                                                    \
	{                                                                                      \
		static void(*next) parameters KEPT;                                            \
		if (unlikely(!next))                                                           \
			next = (void(*) parameters)find(#symbol, __builtin_return_address(0)); \
		if (unlikely(!next)) {                                                         \
			free(block);                                                           \
			return;                                                                \
		}                                                                              \
		if (!heap_record_may_end(block)) {                                             \
			next arguments;                                                        \
			return;                                                                \
		}                                                                              \
		heap_record_deleted(block);                                                    \
		next arguments;                                                                \
		heap_record_deleted(NULL);                                                     \
	}

NEW(_Znwm, (size_t size_b), (size_b), 0, 0)
NEW(_Znam, (size_t size_b), (size_b), 0, 0)
NEW(_ZnwmRKSt9nothrow_t, (size_t size_b, const void *nothrow), (size_b, nothrow), 0, 1)
NEW(_ZnamRKSt9nothrow_t, (size_t size_b, const void *nothrow), (size_b, nothrow), 0, 1)
NEW(_ZnwmSt11align_val_t, (size_t size_b, size_t align_b), (size_b, align_b), align_b, 0)
NEW(_ZnamSt11align_val_t, (size_t size_b, size_t align_b), (size_b, align_b), align_b, 0)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size_b, size_t align_b, const void *nothrow),
    (size_b, align_b, nothrow), align_b, 1)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size_b, size_t align_b, const void *nothrow),
    (size_b, align_b, nothrow), align_b, 1)

DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvm, (void *block, size_t size_b), (block, size_b))
DELETE(_ZdaPvm, (void *block, size_t size_b), (block, size_b))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align_b), (block, align_b))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align_b), (block, align_b))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size_b, size_t align_b), (block, size_b, align_b))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size_b, size_t align_b), (block, size_b, align_b))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align_b, const void *nothrow),
       (block, align_b, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align_b, const void *nothrow),
       (block, align_b, nothrow))
