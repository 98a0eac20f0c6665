/* derived.h: unwinds code without call-frame information by rules derived from its instructions, and checks return
 * addresses.
 *
 * A return address is accepted only if a call ends right before it. If the call's target is known, it must be the
 * function of the frame, or code that jumps on to an unknown target (a PLT entry, a jump table). A frame that fails the
 * check is not unwound further, so the stack stays incomplete. The rules of a module (symbol/frames/frame_rules.h) are
 * derived from its file when a pc without a row is first seen in it, and are kept. x86-64 only. Not thread-safe.
 */
#ifndef SONDE_SOURCE_STACK_DERIVED_H
#define SONDE_SOURCE_STACK_DERIVED_H

#include <sys/types.h>

#include "source/stack/image.h"
#include "source/stack/live_memory.h"
#include "source/stack/maps.h"
#include "unwind/step.h"

struct sonde_derived;

int sonde_derived_new(struct sonde_derived **out, struct sonde_images *images, struct sonde_live_memory *live);
void sonde_derived_free(struct sonde_derived *derived);

/* The process and its mappings in which a step is made. */
struct sonde_derived_place {
	pid_t pid;
	const struct sonde_maps *maps;
};

/* True if the instructions at `pc` can be decoded: they are in a module's file, for this machine. */
int sonde_derived_knows(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t pc);

/* Steps from code without a row at regs->pc to its caller. NO_RULE if no rule is known or its result fails the check,
 * NO_REGISTER if the rule needs an unknown register, ROOT at the start of a goroutine. */
enum sonde_unwind_result sonde_derived_step(struct sonde_derived *derived, const struct sonde_derived_place *place,
					    struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context);

/* Steps by `row`, whose frame address is saved below the stack pointer, and is therefore not in the copy of the stack.
 * Reads the frame address from another slot, in which the function's prologue saved it earlier. NO_RULE if there is no
 * such slot, or if its value does not lead to a direct call of the function. */
enum sonde_unwind_result sonde_derived_step_aligned(struct sonde_derived *derived,
						    const struct sonde_derived_place *place,
						    const struct sonde_unwind_row *row, struct sonde_unwind_regs *regs,
						    sonde_unwind_read read, void *context);

/* True if the code at `pc` certainly returns to `ra`, however it was reached: `ra` follows a direct call of a function
 * that leads to `pc`, or is the address to which a goroutine's first function returns. */
int sonde_derived_is_caller(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t pc,
			    uint64_t ra);

#endif
