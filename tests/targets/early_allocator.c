/* early_allocator.c: an allocator that initialises under a spinlock, and calls everything that is interposed on the
 * way: linked, preloaded, or in the program itself. A call of it in the same thread in the meantime would wait for
 * ever: instead, the process prints that and exits with 99. Blocks are never freed. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "early_calls.h"

#define ARENA_B ((size_t)1 << 30)
#define ALIGN_B 16u

static char arena[ARENA_B]; /* bss: mapped as it is touched */
static _Atomic size_t used;
static _Atomic long owner; /* owner of the spinlock: a thread; 0 = none */
static _Atomic int state;  /* 0 = not initialised, 1 = initialising, 2 = ready */

static void end_re_entered(void)
{
	static const char text[] = "the allocator was called while it held its lock\n";
	early_call(SYS_write, 2, (long)text, sizeof text - 1, 0);
	early_call(SYS_exit_group, 99, 0, 0, 0);
}

static void lock(void)
{
	long self = early_call(SYS_gettid, 0, 0, 0, 0), nobody = 0;
	if (atomic_load(&owner) == self)
		end_re_entered();
	while (!atomic_compare_exchange_weak(&owner, &nobody, self))
		nobody = 0;
}

static void unlock(void)
{
	atomic_store(&owner, 0);
}

static void initialise(void)
{
	int saved = errno;
	lock();
	if (atomic_load(&state) != 2) {
		atomic_store(&state, 1);
		early_calls_under("allocator");
		atomic_store(&state, 2);
	}
	unlock();
	errno = saved;
}

void early_allocator_forget(void)
{
	atomic_store(&state, 0);
}

static void *take(size_t align_b, size_t size_b)
{
	if (atomic_load(&state) != 2)
		initialise();
	align_b = align_b < ALIGN_B ? ALIGN_B : align_b;
	size_t wanted_b = size_b + align_b + ALIGN_B, at = atomic_fetch_add(&used, wanted_b);
	if (size_b > ARENA_B / 2 || at + wanted_b > ARENA_B) {
		errno = ENOMEM;
		return NULL;
	}
	uintptr_t block = ((uintptr_t)arena + at + ALIGN_B + align_b - 1) & ~(uintptr_t)(align_b - 1);
	memcpy((char *)block - sizeof size_b, &size_b, sizeof size_b);
	return (void *)block; /* NOLINT */
}

void *malloc(size_t size_b)
{
	return take(ALIGN_B, size_b);
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size_b)
{
	size_t all_b;
	return __builtin_mul_overflow(count, size_b, &all_b) ? NULL : take(ALIGN_B, all_b); /* the arena is zero */
}

void *realloc(void *block, size_t size_b)
{
	size_t old_b = 0;
	char *moved = take(ALIGN_B, size_b);
	if (!moved || !block)
		return moved;
	memcpy(&old_b, (char *)block - sizeof old_b, sizeof old_b);
	return memcpy(moved, block, old_b < size_b ? old_b : size_b);
}

void *memalign(size_t align_b, size_t size_b)
{
	return take(align_b, size_b);
}

void *aligned_alloc(size_t align_b, size_t size_b)
{
	return take(align_b, size_b);
}

int posix_memalign(void **out, size_t align_b, size_t size_b)
{
	*out = take(align_b, size_b);
	return *out ? 0 : ENOMEM;
}

void *valloc(size_t size_b)
{
	return take(4096, size_b);
}

void *pvalloc(size_t size_b)
{
	return take(4096, (size_b + 4095) & ~(size_t)4095);
}
