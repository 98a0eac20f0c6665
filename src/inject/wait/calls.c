/* calls.c: hooks of calls that wait for time, descriptors, signals and other tasks. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "inject/hook/caller.h"
#include "inject/hook/executes.h"
#include "inject/hook/likely.h"
#include "inject/hook/objects.h"
#include "inject/hook/process.h"
#include "inject/hook/rules.h"
#include "inject/wait/waits.h"

#pragma weak pthread_getcpuclockid

#define EXPORT __attribute__((visibility("default")))

/* One row per call: result, name, parameters, arguments, kind. None has an object: with several descriptors there is no
 * single object that was waited for. */
#define CALLS(CALL)                                                                                                    \
	CALL(int, nanosleep, (const struct timespec *time, struct timespec *remainder), (time, remainder), SLEEP)      \
	CALL(int, clock_nanosleep,                                                                                     \
	     (clockid_t clock, int flags, const struct timespec *time, struct timespec *remainder),                    \
	     (clock, flags, time, remainder), SLEEP)                                                                   \
	CALL(int, usleep, (useconds_t time), (time), SLEEP)                                                            \
	CALL(unsigned, sleep, (unsigned time), (time), SLEEP)                                                          \
	CALL(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout), POLL)                 \
	CALL(int, ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals), \
	     (fds, count, timeout, signals), POLL)                                                                     \
	CALL(int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t has_b),                          \
	     (fds, count, timeout, has_b), POLL)                                                                       \
	CALL(int, __ppoll_chk,                                                                                         \
	     (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals,              \
	      size_t has_b),                                                                                           \
	     (fds, count, timeout, signals, has_b), POLL)                                                              \
	CALL(int, select, (int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout),         \
	     (count, reads, writes, others, timeout), POLL)                                                            \
	CALL(int, pselect,                                                                                             \
	     (int count, fd_set *reads, fd_set *writes, fd_set *others, const struct timespec *timeout,                \
	      const sigset_t *signals),                                                                                \
	     (count, reads, writes, others, timeout, signals), POLL)                                                   \
	CALL(int, epoll_wait, (int epoll, struct epoll_event *events, int most, int timeout),                          \
	     (epoll, events, most, timeout), POLL)                                                                     \
	CALL(int, epoll_pwait,                                                                                         \
	     (int epoll, struct epoll_event *events, int most, int timeout, const sigset_t *signals),                  \
	     (epoll, events, most, timeout, signals), POLL)                                                            \
	CALL(int, epoll_pwait2,                                                                                        \
	     (int epoll, struct epoll_event *events, int most, const struct timespec *timeout,                         \
	      const sigset_t *signals),                                                                                \
	     (epoll, events, most, timeout, signals), POLL)                                                            \
	CALL(int, sigwait, (const sigset_t *signals, int *out), (signals, out), SIGNAL)                                \
	CALL(int, sigwaitinfo, (const sigset_t *signals, siginfo_t *out), (signals, out), SIGNAL)                      \
	CALL(int, sigtimedwait, (const sigset_t *signals, siginfo_t *out, const struct timespec *timeout),             \
	     (signals, out, timeout), SIGNAL)                                                                          \
	CALL(int, sigsuspend, (const sigset_t *signals), (signals), SIGNAL)                                            \
	CALL(int, pause, (void), (), SIGNAL)                                                                           \
	CALL(int, thrd_sleep, (const struct timespec *time, struct timespec *remainder), (time, remainder), SLEEP)     \
	CALL(int, waitid, (idtype_t type, id_t id, siginfo_t * out, int flags), (type, id, out, flags), CHILD)

/* Calls that wait for a known task: for a join, the thread is looked up before the call, while it exists; for a child
 * process, the call returns its pid. */
#define TASKS(CALL)                                                                                                    \
	CALL(int, pthread_join, (pthread_t thread, void **out), (thread, out), JOIN, joined(thread), other)            \
	CALL(int, pthread_timedjoin_np, (pthread_t thread, void **out, const struct timespec *until),                  \
	     (thread, out, until), JOIN, joined(thread), other)                                                        \
	CALL(int, pthread_clockjoin_np, (pthread_t thread, void **out, clockid_t clock, const struct timespec *until), \
	     (thread, out, clock, until), JOIN, joined(thread), other)                                                 \
	CALL(int, thrd_join, (thrd_t thread, int *out), (thread, out), JOIN, joined((pthread_t)thread), other)         \
	CALL(int, system, (const char *command), (command), CHILD, (inject_executes_own(), 0), other)                  \
	CALL(pid_t, wait, (int *status), (status), CHILD, 0, result)                                                   \
	CALL(pid_t, waitpid, (pid_t child, int *status, int flags), (child, status, flags), CHILD, 0, result)          \
	CALL(pid_t, wait3, (int *status, int flags, struct rusage *usage), (status, flags, usage), CHILD, 0, result)   \
	CALL(pid_t, wait4, (pid_t child, int *status, int flags, struct rusage *usage), (child, status, flags, usage), \
	     CHILD, 0, result)

/* A call that unloads code. */
#define MEMBER(result, name, parameters, ...) result(*name) parameters;
static struct {
	CALLS(MEMBER)
	TASKS(MEMBER)
	int (*dlclose)(void *);
} next;

#define FIND(result, name, ...) INJECT_NEXT(next.name, #name);
static __attribute__((noinline)) void find_all(void)
{
	CALLS(FIND)
	TASKS(FIND)
	FIND(int, dlclose)
}

__attribute__((constructor)) static void wait_calls_begin(void)
{
	find_all();
}

static inline uint64_t began(void)
{
	return wait_wanted & SONDE_WAIT_WHAT_LOCKS ? wait_now() : 0;
}

/* A running thread's tid is encoded in the id of its CPU clock; 0 = the thread has ended, or its tid is unknown. */
static pid_t joined(pthread_t thread)
{
	clockid_t clock;
	if (!pthread_getcpuclockid || !(wait_wanted & SONDE_WAIT_WHAT_LOCKS) || pthread_getcpuclockid(thread, &clock))
		return 0;
	return ~(clock >> 3);
}

/* The hook of such a call. If the real function is not known, the call fails at once, since nothing can block that
 * early. `before` and `after`: the task waited for, as known at that time. */
#define HOOK_TASK(type, name, parameters, arguments, what, before, after)              \
	EXPORT type name parameters;                                                   \
	EXPORT type name parameters                                                    \
	{                                                                              \
		if (!WAIT_KNOWN(next.name)) {                                          \
			errno = ENOSYS;                                                \
			return (type)-1;                                               \
		}                                                                      \
		__attribute__((unused)) pid_t other = (before);                        \
		struct wait_call call = {.began = began(), .kind = SONDE_WAIT_##what}; \
		type result = next.name arguments;                                     \
		if (likely(!call.began))                                               \
			return result;                                                 \
		struct hook_caller caller = HOOK_CALLER();                             \
		call.other = (after) > 0 ? (after) : 0;                                \
		wait_record(&call, &caller);                                           \
		return result;                                                         \
	}
#define HOOK(type, name, parameters, arguments, what) HOOK_TASK(type, name, parameters, arguments, what, 0, other)

CALLS(HOOK)
TASKS(HOOK_TASK)

EXPORT int dlclose(void *object)
{
	struct inject_objects_count before;
	if (!WAIT_KNOWN(next.dlclose))
		return -1;
	if (!hook_process)
		return next.dlclose(object);
	inject_objects_counted(&before);
	int code = next.dlclose(object);
	hook_rules_forget_gone(&before);
	return code;
}
