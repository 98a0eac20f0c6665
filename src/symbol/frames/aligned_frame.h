/* aligned_frame.h: where a function that aligned its stack pointer saved its frame address, derived from its prologue.
 *
 * OpenSSL's SHA code for AVX2 keeps the frame address 8 bytes below the stack pointer while it moves that one, where no
 * copy of the stack reaches. But its prologue saved it before:
 *
 *   and $-2048, %rsp
 *   add $1152, %rsp
 *   mov %rax, 152(%rsp)      # from here on: frame address = *(rsp + 152) + 8
 *
 * Aligned again, each later stack pointer of the function gives the same address, and so the same slot. That the
 * function stays in those 2048 bytes is not checked here: validate what is read. x86-64 only.
 */
#ifndef SONDE_SYMBOL_ALIGNED_FRAME_H
#define SONDE_SYMBOL_ALIGNED_FRAME_H

#include "symbol/frames/frame_rules.h"
#include "unwind/table.h"

struct sonde_aligned_frame {
	uint64_t align; /* a power of two */
	uint64_t top;   /* the stack pointer is at most so far above the aligned address */
	uint64_t slot;  /* the word from which the frame address comes lies so far above it */
};

/* Of the function that `row` is of, which must be one of code->table; 0, or -ENOENT: it has no such prologue. */
int sonde_aligned_frame_find(struct sonde_aligned_frame *out, const struct sonde_frame_code *code,
			     const struct sonde_unwind_row *row);

#endif
