/* x86.h: decodes x86-64 instructions as far as unwinding needs: length, effect on the stack pointer, and the general
 * registers written.
 *
 * Knows the length of every instruction that compilers and assemblers emit, AVX-512 included. No allocation, no state.
 */
#ifndef SONDE_SYMBOL_FRAMES_X86_H
#define SONDE_SYMBOL_FRAMES_X86_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_X86_MAX_B 15 /* maximum size of an instruction */

/* General registers by their instruction encoding. */
enum { SONDE_X86_RAX = 0, SONDE_X86_RCX = 1, SONDE_X86_RDX = 2, SONDE_X86_RSP = 4, SONDE_X86_RBP = 5 };
#define SONDE_X86_NO_REGISTER 16

enum sonde_x86_kind {
	SONDE_X86_OTHER = 0,     /* the registers in `written` have unknown values afterwards */
	SONDE_X86_PUSH,          /* pushes `reg`; SONDE_X86_NO_REGISTER = another value */
	SONDE_X86_POP,           /* pops into `reg`; SONDE_X86_NO_REGISTER = elsewhere */
	SONDE_X86_SET,           /* reg = base + offset: mov, add, sub, lea, inc, dec */
	SONDE_X86_LOAD,          /* reg = 8 bytes at base + offset */
	SONDE_X86_STORE,         /* 8 bytes at base + offset = reg */
	SONDE_X86_SWAP,          /* reg and base exchange their values */
	SONDE_X86_LEAVE,         /* rsp = rbp, then pop rbp */
	SONDE_X86_RETURN,        /* pops only the return address */
	SONDE_X86_JUMP,          /* to `target` */
	SONDE_X86_BRANCH,        /* to `target` or falls through; writes the registers in `written` */
	SONDE_X86_CALL,          /* calls `target` */
	SONDE_X86_JUMP_INDIRECT, /* to an address in a register or in memory */
	SONDE_X86_CALL_INDIRECT,
	SONDE_X86_STOP,    /* never continues: ud2, hlt, int3 */
	SONDE_X86_STRANGE, /* changes the stack pointer in an untracked way: enter, ret with an immediate, … */
};

struct sonde_x86 {
	uint8_t kind; /* enum sonde_x86_kind */
	uint8_t size_b;
	uint8_t reg, base;
	uint16_t written; /* bit n: register n */
	int32_t offset;
	uint64_t target; /* of direct jumps and calls */
};

/* Decodes the first instruction of `size_b` bytes located at `address`; 0, or -EBADMSG if it is invalid or
 * truncated. */
int sonde_x86_decode(struct sonde_x86 *out, const uint8_t *bytes, size_t size_b, uint64_t address);

#endif
