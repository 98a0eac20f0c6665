/* names.c: additional names of the allocator's functions.
 *
 * The file defines only names whose presence changes nothing: each is equivalent to free(), and calls free() if no
 * other object defines the name. malloc_usable_size() does not affect blocks and is not hooked.
 *
 * Not here: mallocx, rallocx, dallocx, sdallocx (jemalloc), je_… (jemalloc with a prefix), mi_… (mimalloc), tc_…
 * (tcmalloc). Programs detect such an allocator by a weak reference or dlsym() (folly and RocksDB: `mallocx != NULL`)
 * and then call its other functions, so exporting these names would claim that the allocator is present. Most programs
 * that use them also have the allocator in their own executable, where its functions cannot be interposed: if malloc is
 * there, too, the recorder is informed. Blocks allocated by functions with such names are not recorded: freeing such a
 * block with free() counts as unknown, and a malloc() block that is freed by such a function seems to stay live.
 */
#include <stdlib.h>

#include "inject/heap/heap.h"
#include "inject/hook/connect.h"
#include "inject/hook/next.h"
#include "inject/hook/process.h"
#include "inject/hook/thread.h"

#define EXPORT __attribute__((visibility("default")))

void heap_names_begin(void)
{
	if (!inject_next_is_before("malloc"))
		return;
	inject_connect_flags |= SONDE_LINK_OWN_MALLOC;
	if (!hook_process_init() || !hook_process)
		return;
	if (heap_is_light) { /* no samples in the executable, but perhaps in objects loaded later */
		hook_process_record(SONDE_LINK_OWN);
		return;
	}
	struct hook_thread *thread = hook_thread_enter(); /* connects the process */
	if (thread)
		hook_thread_leave(thread);
}

/* C23 variants of free() for callers that know the block's size or alignment. */
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
