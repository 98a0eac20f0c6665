/* instructions.h: decodes instructions from code bytes, and finds the one that wrote memory at a sample.
 *
 * x86-64 and aarch64, with capstone, which is loaded only when code is decoded for the first time, so that other
 * commands start faster. Without its headers, instructions_none.c is built instead and nothing can be decoded.
 */
#ifndef SONDE_SYMBOL_INSTRUCTIONS_H
#define SONDE_SYMBOL_INSTRUCTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Code bytes from the start of a function. */
struct sonde_code {
	uint16_t machine; /* e_machine of its file */
	uint64_t address; /* of the first byte */
	const uint8_t *bytes;
	size_t size_b;
};

/* An instruction that writes memory that other threads may access: not relative to the stack or thread registers. */
struct sonde_write {
	uint64_t address; /* of the instruction */
	int is_atomic;    /* takes the cache line exclusively: locked or atomic */
	int is_repeated;  /* in a loop that does not change the registers of its address */
	char text[200];   /* "lock add qword ptr [rdi], rax" */
};

/* Finds the write that a sample at `address` refers to: the instruction at `address`, if it had not finished, or the
 * one before it, if that had just finished. Returns 1 and fills in `out`; 0 if there is no write; -ENOSYS with a
 * message if code cannot be decoded here. */
int sonde_code_find_write(struct sonde_write *out, const struct sonde_code *code, uint64_t address);

struct sonde_instruction {
	uint64_t address;
	size_t size_b;
	const char *text; /* "lock add qword ptr [rdi], rax"; valid until the next instruction */
	int is_last;      /* never falls through (return or jump): what follows is reached by a jump, or is not code */
};

/* Passes all instructions from the first byte on to `take`, and returns its first non-zero result; 0 at the end, or
 * when the bytes are not an instruction. -ENOSYS with a message if code cannot be decoded here. */
int sonde_code_each(const struct sonde_code *code,
		    int (*take)(void *context, const struct sonde_instruction *instruction), void *context);

#endif
