/* haskell.h: from code that GHC compiled to the C code that runs it, on x86-64.
 *
 * Such code has no call-frame information and keeps Haskell's stack elsewhere, in the frame pointer's register. The C
 * stack pointer stays where StgRun(), by which the runtime enters Haskell code, has left it. So the caller of any of it
 * is StgRun()'s: the return address that must lie there, behind a call of code that is StgRun()'s by its bytes. What
 * Haskell functions lie in between is on Haskell's stack only, which is no part of a sample.
 */
#ifndef SONDE_SOURCE_STACK_HASKELL_H
#define SONDE_SOURCE_STACK_HASKELL_H

#include "source/stack/process_memory.h"
#include "unwind/step.h"

/* Whether the frame of `regs`, in code without any rule, is one of GHC's: regs are then those of StgRun()'s caller.
 * `read` is of the stack, `code` of the process. *known: the return address that was found behind a call of StgRun() last
 * (0 = none yet), which is one still when the process has gone and its code cannot be read. */
int sonde_haskell_step(struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context,
		       const struct sonde_process_memory *code, uint64_t *known);

#endif
