/* names.c: further names of the allocator's functions.
 *
 * Only names that may be there without anybody noticing: each of them does what free() does, and is that where nobody
 * else has it. malloc_usable_size() says nothing about blocks and is not touched.
 *
 * Not here: mallocx, rallocx, dallocx, sdallocx (jemalloc), je_… (jemalloc with a prefix), mi_… (mimalloc), tc_…
 * (tcmalloc). Programs find out whether they run with such an allocator by a weak reference or dlsym() (folly and
 * RocksDB: `mallocx != NULL`) and then call other functions of it; whoever exports these names says that it is there.
 * Most who use them have the allocator in their own executable besides, where no other object gets in between: when
 * that has malloc, too, the recorder is told. Blocks of such names are not recorded: what free() then gives back is
 * counted as not known, and a block of malloc() that is given back by such a name stays.
 */
#include <stdlib.h>

#include "inject/heap/heap.h"
#include "inject/hook/next.h"

#define EXPORT __attribute__((visibility("default")))

void heap_names_begin(void)
{
	if (!inject_next_is_before("malloc"))
		return;
	inject_connect_flags |= SONDE_LINK_OWN_MALLOC;
	if (!hook_process_init() || !hook_process)
		return;
	if (heap_is_light) { /* it has no sample, but perhaps of what a loaded object brings */
		hook_process_tell(SONDE_LINK_OWN);
		return;
	}
	struct hook_thread *thread = hook_thread_enter(); /* connects */
	if (thread)
		hook_thread_leave(thread);
}

/* C23: as free(), with what the caller knows of the block. */
EXPORT void free_sized(void *block, size_t size_b);
EXPORT void free_sized(void *block, size_t size_b)
{
	(void)size_b;
	free(block);
}

EXPORT void free_aligned_sized(void *block, size_t align_b, size_t size_b);
EXPORT void free_aligned_sized(void *block, size_t align_b, size_t size_b)
{
	(void)align_b, (void)size_b;
	free(block);
}

/* glibc before 2.26. */
EXPORT void cfree(void *block);
EXPORT void cfree(void *block)
{
	free(block);
}
