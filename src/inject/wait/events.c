/* events.c: waits for an event that another thread causes: conditions, semaphores, barriers, spin locks, futexes by
 * syscall().
 *
 * A condition wait releases a mutex and takes it again; both are recorded as if they had been called. A cancelled wait
 * is not recorded.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/hook/sandbox.h"
#include "inject/wait/waits.h"

#pragma weak pthread_testcancel

#define EXPORT __attribute__((visibility("default")))

/* The functions behind ours, and their parameters. */
#define FUNCTIONS(FUNCTION)                                                                                         \
	FUNCTION(pthread_cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))            \
	FUNCTION(pthread_cond_clockwait, (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *)) \
	FUNCTION(cnd_wait, (cnd_t *, mtx_t *))                                                                      \
	FUNCTION(cnd_timedwait, (cnd_t *, mtx_t *, const struct timespec *))                                        \
	FUNCTION(sem_wait, (sem_t *))                                                                               \
	FUNCTION(sem_trywait, (sem_t *))                                                                            \
	FUNCTION(sem_timedwait, (sem_t *, const struct timespec *))                                                 \
	FUNCTION(sem_clockwait, (sem_t *, clockid_t, const struct timespec *))                                      \
	FUNCTION(pthread_barrier_wait, (pthread_barrier_t *))                                                       \
	FUNCTION(pthread_spin_lock, (pthread_spinlock_t *))                                                         \
	FUNCTION(pthread_spin_trylock, (pthread_spinlock_t *))                                                      \
	FUNCTION(sem_post, (sem_t *))                                                                               \
	FUNCTION(pthread_cond_signal, (pthread_cond_t *))                                                           \
	FUNCTION(pthread_cond_broadcast, (pthread_cond_t *))                                                        \
	FUNCTION(cnd_signal, (cnd_t *))                                                                             \
	FUNCTION(cnd_broadcast, (cnd_t *))                                                                          \
	FUNCTION(pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *))

#define MEMBER(name, parameters) int(*name) parameters;
static struct {
	FUNCTIONS(MEMBER)
} next;

#define FIND(name, parameters) INJECT_NEXT(next.name, #name);
static __attribute__((noinline)) void find_all(void)
{
	FUNCTIONS(FIND)
}

__attribute__((constructor)) static void wait_events_begin(void)
{
	find_all();
}

static inline int is_wanted(void)
{
	return (wait_wanted & SONDE_WAIT_WHAT_LOCKS) != 0;
}

/* --- conditions -------------------------------------------------------------------------------------------------- */

/* The mutex is released while its thread waits for the condition; `hold` describes the hold that ends there. */
struct condition {
	struct wait_waiting waiting;
	struct wait_hold hold;
};

static struct condition begin_condition(const void *condition, const void *mutex)
{
	struct condition begun = {.hold = {.ended = 0}};
	if (wait_lock_is_marked(mutex) && wait_mutex_is_outermost(mutex))
		begun.hold = wait_lock_hold(mutex);
	begun.waiting = wait_lock_begin(condition, SONDE_WAIT_CONDITION, 0);
	return begun;
}

static void end_condition(struct condition *begun, const void *mutex, int code, const struct hook_caller *caller)
{
	begun->waiting.call.amount = code ? SONDE_WAIT_IN_VAIN : 0;
	wait_lock_end(&begun->waiting, 0, caller);
	if (wait_lock_is_marked(mutex) && wait_mutex_is_outermost(mutex))
		wait_lock_took(mutex, SONDE_WAIT_MUTEX);
	if (begun->hold.ended)
		wait_record_until(&begun->hold.call, begun->hold.ended, caller);
}

#define CONDITION(name, type, mutex_type, parameters, ...)                  \
	EXPORT int name(type *condition, mutex_type *mutex parameters)      \
	{                                                                   \
		if (!WAIT_KNOWN(next.name))                                 \
			return ENOSYS;                                      \
		if (unlikely(!is_wanted()))                                 \
			return next.name(condition, mutex __VA_ARGS__);     \
		struct condition begun = begin_condition(condition, mutex); \
		int code = next.name(condition, mutex __VA_ARGS__);         \
		struct hook_caller caller = HOOK_CALLER();                  \
		end_condition(&begun, mutex, code, &caller);                \
		return code;                                                \
	}

#define NOTHING
#define UNTIL , const struct timespec *until
#define UNTIL_BY , clockid_t clock, const struct timespec *until

CONDITION(pthread_cond_wait, pthread_cond_t, pthread_mutex_t, NOTHING, NOTHING)
CONDITION(pthread_cond_timedwait, pthread_cond_t, pthread_mutex_t, UNTIL, , until)
CONDITION(pthread_cond_clockwait, pthread_cond_t, pthread_mutex_t, UNTIL_BY, , clock, until)
/* C11 variants; the C library's own calls use internal names that cannot be interposed. */
CONDITION(cnd_wait, cnd_t, mtx_t, NOTHING, NOTHING)
CONDITION(cnd_timedwait, cnd_t, mtx_t, UNTIL, , until)

