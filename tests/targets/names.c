/* names.c: further names of malloc's functions. 30 blocks of 100 B, which free_sized(), free_aligned_sized() and
 * cfree() take where they are there, else free() (cfree only with an argument: glibc's takes glibc's blocks alone); and
 * prints which names of other allocators exist: none may come from a profiler.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "no_inline.h"

#define WEAK __attribute__((weak))

WEAK void free_sized(void *block, size_t size_b);
WEAK void free_aligned_sized(void *block, size_t align_b, size_t size_b);
WEAK void cfree(void *block);
WEAK void *mallocx(size_t size_b, int flags);
WEAK void *rallocx(void *block, size_t size_b, int flags);
WEAK void dallocx(void *block, int flags);
WEAK void sdallocx(void *block, size_t size_b, int flags);
WEAK void *je_malloc(size_t size_b);
WEAK void *mi_malloc(size_t size_b);
WEAK void mi_free(void *block);
WEAK void *tc_malloc(size_t size_b);

static void *volatile block;

NO_INLINE void takes(void)
{
	block = aligned_alloc(64, 100);
	if (malloc_usable_size(block) < 100)
		abort();
}

static void gives(int i, int old)
{
	if (i % 3 == 0 && free_sized)
		free_sized(block, 100);
	else if (i % 3 == 1 && free_aligned_sized)
		free_aligned_sized(block, 64, 100);
	else if (old && i % 3 == 2 && cfree)
		cfree(block);
	else
		free(block);
}

int main(int argc, char **argv)
{
	void *(*volatile function)(size_t) = malloc; /* where code has a fixed place: of the executable's jump */
	(void)argv;
	free(function(10));
	for (int i = 0; i < 30; i++) {
		takes();
		gives(i, argc > 1);
	}
	printf("names: %d %d %d %d %d %d %d %d\n", mallocx != NULL, rallocx != NULL, dallocx != NULL, sdallocx != NULL,
	       je_malloc != NULL, mi_malloc != NULL, mi_free != NULL, tc_malloc != NULL);
	return 0;
}
