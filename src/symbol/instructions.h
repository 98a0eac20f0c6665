/* instructions.h: which instruction writes memory where a sample fell, decoded from bytes of code.
 *
 * Of x86-64 and aarch64, by capstone, which is loaded when the first code is decoded: nobody else waits for it. Where
 * sonde is built without its headers, instructions_none.c stands here: nothing can be decoded.
 */
#ifndef SONDE_SYMBOL_INSTRUCTIONS_H
#define SONDE_SYMBOL_INSTRUCTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes from the beginning of a function on. */
struct sonde_code {
	uint16_t machine; /* e_machine of its file */
	uint64_t address; /* of the first byte */
	const uint8_t *bytes;
	size_t size_b;
};

/* An instruction that writes memory which other threads may reach: not by the stack's registers, nor a thread's own. */
struct sonde_write {
	uint64_t address; /* of the instruction */
	int is_atomic;    /* needs the cache line for itself: locked, or exclusive */
	int is_repeated;  /* lies in a loop that leaves the registers of its address as they are */
	char text[200];   /* "lock add qword ptr [rdi], rax" */
};

/* The writing instruction that a sample at `address` speaks of: the one there, which was not finished, or the one right
 * before, which had just been. 1 and `out`; 0: there is none. -ENOSYS with a sentence: it cannot be decoded here. */
int sonde_code_find_write(struct sonde_write *out, const struct sonde_code *code, uint64_t address);

#endif
