/* heap_bump.c: an allocator that may be called, and jumped out of, anywhere: it only counts up. Linked before the C
 * library's, so that programs may allocate in signal handlers. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_B = 1 << 28, ALIGN_B = 16 };

static _Alignas(ALIGN_B) char capacity[CAPACITY_B];
static _Atomic size_t used_b;

void *malloc(size_t size_b)
{
	size_t wanted_b = ALIGN_B + ((size_b + ALIGN_B - 1) & ~(size_t)(ALIGN_B - 1));
	if (size_b > CAPACITY_B)
		return NULL;
	size_t at = atomic_fetch_add(&used_b, wanted_b);
	if (at > CAPACITY_B - wanted_b)
		return NULL;
	memcpy(capacity + at, &size_b, sizeof size_b);
	return capacity + at + ALIGN_B;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size_b)
{
	size_t all_b;
	return __builtin_mul_overflow(count, size_b, &all_b) ? NULL : malloc(all_b); /* nothing is used twice */
}

void *realloc(void *block, size_t size_b)
{
	size_t old_b = 0;
	void *moved = malloc(size_b);
	if (block)
		memcpy(&old_b, (char *)block - ALIGN_B, sizeof old_b);
	if (moved && block)
		memcpy(moved, block, old_b < size_b ? old_b : size_b);
	return moved;
}
