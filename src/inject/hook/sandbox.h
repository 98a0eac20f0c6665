/* sandbox.h: no system call of ours once a program has locked itself in by seccomp: hook/sandbox.c, in each injected
 * object by itself. Where several are loaded their wrappers stand in a chain.
 */
#ifndef SONDE_INJECT_HOOK_SANDBOX_H
#define SONDE_INJECT_HOOK_SANDBOX_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the process; a forked child reads zeros. */
struct inject_sandbox {
	_Atomic uint32_t calling; /* who is making system calls of ours */
	pid_t pid;                /* 0 in a child that was forked behind our back */
};

/* Finds the functions that the wrappers stand in front of. */
void inject_sandbox_init(void);
/* From now on calls of ours are counted there; before that there must be none that a filter could see. */
void inject_sandbox_watch(struct inject_sandbox *sandbox);

/* Around system calls of ours: 0 = there must be none, and there is nothing to end. */
int inject_calls_begin(void);
void inject_calls_end(void);
/* This process may make none any more. */
int inject_sandbox_is_on(void);
/* A child that shares our memory may make none. */
int inject_sandbox_is_childs(void);
/* Whether more filters were inherited than the recorder has itself. */
int inject_sandbox_is_inherited(uint64_t recorders);

/* Why: 0 = a filter, 1 = no cycle counter. */
int inject_sandbox_reason(void);

/* An object that tells of waits for futexes has this function: syscall() goes on there with such a call, which it
 * passes on. NULL in the others. */
__attribute__((weak, visibility("hidden"))) long inject_sandbox_futex(long number, long a, long b, long c, long d,
								      long e, long f);
/* An object whose recorder holds copies of the program's memory has this one: they are wiped. The process is about to
 * forbid others of its user to read it (PR_SET_DUMPABLE). */
__attribute__((weak, visibility("hidden"))) void inject_sandbox_undumpable(void);
/* Called when the process is about to lock itself in, while system calls of ours are still allowed (hook/executes.c).
 */
__attribute__((weak, visibility("hidden"))) void inject_sandbox_entering(void);
long inject_sandbox_next(long number, long a, long b, long c, long d, long e, long f);

/* What the object does about it: tells the recorder, while that is still allowed; then, when nobody else makes calls of
 * ours any more, takes back what would lead to some. */
void inject_leave(void);
void inject_left(void);

#endif
