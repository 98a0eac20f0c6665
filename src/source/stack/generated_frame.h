/* generated_frame.h: one frame of runtime-generated code during a stack walk (stack/generated.h). */
#ifndef SONDE_SOURCE_STACK_GENERATED_FRAME_H
#define SONDE_SOURCE_STACK_GENERATED_FRAME_H

#include "trace/trie.h"
#include "unwind/step.h"

struct sonde_generated_frame {
	struct sonde_unwind_regs regs; /* registers of the frame; after a step, those of its caller */
	int is_leaf;                   /* regs.pc is where the thread stopped; otherwise it is a return address */
	int is_innermost;              /* all frames below are generated code, too: sp is the thread's own */
	sonde_unwind_read read;        /* reads the stack */
	void *context;
	struct sonde_trie_frame name;    /* name of the frame; module 0 = unknown */
	enum sonde_unwind_result result; /* of the step to its caller */
};

#endif
