/* heap_count.c: preloaded: counts what is allocated and freed, and does nothing else, to measure the cost of
 * interposing alone. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define HOOK __attribute__((visibility("default")))

/* glibc's own names, which need no dlsym(). */
extern void *__libc_malloc(size_t size_b);
extern void *__libc_calloc(size_t count, size_t size_b);
extern void *__libc_realloc(void *block, size_t size_b);
extern void *__libc_memalign(size_t alignment, size_t size_b);
extern void __libc_free(void *block);

static __thread struct {
	uint64_t begins, begun_b, ends;
} counts __attribute__((tls_model("initial-exec")));

static inline void *begins(void *block, size_t size_b)
{
	counts.begins += block != NULL;
	counts.begun_b += size_b;
	return block;
}

HOOK void *malloc(size_t size_b)
{
	return begins(__libc_malloc(size_b), size_b);
}

HOOK void *calloc(size_t count, size_t size_b)
{
	return begins(__libc_calloc(count, size_b), count * size_b);
}

HOOK void *realloc(void *block, size_t size_b)
{
	counts.ends += block != NULL;
	return begins(__libc_realloc(block, size_b), size_b);
}

HOOK void *memalign(size_t alignment, size_t size_b)
{
	return begins(__libc_memalign(alignment, size_b), size_b);
}

HOOK void *aligned_alloc(size_t alignment, size_t size_b)
{
	return begins(__libc_memalign(alignment, size_b), size_b);
}

HOOK int posix_memalign(void **out, size_t alignment, size_t size_b)
{
	void *block = begins(__libc_memalign(alignment, size_b), size_b);
	if (!block)
		return ENOMEM;
	*out = block;
	return 0;
}

HOOK void free(void *block)
{
	counts.ends += block != NULL;
	__libc_free(block);
}
