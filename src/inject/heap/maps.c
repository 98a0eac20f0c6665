/* maps.c: hooks for memory that the program maps itself: mmap, munmap, mremap, mprotect, brk and sbrk.
 *
 * Only memory that the kernel commits counts: writable anonymous mappings, and writable private mappings of files.
 * Anonymous mappings that are not writable are reserved: they count once mprotect() makes them writable. Other file
 * mappings do not count, since their memory belongs to the page cache; nor do shared memory files (memfd, shm), which
 * only another system call can tell from files.
 *
 * The allocator's mappings do not reach these hooks, or are recognised by their caller: its blocks are counted when it
 * returns them. The same holds for sonde's own libraries, unless they are linked statically. Mappings made by the
 * loader and the C library themselves (objects, thread stacks) do not use these names, and raw system calls of the
 * program are not seen.
 *
 * As with blocks, an unmap is recorded before the call, because another thread may get the range at once; a mapping is
 * recorded after the call. The record of an unmap that fails is retracted (SONDE_HEAP_MAP_KEPT).
 */
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/heap/heap.h"
#include "inject/hook/bounds.h"
#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/machine.h"
#include "inject/hook/next.h"
#include "inject/hook/objects.h"
#include "inject/hook/process.h"
#include "inject/hook/stacks.h"
#include "inject/hook/thread.h"
#include "inject/hook/walk.h"

#define EXPORT __attribute__((visibility("default")))
#define OTHERS 8u /* the allocator's object, and all of ours */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* The real functions; NULL = not looked up yet, or missing: then the system call is made. */
static struct {
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	void *(*mmap64)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*mprotect)(void *, size_t, int);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
} next;

/* Objects whose mappings do not count as the program's: the one that defines malloc, and ours. */
static struct {
	uintptr_t start, end;
} others[OTHERS];
static uint32_t other_count;

static uint64_t page_b;
static _Atomic int requested;

static int is_ours(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;
	return name && !strncmp(name, "/libsonde", strlen("/libsonde"));
}

static int find_others(struct dl_phdr_info *object, size_t info_b, void *real_malloc)
{
	(void)info_b;
	uintptr_t inside = (uintptr_t)real_malloc, libc = (uintptr_t)getauxval;
	uintptr_t start = UINTPTR_MAX, end = 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t at = object->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
	}
	/* not the C library, which calls internal functions anyway: it may appear as the caller of a program function
	 * that ends in a tail call of munmap() */
	if (libc >= start && libc < end)
		return 0;
	if ((inside >= start && inside < end) || is_ours(object->dlpi_name)) {
		others[other_count].start = start;
		others[other_count++].end = end;
	}
	return other_count == OTHERS;
}

void heap_maps_ask(void)
{
	INJECT_NEXT(next.mmap, "mmap");
	INJECT_NEXT(next.mmap64, "mmap64");
	INJECT_NEXT(next.munmap, "munmap");
	INJECT_NEXT(next.mremap, "mremap");
	INJECT_NEXT(next.mprotect, "mprotect");
	INJECT_NEXT(next.brk, "brk");
	INJECT_NEXT(next.sbrk, "sbrk");
	page_b = 4096;
	if (inject_is_bound() && getauxval(AT_PAGESZ))
		page_b = getauxval(AT_PAGESZ);
}

/* For calls before our constructor has looked up the functions; each can be looked up at any time. */
#define NEEDS(name)               \
	if (unlikely(!next.name)) \
		heap_maps_ask();

void heap_maps_begin(void *real_malloc)
{
	inject_objects_each(find_others, real_malloc);
	atomic_store_explicit(&requested, 1, memory_order_release);
}

/* True if a mapping by this caller counts as the program's. */
static int is_program(const struct hook_caller *caller)
{
	if (inject_bounds_have(caller->pc) || !atomic_load_explicit(&requested, memory_order_acquire))
		return 0;
	for (uint32_t i = 0; i < other_count; i++)
		if (caller->pc - others[i].start < others[i].end - others[i].start)
			return 0;
	if (unlikely(!hook_process))
		hook_process_init();
	return hook_process != NULL;
}

static uint64_t to_pages(uint64_t size_b)
{
	return (size_b + page_b - 1) & ~(page_b - 1);
}

/* --- records ----------------------------------------------------------------------------------------------------- */

static void record_unmap(uint64_t address, uint64_t size_b)
{
	int saved = errno;
	struct hook_thread *thread = address && size_b ? hook_thread_enter() : NULL;
	if (!thread)
		return;
	if (hook_thread_capacity(thread, 3)) {
		hook_thread_time(thread);
		uint64_t words[] = {sonde_heap_op(SONDE_HEAP_UNMAP), address, size_b};
		hook_thread_put_many(thread, words, 3);
	}
	hook_thread_leave(thread);
	errno = saved;
}

