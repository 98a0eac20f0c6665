/* early_calls.h: calls of all functions that injected objects interpose (early_calls.def), and who calls them when. */
#ifndef EARLY_CALLS_H
#define EARLY_CALLS_H

#pragma GCC visibility push(hidden) /* the program, a library and the allocator have one each */

/* Writes what calls did not return 0, and their errors, then "WHERE: N calls": the same whenever it is called. */
void early_calls_first(const char *where); /* before the C library is initialised */
void early_calls_under(const char *where);
void early_calls_outside(const char *where);
/* Past everything that is interposed. */
void early_say(const char *text);
long early_call(long number, long a, long b, long c, long d);

#pragma GCC visibility pop

/* The allocator (early_allocator.c) initialises once more. */
void early_allocator_forget(void);

#endif
