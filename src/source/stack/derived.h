/* derived.h: steps out of code without call-frame information by rules derived from its instructions, and checks return
 * addresses.
 *
 * A return address is believed where a call ends right before it; one that says its target must call the code that it
 * is said to have called, or something that jumps on to where nobody knows (a PLT entry, a jump table). What fails is
 * not stepped over: the stack stays incomplete. The rules of a module (symbol/frames/frame_rules.h) are made when code of it
 * is first met without a row, from its file, and kept. x86-64 only. Not thread-safe.
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

/* Where a step is made: in a process with these mappings. */
struct sonde_derived_place {
	pid_t pid;
	const struct sonde_maps *maps;
};

/* Whether the instructions at `pc` can be decoded: those of a module's file, of this machine. */
int sonde_derived_knows(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t pc);

/* From code without a row at regs->pc to its caller. NO_RULE where no rule is known, or what it finds is not believed,
 * NO_REGISTER where the rule needs a register that is not known;
 * ROOT where a goroutine began. */
enum sonde_unwind_result sonde_derived_step(struct sonde_derived *derived, const struct sonde_derived_place *place,
					    struct sonde_unwind_regs *regs, sonde_unwind_read read, void *context);

/* By `row`, whose frame address is saved below the stack pointer, where no copy reaches: from the slot that the
 * function's prologue saved it in before. NO_RULE where there is none, or what it holds does not lead to a direct call
 * of the function. */
enum sonde_unwind_result sonde_derived_step_aligned(struct sonde_derived *derived,
						    const struct sonde_derived_place *place,
						    const struct sonde_unwind_row *row, struct sonde_unwind_regs *regs,
						    sonde_unwind_read read, void *context);

/* Whether `ra` is certainly where the code at `pc` returns to, whatever led there: behind a direct call of a function
 * that comes to `pc`, or where a goroutine's first function returns to. */
int sonde_derived_is_caller(struct sonde_derived *derived, const struct sonde_derived_place *place, uint64_t pc,
			    uint64_t ra);

#endif
