/* regs.h: the registers of a frame, and the possible results of a step to the next frame. */
#ifndef SONDE_UNWIND_REGS_H
#define SONDE_UNWIND_REGS_H

#include <stdint.h>

/* The other registers are known only at the leaf (`all`), or where a signal interrupted a function (`signal_sp`). Calls
 * do not preserve these registers, so both members are 0 in a caller's frame. */
struct sonde_unwind_regs {
	uint64_t pc, sp, fp;
	uint64_t lr;         /* aarch64; ignored elsewhere */
	const uint64_t *all; /* the values of SONDE_UNWIND_REGISTERS registers, by DWARF number, or NULL */
	uint64_t signal_sp;  /* stack pointer of the signal frame that holds all registers, or 0 */
};

/* The value of an unknown frame pointer: an address that no stack has, so that a row which needs the frame pointer
 * fails. */
#define SONDE_UNWIND_FP_UNKNOWN 1u

/* Reads 8 bytes of the stack; 0, or non-zero if they are not available. */
typedef int (*sonde_unwind_read)(void *context, uint64_t address, uint64_t *out);

enum sonde_unwind_result {
	SONDE_UNWIND_STEPPED = 0,
	SONDE_UNWIND_ROOT,        /* outermost function reached: regs unchanged */
	SONDE_UNWIND_NO_RULE,     /* row NULL or of kind NONE */
	SONDE_UNWIND_UNREADABLE,  /* the stack ended */
	SONDE_UNWIND_BAD,         /* frame address misaligned or not above the stack pointer */
	SONDE_UNWIND_UNKNOWN,     /* a rule that is not supported */
	SONDE_UNWIND_NO_REGISTER, /* the value of a register that is needed is not known */
};

/* The value of a register, by its DWARF number; else NO_REGISTER or UNREADABLE. */
enum sonde_unwind_result sonde_unwind_register(const struct sonde_unwind_regs *regs, uint64_t number,
					       sonde_unwind_read read, void *context, uint64_t *out);

#endif
