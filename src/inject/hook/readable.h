/* readable.h: reads the process's own memory, which may be unreadable, where process_vm_readv() is forbidden or
 * missing.
 *
 * Each page is probed first, by a system call that reads a word of it and then fails. A page that another thread
 * protects between the probe and the copy still faults.
 */
#ifndef SONDE_INJECT_HOOK_READABLE_H
#define SONDE_INJECT_HOOK_READABLE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/hook/machine.h"

#define INJECT_PAGE_B 4096u /* or larger */

/* The kernel reads the signal set before it rejects -1 as a way to change the mask. */
static inline int inject_is_page_readable(uintptr_t at)
{
	return INJECT_CALL(SYS_rt_sigprocmask, -1, at & ~(uintptr_t)7, 0UL, sizeof(uint64_t)) != -EFAULT;
}

/* The number of bytes that can be read from `from` on, at most size_b, in complete words. */
static inline size_t inject_readable_b(uintptr_t from, size_t size_b)
{
	size_t readable_b = 0;
	while (readable_b < size_b && inject_is_page_readable(from + readable_b))
		readable_b += INJECT_PAGE_B - (from + readable_b) % INJECT_PAGE_B;
	return (readable_b < size_b ? readable_b : size_b) & ~(size_t)7;
}

/* Word by word: AddressSanitizer's memcpy() refuses to read between a program's variables. */
static inline void inject_copy_words(void *to, uintptr_t from, size_t size_b)
{
	typedef uint64_t __attribute__((aligned(1), may_alias)) word;
	const volatile word *in = (const void *)from; /* NOLINT: the stack */
	uint64_t *out = to;
	for (size_t i = 0; i < size_b / 8; i++)
		out[i] = in[i];
}

#endif
