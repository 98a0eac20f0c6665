/* table.c: unwind/table.c with raw system calls: mmap() and munmap() are hooked, and may be the program's own. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/hook/machine.h"

static void *map_directly(void *at, size_t size_b, int protection, int flags, int fd, long offset)
{
	long mapped = INJECT_CALL(SYS_mmap, at, size_b, protection, flags, fd, offset);
	if (mapped >= 0 || mapped < -4095)
		return (void *)mapped; /* NOLINT: an address */
	errno = (int)-mapped;
	return MAP_FAILED;
}

#define mmap(at, size_b, protection, flags, fd, offset) map_directly(at, size_b, protection, flags, fd, offset)
#define munmap(at, size_b) (void)INJECT_CALL(SYS_munmap, at, size_b)

#include "unwind/table.c" /* NOLINT: the same code */
