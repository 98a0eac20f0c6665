/* step.h: unwinds one step, from a frame to its caller. Takes no lock, allocates nothing and looks nothing up, so it is
 * usable in a signal handler. */
#ifndef SONDE_UNWIND_STEP_H
#define SONDE_UNWIND_STEP_H

#include <stdint.h>

#include "unwind/regs.h"
#include "unwind/table.h"

/* `row` belongs to regs->pc (for a caller: to pc − 1, unless the frame below was a signal trampoline). If STEPPED is
 * returned, `regs` are the caller's (pc = return address), and *signal is true if the frame that was unwound was a
 * signal trampoline. */
enum sonde_unwind_result sonde_unwind_step(const struct sonde_unwind_row *row, struct sonde_unwind_regs *regs,
					   sonde_unwind_read read, void *context, int *signal);

/* Unwinds one step by the chain of frame pointers, for code without tables: fp points to the saved fp, and the return
 * address lies above it. */
enum sonde_unwind_result sonde_unwind_step_fp(struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context);

#endif
