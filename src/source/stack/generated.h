/* generated.h: steps through code that a runtime generates while the program runs, and names it.
 *
 * A provider is a row of the table in stack/generated.c: it recognises its runtime by the mappings of a process, and is
 * then asked about each frame in code without a file. Code that no provider knows is unwound by frame pointers
 * (stack/unwinder.c) and named from /tmp/perf-PID.map when the recording is closed. Everything that a provider reads is
 * memory of the process, which is untrusted: a frame that fails its checks ends the stack.
 */
#ifndef SONDE_SOURCE_STACK_GENERATED_H
#define SONDE_SOURCE_STACK_GENERATED_H

#include <stdint.h>

#include "source/record/recorder.h"
#include "source/stack/generated_frame.h"
#include "source/stack/live_memory.h"
#include "source/stack/spaces.h"

struct sonde_generated;

/* Borrows both arguments. NULL if out of memory. */
struct sonde_generated *sonde_generated_new(struct sonde_recorder *recorder, struct sonde_live_memory *live);
void sonde_generated_free(struct sonde_generated *generated);

/* Steps from a frame in generated code to its caller, and names the frame. Returns 0 and changes nothing if no runtime
 * knows the code. */
int sonde_generated_step(struct sonde_generated *generated, struct sonde_space *space,
			 struct sonde_generated_frame *frame);

/* True if `pc`, in a file's code without call-frame information, is in V8's embedded builtins. These are generated when
 * V8 is built, and keep frame pointers like all of V8's generated code. */
int sonde_generated_is_v8(const struct sonde_generated *generated, const struct sonde_space *space, uint64_t pc);

#endif
