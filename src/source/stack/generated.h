/* generated.h: code that a runtime generates while the program runs: how to step through it, and what it is called.
 *
 * A provider is a row of the table in stack/generated.c: it recognises its runtime by what a process has mapped, and is
 * then asked for each frame in code without a file. What no provider knows is followed by frame pointers
 * (stack/unwinder.c) and named by /tmp/perf-PID.map when the recording closes. All that a provider reads is memory of
 * the process, which may say anything: a frame that does not check out ends the stack.
 */
#ifndef SONDE_SOURCE_STACK_GENERATED_H
#define SONDE_SOURCE_STACK_GENERATED_H

#include <stdint.h>

#include "source/record/recorder.h"
#include "source/stack/generated_frame.h"
#include "source/stack/live_memory.h"
#include "source/stack/spaces.h"

struct sonde_generated;

/* Both are borrowed. NULL when out of memory. */
struct sonde_generated *sonde_generated_new(struct sonde_recorder *recorder, struct sonde_live_memory *live);
void sonde_generated_free(struct sonde_generated *generated);

/* 0 where no runtime knows the code: nothing is changed. */
int sonde_generated_step(struct sonde_generated *generated, struct sonde_space *space,
			 struct sonde_generated_frame *frame);

/* Whether `pc`, in a file's code without call-frame information, is in what V8 generated when it was built (its
 * builtins): such code keeps frame pointers, as all that V8 generates. */
int sonde_generated_is_v8(const struct sonde_generated *generated, const struct sonde_space *space, uint64_t pc);

#endif
