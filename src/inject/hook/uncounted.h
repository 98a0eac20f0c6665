/* uncounted.h: static arrays that a limit on a program's data (ulimit -d) does not count.
 *
 * The limit counts private writable memory, which our arrays are, too: under a low limit the program would get less.
 * The kernel does not count stacks, which are memory that may grow downwards (MAP_GROWSDOWN). So an array's pages are
 * replaced by memory of that kind, at the same address; it never grows, since other memory of ours is below. This is
 * done only if there is a limit. Rejected: shared memory, which a forked child would share with its parent.
 */
#ifndef SONDE_INJECT_HOOK_UNCOUNTED_H
#define SONDE_INJECT_HOOK_UNCOUNTED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "inject/hook/machine.h"

#define INJECT_UNCOUNTED_B 4096u
#define INJECT_UNCOUNTED __attribute__((aligned(INJECT_UNCOUNTED_B)))

/* Replaces the array's pages, which must be whole and never written to. Does nothing on AArch64, whose pages may be
 * larger: the kernel would replace what lies next to the array, too. */
static inline void inject_uncount(uintptr_t array, size_t array_b)
{
#if defined(__x86_64__)
	const long kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	uint64_t limit[2] = {UINT64_MAX, UINT64_MAX};
	if (inject_machine_call(SYS_prlimit64, 0, RLIMIT_DATA, 0, (long)limit, 0, 0) || limit[0] == UINT64_MAX)
		return;
	/* A kernel before 6.12 that refuses may have unmapped the old pages already. */
	if (inject_machine_call(SYS_mmap, (long)array, (long)array_b, PROT_READ | PROT_WRITE, kind | MAP_GROWSDOWN, -1,
				0) != (long)array)
		inject_machine_call(SYS_mmap, (long)array, (long)array_b, PROT_READ | PROT_WRITE, kind, -1, 0);
#else
	(void)array;
	(void)array_b;
#endif
}

#define INJECT_UNCOUNT(array)                                                                    \
	do {                                                                                     \
		_Static_assert(sizeof(array) % INJECT_UNCOUNTED_B == 0, "whole pages: " #array); \
		inject_uncount((uintptr_t)(array), sizeof(array));                               \
	} while (0)

#endif
