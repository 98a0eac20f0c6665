/* instructions.h: instructions decoded from bytes of code, and which of them writes memory where a sample fell.
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

struct sonde_instruction {
	uint64_t address;
	size_t size_b;
	const char *text; /* "lock add qword ptr [rdi], rax"; until the next one */
	int is_last; /* what follows is reached by a jump only, or is no code of the function: it returns, or jumps */
};

/* Gives all instructions from the first byte on, until `take` returns what is not 0, which is returned, or bytes are no
 * instruction: 0. -ENOSYS with a sentence: they cannot be decoded here. */
int sonde_code_each(const struct sonde_code *code,
		    int (*take)(void *context, const struct sonde_instruction *instruction), void *context);

#endif
