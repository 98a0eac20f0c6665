/* sandbox.h: prevents system calls of ours after a program has sandboxed itself with seccomp: hook/sandbox.c, linked
 * into each injected object separately. If several are loaded, their wrappers form a chain.
 */
#ifndef SONDE_INJECT_HOOK_SANDBOX_H
#define SONDE_INJECT_HOOK_SANDBOX_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* State of the process; reads as zeros in a forked child. */
struct inject_sandbox {
	_Atomic uint32_t calling; /* threads inside system calls of ours */
	pid_t pid;                /* 0 in a child whose fork we did not see */
};

/* Finds the functions that the wrappers interpose. */
void inject_sandbox_init(void);
/* From now on our system calls are counted there; before that we must make none that a filter could see. */
void inject_sandbox_watch(struct inject_sandbox *sandbox);

/* Around our system calls: 0 = they are forbidden, and inject_calls_end() must not be called. */
int inject_calls_begin(void);
void inject_calls_end(void);
/* True if this process may make no more system calls of ours. */
int inject_sandbox_is_on(void);
/* True if a child that shares our memory may make no more system calls. */
int inject_sandbox_is_childs(void);
/* True if more filters were inherited than the recorder has itself. */
int inject_sandbox_is_inherited(uint64_t recorders);

/* Why this process may make no more system calls: 0 = a filter, 1 = no cycle counter. */
int inject_sandbox_reason(void);

/* Implemented by an object that records futex waits: syscall() passes such calls to it, and it forwards them. NULL in
 * the others. */
__attribute__((weak, visibility("hidden"))) long inject_sandbox_futex(long number, long a, long b, long c, long d,
								      long e, long f);
/* Implemented by an object whose recorder holds copies of the program's memory: wipes them. The process is about to
 * forbid other processes of its user to read its memory (PR_SET_DUMPABLE). */
__attribute__((weak, visibility("hidden"))) void inject_sandbox_undumpable(void);
/* Called when the process is about to sandbox itself, while our system calls are still allowed (hook/executes.c). */
__attribute__((weak, visibility("hidden"))) void inject_sandbox_entering(void);
long inject_sandbox_next(long number, long a, long b, long c, long d, long e, long f);

/* Implemented by objects that need it; NULL in the others. The first informs the recorder, while that is still allowed;
 * the second runs when no thread makes system calls of ours any more, and removes the timers that would cause one. */
__attribute__((weak, visibility("hidden"))) void inject_leave(void);
__attribute__((weak, visibility("hidden"))) void inject_left(void);

#endif
