/* beam.h: frames of Erlang code that BEAM's just-in-time compiler made, on x86-64, from the stack alone.
 *
 * Such code runs on the stack of its Erlang process, whose words the VM itself tells apart by their lowest two bits: 00
 * is a return address, all others are terms (erts/emulator/beam/global.h, is_CP). So a thread that stopped in it is
 * walked without frame pointers: from one return address to the next, up to the one that every process begins with. Any
 * word that cannot be ends the walk. C code that was called from there runs on the scheduler's stack: its samples hold
 * no word of Erlang's, and end at the code that called it.
 */
#ifndef SONDE_SOURCE_STACK_BEAM_H
#define SONDE_SOURCE_STACK_BEAM_H

#include "source/stack/generated_frame.h"
#include "source/stack/live_memory.h"
#include "source/stack/spaces.h"

/* The return address that every process begins with, of the VM whose beam.smp has its ELF header at `base`. 0 where it
 * does not say, or keeps frame pointers (erl +JPperf true), which are all that is needed then. */
uint64_t sonde_beam_open(struct sonde_live_memory *live, pid_t pid, uint64_t base);

/* As sonde_generated_step(), where space->beam_exit is known. */
int sonde_beam_step(struct sonde_live_memory *live, const struct sonde_space *space,
		    struct sonde_generated_frame *frame);

#endif
