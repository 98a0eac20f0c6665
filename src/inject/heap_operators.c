/* heap_operators.c: C++ operators new and delete, for allocators that bring their own; most call malloc and free, and
 * what these hooks have recorded is not recorded again. */
#include <stddef.h>

#include "inject/heap.h"
#include "inject/next.h"

#define EXPORT __attribute__((visibility("default")))

/* `next` is asked for by each by itself: a C program has none of them. An exception of the real one passes through.
 * Debug information names them as what they are, without C++'s mangling. */
#define NEW(symbol, parameters, arguments)                                \
	EXPORT void *alloc##symbol parameters __asm__(#symbol);           \
	EXPORT void *alloc##symbol parameters                             \
	{                                                                 \
		static void *(*next)parameters;                           \
		if (unlikely(!next))                                      \
			next = (void *(*)parameters)inject_next(#symbol); \
		uint64_t left_b = heap_record_will_new();                 \
		void *block = next arguments;                             \
		if (likely(heap_left != left_b)) /* it was counted */     \
			return block;                                     \
		struct heap_caller caller = HEAP_CALLER();                \
		return heap_record_new(block, size_b, &caller);           \
	}

#define DELETE(symbol, parameters, arguments)                            \
	EXPORT void free##symbol parameters __asm__(#symbol);            \
	EXPORT void free##symbol parameters                              \
	{                                                                \
		static void(*next) parameters;                           \
		if (unlikely(!next))                                     \
			next = (void(*) parameters)inject_next(#symbol); \
		if (!heap_record_may_end(block)) {                       \
			next arguments;                                  \
			return;                                          \
		}                                                        \
		heap_record_deleted(block);                              \
		next arguments;                                          \
		heap_record_deleted(NULL);                               \
	}

NEW(_Znwm, (size_t size_b), (size_b))
NEW(_Znam, (size_t size_b), (size_b))
NEW(_ZnwmRKSt9nothrow_t, (size_t size_b, const void *nothrow), (size_b, nothrow))
NEW(_ZnamRKSt9nothrow_t, (size_t size_b, const void *nothrow), (size_b, nothrow))
NEW(_ZnwmSt11align_val_t, (size_t size_b, size_t align_b), (size_b, align_b))
NEW(_ZnamSt11align_val_t, (size_t size_b, size_t align_b), (size_b, align_b))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size_b, size_t align_b, const void *nothrow),
    (size_b, align_b, nothrow))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size_b, size_t align_b, const void *nothrow),
    (size_b, align_b, nothrow))

DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvm, (void *block, size_t size_b), (block, size_b))
DELETE(_ZdaPvm, (void *block, size_t size_b), (block, size_b))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align_b), (block, align_b))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align_b), (block, align_b))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size_b, size_t align_b), (block, size_b, align_b))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size_b, size_t align_b), (block, size_b, align_b))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align_b, const void *nothrow),
       (block, align_b, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align_b, const void *nothrow),
       (block, align_b, nothrow))
