/* early_calls.h: calls that are made as early as possible. early.c, early_library.c and early_allocator.c make them;
 * what is called is one of: early_calls.c, all functions of the C library that injected objects interpose
 * (early_calls.def); early_api.c, the public functions of libsonde (early_api.def); early_devices.c, what NVTX, OpenCL
 * and CUDA call; early_operators.c, C++ operators. */
#ifndef EARLY_CALLS_H
#define EARLY_CALLS_H

#pragma GCC visibility push(hidden) /* the program, a library and the allocator have one each */

/* Writes what calls did not return 0, and their errors, then "WHERE: N calls": the same whenever it is called. */
void early_calls_first(const char *where);  /* in a library's resolver: the C library has not begun */
void early_calls_second(const char *where); /* in the program's */
void early_calls_under(const char *where);
void early_calls_outside(const char *where);
/* Past everything that is interposed. */
void early_say(const char *text);
void early_say_number(long number);
void early_say_end(const char *where, long calls);
long early_call(long number, long a, long b, long c, long d);

#pragma GCC visibility pop

/* The allocator (early_allocator.c) initialises once more. */
void early_allocator_forget(void);

#endif
