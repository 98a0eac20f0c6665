/* caller.h: the caller of a hook, from which a walk of the stack starts.
 *
 * A hook interposes a function of the C library and forwards every call.
 */
#ifndef SONDE_INJECT_HOOK_CALLER_H
#define SONDE_INJECT_HOOK_CALLER_H

#include <stdint.h>
#include <sys/types.h>

/* The caller of a hook. */
struct hook_caller {
	uint64_t pc, sp, fp;
};

/* The caller of the hook that uses this macro. The hook must keep a frame pointer. */
#define HOOK_CALLER()                                                           \
	((struct hook_caller){(uint64_t)(uintptr_t)__builtin_return_address(0), \
			      (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),       \
			      *(const uint64_t *)__builtin_frame_address(0)})

/* Parameters of `sonde_heap_mmap` in the allocation hooks: mmap() on behalf of another hook, whose caller owns the
 * mapping. */
#define HOOK_HEAP_MMAP \
	void *at, size_t size_b, int protection, int flags, int fd, off_t offset, const struct hook_caller *caller

#endif
