/* unwinder.h: turns registers and a copy of the stack into an interned stack, and says why the stack ends where it
 * does.
 *
 * Used by every sampling source: perf events, and the timers inside a target. Not thread-safe.
 */
#ifndef SONDE_SOURCE_STACK_UNWINDER_H
#define SONDE_SOURCE_STACK_UNWINDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/record.h"
#include "source/record/recorder.h"
#include "source/stack/spaces.h"
#include "unwind/machine.h"
#include "unwind/step.h"

#define SONDE_UNWINDER_DEPTH_MAX 1024 /* frames; of a deeper stack, those at the leaf are kept: SONDE_STACK_DEEP */

struct sonde_unwinder;

int sonde_unwinder_new(struct sonde_unwinder **out, struct sonde_recorder *recorder, struct sonde_images *images,
		       struct sonde_spaces *spaces);
void sonde_unwinder_free(struct sonde_unwinder *unwinder);

/* A sample. The walk reads `stack` from this struct each time. So a callback that moves the copy during the walk (the
 * `slow` callback of sonde_images_new()) can store the new address here. */
struct sonde_unwind_sample {
	pid_t pid;
	uint64_t time_ns;
	const uint64_t *kernel; /* kernel addresses, leaf first */
	size_t kernel_count;
	int has_user;                  /* regs are valid */
	int copy_only;                 /* do not read the live stack above the copy */
	int leaf_only;                 /* code of another machine type (32 bits): only its pc is used */
	struct sonde_unwind_regs regs; /* `all` may point to `registers` */
	uint64_t registers[SONDE_UNWIND_REGISTERS];
	const uint8_t *stack; /* copy of the bytes from regs.sp upwards */
	size_t stack_b;
};

/* Sets `regs` from `registers`, which must all be known. */
static inline void sonde_unwind_sample_registers(struct sonde_unwind_sample *sample)
{
	const uint64_t *all = sample->registers;
	sample->regs = (struct sonde_unwind_regs){.pc = all[SONDE_UNWIND_REG_PC],
						  .sp = all[SONDE_UNWIND_REG_SP],
						  .fp = all[SONDE_UNWIND_REG_FP],
						  .lr = all[SONDE_UNWIND_REG_LR],
						  .all = all};
}

/* Unwinds and interns a sample: *stack becomes the stack's node (0 = none). Returns how the stack ended. */
enum sonde_stack_status sonde_unwinder_run(struct sonde_unwinder *unwinder, struct sonde_unwind_sample *sample,
					   uint32_t *stack);

/* Interns a stack of return addresses, leaf first, that was unwound elsewhere. */
uint32_t sonde_unwinder_intern(struct sonde_unwinder *unwinder, pid_t pid, uint64_t time_ns, const uint64_t *pcs,
			       size_t count);

/* Starts a batch: forgets the data read from live stacks. */
void sonde_unwinder_begin(struct sonde_unwinder *unwinder);

#endif
