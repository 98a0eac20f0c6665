/* aligned_frame.h: where a function that aligned its stack pointer saved its frame address, derived from its prologue.
 *
 * While OpenSSL's SHA code for AVX2 moves its stack pointer, it keeps the frame address 8 bytes below the stack
 * pointer, where no copy of the stack reaches. But its prologue has saved the frame address before:
 *
 *   and $-2048, %rsp
 *   add $1152, %rsp
 *   mov %rax, 152(%rsp)      # from here on: frame address = *(rsp + 152) + 8
 *
 * If any later stack pointer of the function is aligned again, the result is the same address, and so the same slot.
 * This holds only while the function stays within those 2048 bytes, which is not checked here: callers must validate
 * what they read. x86-64 only.
 */
#ifndef SONDE_SYMBOL_ALIGNED_FRAME_H
#define SONDE_SYMBOL_ALIGNED_FRAME_H

#include "symbol/frames/frame_rules.h"
#include "unwind/table.h"

struct sonde_aligned_frame {
	uint64_t align; /* a power of two */
	uint64_t top;   /* maximum distance of the stack pointer above the aligned address */
	uint64_t slot;  /* distance above it of the word that gives the frame address */
};

/* Examines the function of `row`, which must be a row of code->table. 0, or -ENOENT if the function has no such
 * prologue. */
int sonde_aligned_frame_find(struct sonde_aligned_frame *out, const struct sonde_frame_code *code,
			     const struct sonde_unwind_row *row);

#endif
