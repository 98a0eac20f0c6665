/* early_operators_library.c: a library with C++ operators (src/inject/heap/operators.def) of its own, which do not call
 * malloc, so that they may be called under an allocator's lock. Blocks are never freed. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_B ((size_t)1 << 26)
#define NONE_B 16u

static char arena[ARENA_B];
static _Atomic size_t used;

static void *take(size_t align_b, size_t size_b)
{
	size_t align = align_b < NONE_B ? NONE_B : align_b;
	size_t at = atomic_fetch_add(&used, size_b + align);
	if (at + size_b + align > ARENA_B)
		__builtin_trap();
	return (void *)(((uintptr_t)arena + at + align - 1) & ~(uintptr_t)(align - 1)); /* NOLINT */
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NEW(symbol, parameters, arguments, alignment, ...)              \
	__attribute__((visibility("default"))) void *symbol parameters; \
	__attribute__((visibility("default"))) void *symbol parameters  \
	{                                                               \
		return take(alignment, size_b);                         \
	}
#define DELETE(symbol, parameters, ...)                                \
	__attribute__((visibility("default"))) void symbol parameters; \
	__attribute__((visibility("default"))) void symbol parameters  \
	{                                                              \
	}
#include "inject/heap/operators.def"
