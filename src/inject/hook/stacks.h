/* stacks.h: numbers the stacks that hooks record, each of them recorded once (hook/hook_stack.c).
 */
#ifndef SONDE_INJECT_HOOK_STACKS_H
#define SONDE_INJECT_HOOK_STACKS_H

#include <stdint.h>

#include "inject/hook/thread.h"

#pragma GCC visibility push(hidden)

int hook_stack_init(void);
/* The number of the stack last found by hook_unwind(), recorded first if it is new; 0 = no room. */
uint32_t hook_stack(struct hook_thread *thread);

#pragma GCC visibility pop

#endif