/* --- semaphores, barriers, spin locks ---------------------------------------------------------------------------- */

/* True for a valid time: an invalid one is rejected even if there is nothing to wait for. */
static inline int is_time(const struct timespec *time)
{
	return time->tv_nsec >= 0 && time->tv_nsec < 1000000000;
}

/* Tries to take the semaphore; keeps errno if that fails. A cancellation point in any case, like sem_wait(). */
static inline int try_semaphore(sem_t *semaphore)
{
	if (pthread_testcancel)
		pthread_testcancel();
	int saved = errno, code = next.sem_trywait(semaphore);
	if (code)
		errno = saved;
	return code;
}

/* `is_refused`: the time is invalid, which is an error even if there is nothing to wait for. */
#define SEMAPHORE(name, parameters, is_refused, ...)                                               \
	EXPORT int name(sem_t *semaphore parameters)                                               \
	{                                                                                          \
		if (!WAIT_KNOWN(next.name))                                                        \
			return ENOSYS;                                                             \
		if (unlikely(!is_wanted()) || unlikely(is_refused))                                \
			return next.name(semaphore __VA_ARGS__);                                   \
		if (!try_semaphore(semaphore))                                                     \
			return 0;                                                                  \
		struct wait_waiting waiting = wait_lock_begin(semaphore, SONDE_WAIT_SEMAPHORE, 0); \
		int code = next.name(semaphore __VA_ARGS__);                                       \
		struct hook_caller caller = HOOK_CALLER();                                         \
		waiting.call.amount = code ? SONDE_WAIT_IN_VAIN : 0;                               \
		wait_lock_end(&waiting, 0, &caller);                                               \
		return code;                                                                       \
	}

SEMAPHORE(sem_wait, NOTHING, 0, NOTHING)
SEMAPHORE(sem_timedwait, UNTIL, !is_time(until), , until)
SEMAPHORE(sem_clockwait, UNTIL_BY, !is_time(until) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC), , clock,
	  until)

/* Calls that wake other threads. The object is not accessed after the call: a woken thread may have freed it. */
#define POST(name, type)                                                    \
	EXPORT int name(type *object)                                       \
	{                                                                   \
		struct wait_hold hold = {.ended = 0};                       \
		if (!WAIT_KNOWN(next.name))                                 \
			return ENOSYS;                                      \
		if (wait_lock_is_marked(object) && is_wanted())             \
			hold = wait_lock_post(object);                      \
		int code = next.name(object);                               \
		if (unlikely(hold.ended)) {                                 \
			struct hook_caller caller = HOOK_CALLER();          \
			wait_record_until(&hold.call, hold.ended, &caller); \
		}                                                           \
		return code;                                                \
	}

POST(sem_post, sem_t)
POST(pthread_cond_signal, pthread_cond_t)
POST(pthread_cond_broadcast, pthread_cond_t)
POST(cnd_signal, cnd_t)
POST(cnd_broadcast, cnd_t)

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	if (!WAIT_KNOWN(next.pthread_barrier_wait))
		return ENOSYS;
	if (unlikely(!is_wanted()))
		return next.pthread_barrier_wait(barrier);
	struct wait_waiting waiting = wait_lock_begin(barrier, SONDE_WAIT_BARRIER, 0);
	int code = next.pthread_barrier_wait(barrier);
	struct hook_caller caller = HOOK_CALLER();
	wait_lock_end(&waiting, 0, &caller);
	return code;
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	if (!WAIT_KNOWN(next.pthread_spin_lock))
		return ENOSYS;
	if (unlikely(!is_wanted()))
		return next.pthread_spin_lock(lock);
	int code = next.pthread_spin_trylock(lock);
	if (likely(code != EBUSY))
		return code;
	struct wait_waiting waiting = wait_lock_begin((const void *)lock, SONDE_WAIT_SPINLOCK, 0);
	code = next.pthread_spin_lock(lock);
	struct hook_caller caller = HOOK_CALLER();
	wait_lock_end(&waiting, 0, &caller);
	return code;
}

/* --- futexes ----------------------------------------------------------------------------------------------------- */

static inline int is_futex_wait(long op)
{
	op &= FUTEX_CMD_MASK;
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == FUTEX_WAIT_REQUEUE_PI;
}

/* Records waits for futexes by syscall(), with which Rust's standard library and others implement locks. A call that
 * finds that the futex has changed does not wait, and is not recorded. */
long inject_sandbox_futex(long number, long a, long b, long c, long d, long e, long f)
{
	if (!is_wanted() || !is_futex_wait(b))
		return inject_sandbox_next(number, a, b, c, d, e, f);
	struct wait_waiting waiting = wait_lock_begin((const void *)a, SONDE_WAIT_FUTEX, 0);
	long result = inject_sandbox_next(number, a, b, c, d, e, f);
	struct hook_caller caller = HOOK_CALLER();
	if (!result || errno != EAGAIN)
		wait_lock_end(&waiting, 0, &caller);
	return result;
}
