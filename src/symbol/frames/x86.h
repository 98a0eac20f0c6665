/* x86.h: x86-64 instructions as far as unwinding must know them: their length, what they do to the stack pointer, and
 * which general registers they write.
 *
 * Every instruction that compilers and assemblers write has a length here, AVX-512 included. No memory, no state.
 */
#ifndef SONDE_SYMBOL_FRAMES_X86_H
#define SONDE_SYMBOL_FRAMES_X86_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_X86_MAX_B 15 /* of one instruction */

/* General registers by their numbers in instructions. */
enum { SONDE_X86_RAX = 0, SONDE_X86_RCX = 1, SONDE_X86_RDX = 2, SONDE_X86_RSP = 4, SONDE_X86_RBP = 5 };
#define SONDE_X86_NO_REGISTER 16

enum sonde_x86_kind {
	SONDE_X86_OTHER = 0,     /* the registers of `written` have unknown values after it */
	SONDE_X86_PUSH,          /* `reg`, or SONDE_X86_NO_REGISTER: some other value */
	SONDE_X86_POP,           /* into `reg`, or SONDE_X86_NO_REGISTER: elsewhere */
	SONDE_X86_SET,           /* reg = base + offset: mov, add, sub, lea, inc, dec */
	SONDE_X86_LOAD,          /* reg = 8 bytes at base + offset */
	SONDE_X86_STORE,         /* 8 bytes at base + offset = reg */
	SONDE_X86_SWAP,          /* reg and base exchange their values */
	SONDE_X86_LEAVE,         /* rsp = rbp, then pop rbp */
	SONDE_X86_RETURN,        /* takes nothing but the return address off the stack */
	SONDE_X86_JUMP,          /* to `target` */
	SONDE_X86_BRANCH,        /* to `target` or on; writes the registers of `written` */
	SONDE_X86_CALL,          /* of `target` */
	SONDE_X86_JUMP_INDIRECT, /* to an address in a register or in memory */
	SONDE_X86_CALL_INDIRECT,
	SONDE_X86_STOP,    /* nothing is executed after it: ud2, hlt, int3 */
	SONDE_X86_STRANGE, /* moves the stack pointer in a way that is not followed: enter, ret with a number, … */
};

struct sonde_x86 {
	uint8_t kind; /* enum sonde_x86_kind */
	uint8_t size_b;
	uint8_t reg, base;
	uint16_t written; /* bit n: register n */
	int32_t offset;
	uint64_t target; /* of direct jumps and calls */
};

/* The instruction in the first of `size_b` bytes, which lie at `address`; 0, or -EBADMSG: it is none, or is cut off. */
int sonde_x86_decode(struct sonde_x86 *out, const uint8_t *bytes, size_t size_b, uint64_t address);

#endif
