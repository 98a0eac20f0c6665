/* heap_own_maps.c: a program that defines mmap(), munmap() and syscall() itself. They allocate, and enter the kernel
 * in the way given by the first argument; callers must cope with that.
 *
 * libc      by the C library's functions
 * syscall   by syscall(), which is the program's, too
 *
 * Maps 10 times 1 MiB, keeps 100 blocks of 1000 B in after(), and says how often each function was called by itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "no_inline.h"

#define MAPPED_B (1u << 20)

static int by_syscall;
static __thread int inside, own; /* 1 = in use_memory(); 1 = in the calls that main() counts */
static unsigned mapped, unmapped;
static void *volatile seen;
static void *volatile kept[100];

/* Allocates a block, and a larger one, for which the allocator may have to map memory. */
static void use_memory(void)
{
	if (inside++ == 0) {
		seen = malloc(100);
		free(seen);
		seen = malloc(300000);
		free(seen);
	}
	inside--;
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6];
	va_list more;
	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	use_memory();
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *mmap(void *at, size_t size_b, int protection, int flags, int fd, off_t offset)
{
	static void *(*next)(void *, size_t, int, int, int, off_t);
	mapped += own && !inside;
	use_memory();
	if (by_syscall)
		return (void *)syscall(SYS_mmap, at, size_b, protection, flags, fd, offset); /* NOLINT */
	if (!next)
		next = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
	return next(at, size_b, protection, flags, fd, offset);
}

int munmap(void *at, size_t size_b)
{
	static int (*next)(void *, size_t);
	unmapped += own && !inside;
	use_memory();
	if (by_syscall)
		return (int)syscall(SYS_munmap, at, size_b);
	if (!next)
		next = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
	return next(at, size_b);
}

NO_INLINE static void after(void)
{
	for (int i = 0; i < 100; i++)
		kept[i] = malloc(1000);
}

int main(int argc, char **argv)
{
	by_syscall = argc > 1 && !strcmp(argv[1], "syscall");
	own = 1;
	for (int i = 0; i < 10; i++) {
		char *memory = mmap(NULL, MAPPED_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return 1;
		memset(memory, i, MAPPED_B);
		if (munmap(memory, MAPPED_B))
			return 1;
	}
	own = 0;
	errno = 0;
	if (syscall(SYS_close, -1) != -1 || errno != EBADF)
		return 1;
	after();
	printf("%u %u\n", mapped, unmapped);
	return 0;
}