/* `caller` NULL = without a stack. */
static void record_map(uint64_t address, uint64_t size_b, enum sonde_heap_map what, const struct hook_caller *caller)
{
	int saved = errno;
	struct hook_thread *thread = address && size_b ? hook_thread_enter() : NULL;
	uint32_t stack = 0;
	if (!thread)
		return;
	if (caller) {
		hook_unwind(thread, caller);
		stack = hook_stack(thread);
	}
	if (hook_thread_capacity(thread, 4)) {
		hook_thread_time(thread);
		uint64_t words[] = {sonde_heap_op(SONDE_HEAP_MAP), address,
				    (uint64_t)what << SONDE_HEAP_MAP_SHIFT | size_b, SONDE_HEAP_MAP_STACK | stack};
		hook_thread_put_many(thread, words, 4);
	}
	hook_thread_leave(thread);
	errno = saved;
}

static void record_kept(uint64_t address, uint64_t size_b)
{
	record_map(address, size_b, SONDE_HEAP_MAP_KEPT, NULL);
}

/* --- mappings ---------------------------------------------------------------------------------------------------- */

struct request {
	void *at;
	size_t size_b;
	int protection, flags, fd;
	off_t offset;
};

/* Does what mmap() does, by the real function or a system call. For an offset that is not a multiple of the page size,
 * the system call returns the same error as the C library. */
static void *map(const struct request *request, void *(*real)(void *, size_t, int, int, int, off_t))
{
	if (likely(real != NULL))
		return real(request->at, request->size_b, request->protection, request->flags, request->fd,
			    request->offset);
	return (void *)inject_machine_direct(SYS_mmap, (long)request->at, (long)request->size_b, request->protection,
					     request->flags, request->fd,
					     request->offset); /* NOLINT: an address, or −1 */
}

static void record_mapped(const struct request *request, const void *mapped, const struct hook_caller *caller)
{
	int writable = (request->protection & PROT_WRITE) != 0;
	uint64_t size_b = to_pages(request->size_b), address = (uint64_t)(uintptr_t)mapped;
	if (request->flags & MAP_ANONYMOUS)
		record_map(address, size_b, writable ? SONDE_HEAP_MAP_MEMORY : SONDE_HEAP_MAP_RESERVED, caller);
	else if (writable && (request->flags & MAP_TYPE) == MAP_PRIVATE)
		record_map(address, size_b, SONDE_HEAP_MAP_MEMORY, caller);
}

static void *map_and_record(const struct request *request, void *(*real)(void *, size_t, int, int, int, off_t),
			    const struct hook_caller *caller)
{
	uint64_t at = (uint64_t)(uintptr_t)request->at, size_b = to_pages(request->size_b);
	if (!is_program(caller))
		return map(request, real);
	int replaces = (request->flags & MAP_FIXED) && !(request->flags & MAP_FIXED_NOREPLACE) && !(at & (page_b - 1));
	if (replaces)
		record_unmap(at, size_b);
	void *mapped = map(request, real);
	if (mapped == MAP_FAILED && replaces)
		record_kept(at, size_b);
	else if (mapped != MAP_FAILED)
		record_mapped(request, mapped, caller);
	return mapped;
}

#define MMAP(name)                                                                                  \
	EXPORT void *name(void *at, size_t size_b, int protection, int flags, int fd, off_t offset) \
	{                                                                                           \
		NEEDS(name)                                                                         \
		struct hook_caller caller = HOOK_CALLER();                                          \
		struct request request = {at, size_b, protection, flags, fd, offset};               \
		return map_and_record(&request, next.name, &caller);                                \
	}

MMAP(mmap)
MMAP(mmap64)

EXPORT void *sonde_heap_mmap(HOOK_HEAP_MMAP);
EXPORT void *sonde_heap_mmap(HOOK_HEAP_MMAP)
{
	NEEDS(mmap)
	struct request request = {at, size_b, protection, flags, fd, offset};
	return map_and_record(&request, next.mmap, caller);
}

static int unmap(void *at, size_t size_b)
{
	NEEDS(munmap)
	return next.munmap ? next.munmap(at, size_b)
			   : (int)inject_machine_direct(SYS_munmap, (long)at, (long)size_b, 0, 0, 0, 0);
}

EXPORT int munmap(void *at, size_t size_b)
{
	struct hook_caller caller = HOOK_CALLER();
	uint64_t address = (uint64_t)(uintptr_t)at;
	if (!is_program(&caller) || address & (page_b - 1) || !size_b)
		return unmap(at, size_b);
	record_unmap(address, to_pages(size_b));
	int code = unmap(at, size_b);
	if (code)
		record_kept(address, to_pages(size_b));
	return code;
}

static void *remap(void *at, size_t size_b, size_t new_b, int flags, void *new_at)
{
	NEEDS(mremap)
	if (likely(next.mremap != NULL))
		return next.mremap(at, size_b, new_b, flags, new_at);
	return (void *)inject_machine_direct(SYS_mremap, (long)at, (long)size_b, (long)new_b, flags, (long)new_at,
					     0); /* NOLINT: an address, or −1 */
}

