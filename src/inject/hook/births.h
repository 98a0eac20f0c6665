/* births.h: lets created threads start in the injected object: hook/births.c, linked into each object separately. */
#ifndef SONDE_INJECT_HOOK_BIRTHS_H
#define SONDE_INJECT_HOOK_BIRTHS_H

#include "inject/hook/stack.h"

/* Excludes our table from a limit on the process's data (hook/uncounted.h). To be called before any thread is of
 * interest. */
void inject_births_uncount(void);

/* To be implemented by the object. */

/* Called in the creating thread: true if the new thread is of interest; sets a number that is passed to it. */
int inject_birth_is_wanted(int *out);
/* Called in the new thread, which then continues in the program's function. */
void inject_birth_begin(const struct inject_stack *stack, int handed);

#endif
