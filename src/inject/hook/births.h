/* births.h: threads that are created begin in an injected object: hook/births.c, in each of them by itself. */
#ifndef SONDE_INJECT_HOOK_BIRTHS_H
#define SONDE_INJECT_HOOK_BIRTHS_H

#include "inject/hook/stack.h"

/* What the object does about it. */

/* By the creating thread: whether the new one is of interest, and a number that is handed to it. */
int inject_birth_is_wanted(int *out);
/* By the new thread, which then goes on as the program's. */
void inject_birth_begin(const struct inject_stack *stack, int handed);

#endif
