/* table.c: unwind/table.c with raw system calls: mmap() and munmap() are hooked, and may be the program's own. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/hook/machine.h"

#define mmap(at, size_b, protection, flags, fd, offset)                                             \
	((void *)inject_machine_direct(SYS_mmap, (long)(at), (long)(size_b), protection, flags, fd, \
				       offset)) /* NOLINT */
#define munmap(at, size_b) (void)INJECT_CALL(SYS_munmap, at, size_b)

#include "unwind/table.c" /* NOLINT: the same code */
