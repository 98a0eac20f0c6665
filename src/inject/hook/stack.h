/* stack.h: the bounds of a thread's stack. */
#ifndef SONDE_INJECT_HOOK_STACK_H
#define SONDE_INJECT_HOOK_STACK_H

#include <stddef.h>
#include <stdint.h>

/* Memory from a stack pointer inside up to `end` is readable; 0, 0 = unknown. */
struct inject_stack {
	uintptr_t low, end;
};

/* The stack of the program's first thread. */
struct inject_stack inject_stack_main(void);
/* The stack of a created thread, called in it: `size_b` including its guard of `guard_b`. */
struct inject_stack inject_stack_created(size_t size_b, size_t guard_b);
/* The stack of any other thread, called in it: reads the mappings into `space`. Takes 10 µs, or 1 ms if there are very
 * many. */
struct inject_stack inject_stack_mapped(char *space, size_t space_b);

#endif
