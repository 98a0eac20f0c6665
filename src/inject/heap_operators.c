/* heap_operators.c: C++ operators new and delete, for allocators that bring their own; most call malloc and free, and
 * what these hooks have recorded is not recorded again.
 *
 * Which ones the program would call depends on who calls: those that stand behind us serve all. Where there are none,
 * each object that was loaded for itself (RTLD_LOCAL), as interpreters load their modules, finds those that it brought
 * along; a C++ library of one object must not throw through another's.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
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

#define OBJECTS 32u /* whose own operators are kept in mind; those of more are looked for at each call */

/* What dlclose() makes doubtful, between two names that the linker gives. */
#define KEPT __attribute__((section("heap_next"), used))
extern char __start_heap_next[] __attribute__((visibility("hidden")));
extern char __stop_heap_next[] __attribute__((visibility("hidden")));

/* Objects that call operators which are not everybody's, from [1] on. */
static struct {
	_Atomic uintptr_t start, end; /* start 0: nobody's yet; end 0: not known yet */
} objects[OBJECTS] KEPT;

void heap_operators_forget(void)
{
	memset(__start_heap_next, 0, (size_t)(__stop_heap_next - __start_heap_next));
}

/* --- objects ----------------------------------------------------------------------------------------------------- */

/* By its head, which is mapped where it begins. */
static uintptr_t end_of(uintptr_t start)
{
	const ElfW(Ehdr) *head = (const void *)start;
	uintptr_t end = start;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return start;
	const ElfW(Phdr) *segment = (const void *)(start + head->e_phoff);
	for (int i = 0; i < head->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD && start + segment[i].p_vaddr + segment[i].p_memsz > end)
			end = start + segment[i].p_vaddr + segment[i].p_memsz;
	return end;
}

/* The number of the object that an address lies in, noting it if it `may` be; 0 = it is not noted. */
static uint32_t object_of(uintptr_t address, int may)
{
	Dl_info info;
	for (uint32_t i = 1; i < OBJECTS; i++) {
		uintptr_t start = atomic_load_explicit(&objects[i].start, memory_order_acquire);
		if (start && address >= start && address < atomic_load_explicit(&objects[i].end, memory_order_acquire))
			return i;
		if (start)
			continue;
		if (!may || !dladdr || !dladdr((const void *)address, &info) || !info.dli_fbase)
			return 0;
		uintptr_t base = (uintptr_t)info.dli_fbase;
		if (!atomic_compare_exchange_strong(&objects[i].start, &start, base))
			continue;
		atomic_store_explicit(&objects[i].end, end_of(base), memory_order_release);
		return i;
	}
	return 0;
}

/* In the object that the caller is in and what that needs, as the program would; else in the usual libraries. */
static void *find_own(const char *symbol, const void *caller)
{
	int (*real_dlclose)(void *) = (int (*)(void *))inject_next("dlclose");
	Dl_info info = {.dli_fname = NULL};
	void *own = NULL;
	if (!dlopen || !dlsym || inject_sandbox_is_on()) /* files would be opened */
		return NULL;
	if (dladdr)
		dladdr(caller, &info);
	const char *const libraries[] = {info.dli_fname, "libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
	for (uint32_t i = 0; !own && i < sizeof(libraries) / sizeof(*libraries); i++) {
		void *object = libraries[i] ? dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY) : NULL;
		own = object ? dlsym(object, symbol) : NULL;
		if (inject_bounds_have((uintptr_t)own)) /* ours */
			own = NULL;
		if (object && real_dlclose)
			real_dlclose(object); /* it goes when the program wants it to */
	}
	if (dlerror)
		dlerror(); /* the program has asked for nothing that is not there */
	return own;
}

static __thread const void *last __attribute__((tls_model("initial-exec"))); /* what find_for() gave out */

static void *find_for(_Atomic(void *) *next, const char *symbol, const void *caller)
{
	uint32_t object = object_of((uintptr_t)caller, 0);
	void *real = object ? atomic_load_explicit(&next[object], memory_order_acquire) : NULL;
	if (likely(real != NULL))
		return real;
	if ((real = inject_next(symbol))) {
		atomic_store_explicit(&next[0], real, memory_order_release);
		return real;
	}
	real = find_own(symbol, caller);
	if (real && (object = object_of((uintptr_t)caller, 1)))
		atomic_store_explicit(&next[object], real, memory_order_release);
	return real;
}

/* One that ends in a jump to another (operator new[] to operator new) calls it from where we called the first. */
static __attribute__((noinline)) void *find(_Atomic(void *) *next, const char *symbol, const void *caller)
{
	if (inject_bounds_have((uintptr_t)caller) && last)
		caller = last;
	void *real = find_for(next, symbol, caller);
	last = real;
	return real;
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

/* The real ones of a name stand in `all`: everybody's, then those of objects; each name is asked for by itself: a C
 * program has none of them. An exception of the real one passes through. Debug information names them as what they are,
 * without C++'s mangling. */
#define NEW(symbol, parameters, arguments, align_b, may_fail)                                     \
	EXPORT void *alloc##symbol parameters __asm__(#symbol);                                   \
	EXPORT void *alloc##symbol parameters                                                     \
	{                                                                                         \
		static _Atomic(void *) all[OBJECTS] KEPT;                                         \
		void *real = atomic_load_explicit(&all[0], memory_order_acquire);                 \
		if (unlikely(!real) && !(real = find(all, #symbol, __builtin_return_address(0)))) \
			return take(size_b, align_b, may_fail);                                   \
		void *(*next)parameters = (void *(*)parameters)real;                              \
		uint64_t left_b = heap_record_will_new();                                         \
		void *block = next arguments;                                                     \
		if (likely(heap_left != left_b)) /* it was counted */                             \
			return block;                                                             \
		struct heap_caller caller = HEAP_CALLER();                                        \
		return heap_record_new(block, size_b, &caller);                                   \
	}

#define DELETE(symbol, parameters, arguments)                                                       \
	EXPORT void free##symbol parameters __asm__(#symbol);                                       \
	EXPORT void free##symbol parameters                                                         \
	{                                                                                           \
		static _Atomic(void *) all[OBJECTS] KEPT;                                           \
		void *real = atomic_load_explicit(&all[0], memory_order_acquire);                   \
		if (unlikely(!real) && !(real = find(all, #symbol, __builtin_return_address(0)))) { \
			free(block);                                                                \
			return;                                                                     \
		}                                                                                   \
		void(*next) parameters = (void(*) parameters)real;                                  \
		if (!heap_record_may_end(block)) {                                                  \
			next arguments;                                                             \
			return;                                                                     \
		}                                                                                   \
		heap_record_deleted(block);                                                         \
		next arguments;                                                                     \
		heap_record_deleted(NULL);                                                          \
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
