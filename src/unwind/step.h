/* step.h: one step from a frame to its caller. No memory, no lock, no look-up of its own: usable in a signal handler.
 */
#ifndef SONDE_UNWIND_STEP_H
#define SONDE_UNWIND_STEP_H

#include <stdint.h>

#include "unwind/table.h"

/* The other registers are those of the leaf or of the function that a signal interrupted: calls do not keep them. Both
 * are 0 in every caller's frame. */
struct sonde_unwind_regs {
	uint64_t pc, sp, fp;
	uint64_t lr;         /* aarch64; ignored elsewhere */
	const uint64_t *all; /* SONDE_UNWIND_REGISTERS by their DWARF numbers, or NULL */
	uint64_t signal_sp;  /* of the signal frame that holds all registers, or 0 */
};

/* A frame pointer that is not known: an address that no machine has, so that a row that needs it says so. */
#define SONDE_UNWIND_FP_UNKNOWN 1u

/* Reads 8 bytes of the stack; 0, or non-zero when they are not to be had. */
typedef int (*sonde_unwind_read)(void *context, uint64_t address, uint64_t *out);

enum sonde_unwind_result {
	SONDE_UNWIND_STEPPED = 0,
	SONDE_UNWIND_ROOT,        /* outermost function reached: regs unchanged */
	SONDE_UNWIND_NO_RULE,     /* row NULL or of kind NONE */
	SONDE_UNWIND_UNREADABLE,  /* the stack ended */
	SONDE_UNWIND_BAD,         /* frame address misaligned or not above the stack pointer */
	SONDE_UNWIND_UNKNOWN,     /* a rule that is not supported */
	SONDE_UNWIND_NO_REGISTER, /* a register is needed whose value is not known */
};

/* `row` belongs to regs->pc (for a caller: to pc − 1, unless the frame below was a signal trampoline). On STEPPED regs
 * are the caller's (pc = return address) and *signal says whether the frame that was left was a signal trampoline. */
enum sonde_unwind_result sonde_unwind_step(const struct sonde_unwind_row *row, struct sonde_unwind_regs *regs,
					   sonde_unwind_read read, void *context, int *signal);

/* The value of a register, by its DWARF number; else NO_REGISTER or UNREADABLE. */
enum sonde_unwind_result sonde_unwind_register(const struct sonde_unwind_regs *regs, uint64_t number,
					       sonde_unwind_read read, void *context, uint64_t *out);

/* The same by a frame-pointer chain (fp points at saved fp, return address above it), for code without tables. */
enum sonde_unwind_result sonde_unwind_step_fp(struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context);

#endif
