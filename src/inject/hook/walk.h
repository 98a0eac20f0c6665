/* walk.h: walks a thread's stack (hook/hook_unwind.c).
 *
 * Stacks are unwound with tables that the recorder compiles (unwind/table.h), by the rules of hook/rules.h. A walk ends
 * at the first frame that the thread's previous walk also had.
 */
#ifndef SONDE_INJECT_HOOK_WALK_H
#define SONDE_INJECT_HOOK_WALK_H

#include <stdint.h>

#include "inject/hook/caller.h"

#pragma GCC visibility push(hidden)

#define HOOK_WALK_MAX 2048u /* frames that a thread keeps; SONDE_HEAP_FRAMES_MAX of them are recorded */
#define HOOK_READS_MAX 4u   /* stack words read by one step at most: as many as a signal frame needs */

struct hook_thread;

/* A stack word that a walk has read. */
struct hook_check {
	const uint64_t *at;
	uint64_t word;
};

/* One frame of the thread's last walk. */
struct hook_frame {
	uint64_t slot; /* address of the return address */
	uint64_t pc;
	uint64_t fp;      /* frame pointer on return to `pc` */
	uint64_t fp_mask; /* 0 if no outer frame depends on it, else ~0 */
	uint64_t hash;    /* of this frame and all frames outside it */
	/* number of the thread's first checks: while these hold, all frames outside this one are unchanged */
	uint32_t checks;
	uint32_t stack; /* number of the stack with this leaf; 0 = not requested yet */
};

/* How a frame determines the frame pointer of its caller. */
enum hook_fp {
	HOOK_FP_REPLACED = 0,
	HOOK_FP_NEEDED = 1, /* its own frame pointer locates the caller's frame */
	HOOK_FP_PASSED = 2, /* the caller has the same frame pointer */
	HOOK_FP_READ = 4,   /* it was read from the stack, as the second word */
};

/* A frame that the current walk has stepped out of, and the words read for that. */
struct hook_step {
	uint64_t slot, pc, fp;
	uint32_t reads;
	uint32_t follows_fp; /* enum hook_fp */
	struct hook_check read[HOOK_READS_MAX];
};

/* Walks to the thread's root: frames[1] to *innermost of the thread, at least one frame. Returns the innermost. */
struct hook_frame *hook_unwind(struct hook_thread *thread, const struct hook_caller *caller);

#pragma GCC visibility pop

#endif