/* Shrinks a mapping: records that the rest of it is unmapped. */
static void *shrink(void *at, size_t size_b, size_t new_b, int flags, void *new_at)
{
	uint64_t remainder = (uint64_t)(uintptr_t)at + to_pages(new_b), rest_b = to_pages(size_b) - to_pages(new_b);
	record_unmap(remainder, rest_b);
	void *mapped = remap(at, size_b, new_b, flags, new_at);
	if (mapped == MAP_FAILED)
		record_kept(remainder, rest_b);
	return mapped;
}

EXPORT void *mremap(void *at, size_t size_b, size_t new_b, int flags, ...)
{
	struct hook_caller caller = HOOK_CALLER();
	uint64_t address = (uint64_t)(uintptr_t)at;
	va_list more;
	va_start(more, flags);
	void *new_at = va_arg(more, void *); /* if not passed: the same undefined value as the kernel's */
	va_end(more);
	/* size 0: a second mapping of shared memory, which is already counted */
	if (!is_program(&caller) || address & (page_b - 1) || !size_b || !new_b)
		return remap(at, size_b, new_b, flags, new_at);
	if (!(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) && new_b <= size_b)
		return shrink(at, size_b, new_b, flags, new_at);
	if (flags & MREMAP_FIXED)
		record_unmap((uint64_t)(uintptr_t)new_at, to_pages(new_b));
	record_unmap(address, to_pages(size_b));
	void *mapped = remap(at, size_b, new_b, flags, new_at);
	if (mapped == MAP_FAILED) {
		record_kept(address, to_pages(size_b));
		return mapped;
	}
	record_map((uint64_t)(uintptr_t)mapped, to_pages(new_b), SONDE_HEAP_MAP_MOVED, &caller);
	if (flags & MREMAP_DONTUNMAP) /* empty, but still mapped */
		record_map(address, to_pages(size_b), SONDE_HEAP_MAP_MOVED, &caller);
	return mapped;
}

EXPORT int mprotect(void *at, size_t size_b, int protection)
{
	NEEDS(mprotect)
	struct hook_caller caller = HOOK_CALLER();
	uint64_t address = (uint64_t)(uintptr_t)at;
	int code = next.mprotect
		       ? next.mprotect(at, size_b, protection)
		       : (int)inject_machine_direct(SYS_mprotect, (long)at, (long)size_b, protection, 0, 0, 0);
	if (code || !is_program(&caller))
		return code;
	if (protection & PROT_WRITE)
		record_map(address, to_pages(size_b), SONDE_HEAP_MAP_OPENED, &caller);
	else if (protection == PROT_NONE)
		record_map(address, to_pages(size_b), SONDE_HEAP_MAP_CLOSED, NULL);
	return code;
}

/* --- program break ----------------------------------------------------------------------------------------------- */

/* Only the C library may move the break, since it caches the break's address. */
static void *real_sbrk(intptr_t more_b)
{
	NEEDS(sbrk)
	if (likely(next.sbrk != NULL))
		return next.sbrk(more_b);
	errno = ENOMEM;
	return (void *)-1; /* NOLINT: as sbrk() does */
}

EXPORT void *sbrk(intptr_t more_b)
{
	struct hook_caller caller = HOOK_CALLER();
	if (!more_b || !is_program(&caller))
		return real_sbrk(more_b);
	uint64_t less_b = more_b < 0 ? -(uint64_t)more_b : 0, end = less_b ? (uint64_t)(uintptr_t)real_sbrk(0) : 0;
	uint64_t goes = end != UINT64_MAX ? end - less_b : 0; /* 0: not recorded */
	record_unmap(goes, less_b);
	void *before = real_sbrk(more_b);
	if (before == (void *)-1) /* NOLINT */
		record_kept(goes, less_b);
	else if (more_b > 0)
		record_map((uint64_t)(uintptr_t)before, (uint64_t)more_b, SONDE_HEAP_MAP_MEMORY, &caller);
	return before;
}

static int real_brk(void *end)
{
	NEEDS(brk)
	if (likely(next.brk != NULL))
		return next.brk(end);
	errno = ENOMEM;
	return -1;
}

EXPORT int brk(void *end)
{
	struct hook_caller caller = HOOK_CALLER();
	if (!is_program(&caller))
		return real_brk(end);
	uint64_t before = (uint64_t)(uintptr_t)real_sbrk(0), after = (uint64_t)(uintptr_t)end;
	uint64_t less_b = after < before && before != UINT64_MAX ? before - after : 0;
	record_unmap(after, less_b);
	int code = real_brk(end);
	if (code)
		record_kept(after, less_b);
	else if (after > before)
		record_map(before, after - before, SONDE_HEAP_MAP_MEMORY, &caller);
	return code;
}
