/* aligned_frame.h: finds the slot in which a function that aligns its stack pointer has saved its frame address, from
 * the function's prologue.
 *
 * While OpenSSL's SHA code for AVX2 moves its stack pointer, it keeps the frame address 8 bytes below the stack
 * pointer, where no copy of the stack reaches. But its prologue has saved the frame address before:
 *
 *   and $-2048, %rsp
 *   add $1152, %rsp
 *   mov %rax, 152(%rsp)      # from here on: frame address = *(rsp + 152) + 8
 *
 * If any later value of the function's stack pointer is rounded down to the same alignment, the result is the same
 * address, from which the slot is found. This holds only as long as the stack pointer stays within these 2048 bytes,
 * which is not checked here: callers must validate the value that they read. x86-64 only.
 */
#ifndef SONDE_SYMBOL_ALIGNED_FRAME_H
#define SONDE_SYMBOL_ALIGNED_FRAME_H

#include "symbol/frames/frame_rules.h"
#include "unwind/table.h"

struct sonde_aligned_frame {
	uint64_t align; /* a power of two */
	uint64_t top;   /* maximum distance of the stack pointer above the aligned address */
	uint64_t slot;  /* distance of the word with the frame address above the aligned address */
};

/* Examines the function of `row`, which must be a row of code->table. 0, or -ENOENT if the function has no such
 * prologue. */
int sonde_aligned_frame_find(struct sonde_aligned_frame *out, const struct sonde_frame_code *code,
			     const struct sonde_unwind_row *row);

#endif
