/* haskell.h: steps from code compiled by GHC to the C code that runs it, on x86-64.
 *
 * Such code has no call-frame information. Haskell has a stack of its own, to which the frame pointer's register
 * points. The C stack pointer stays where StgRun(), the runtime's entry into Haskell code, left it. So for all Haskell
 * code, the C caller is StgRun()'s caller. Its return address lies at a fixed distance from the stack pointer, right
 * after a call of code with StgRun()'s bytes. The Haskell functions in between are only on Haskell's stack, which is
 * not part of a sample.
 */
#ifndef SONDE_SOURCE_STACK_HASKELL_H
#define SONDE_SOURCE_STACK_HASKELL_H

#include "source/stack/process_memory.h"
#include "unwind/step.h"

/* True if the frame of `regs`, whose code has no unwinding rule, is GHC code; then sets `regs` to those of StgRun()'s
 * caller. `read` reads the stack, `code` the process. *known: the last return address found after a call of StgRun() (0
 * = none yet); it stays valid after the process has exited and its code cannot be read any more. */
int sonde_haskell_step(struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context,
		       const struct sonde_process_memory *code, uint64_t *known);

#endif
