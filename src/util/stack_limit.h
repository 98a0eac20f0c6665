/* stack_limit.h: gives a command enough stack where the limit on it (ulimit -s) is small. The limit itself stays as it
 * is: the programs that a command starts inherit it.
 */
#ifndef SONDE_UTIL_STACK_LIMIT_H
#define SONDE_UTIL_STACK_LIMIT_H

/* Returns main_function(argc, argv), called on a stack of sufficient size; threads started from then on have one as
 * well. If there is no memory for a stack, the current one is used. Call it once per process, from its first thread. */
int sonde_stack_limit_run(int (*main_function)(int argc, char **argv), int argc, char **argv);

#endif
