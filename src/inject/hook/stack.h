/* stack.h: where the stack of a thread lies. */
#ifndef SONDE_INJECT_HOOK_STACK_H
#define SONDE_INJECT_HOOK_STACK_H

#include <stddef.h>
#include <stdint.h>

/* What lies between is readable from a stack pointer in it on; 0, 0 = not known. */
struct inject_stack {
	uintptr_t low, end;
};

/* The stack of the program's first thread. */
struct inject_stack inject_stack_main(void);
/* That of a created thread, in it: `size_b` with its guard of `guard_b`. */
struct inject_stack inject_stack_created(size_t size_b, size_t guard_b);
/* That of any other thread, in it: reads what is mapped, into `space`. Costs 10 µs, or 1 ms where very much is. */
struct inject_stack inject_stack_mapped(char *space, size_t space_b);

#endif
