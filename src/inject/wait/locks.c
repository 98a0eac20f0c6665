/* locks.c: hooks of mutexes and read-write locks, including those of C11.
 *
 * Each hook first tries the lock: for a free lock, the cost is that attempt and a check of one byte. A thread that
 * finds a lock taken adds it to the table (wait/table.c) and marks its byte; from then on each owner stores the time
 * when it takes the lock, and records the hold on unlock if others wait. So holds are not recorded before the first
 * wait for a lock. A mutex that its owner takes recursively is held from the outermost lock to the outermost unlock, by
 * glibc's own count; in other C libraries each unlock ends a hold. The holder at the start of a wait is read from the
 * lock, if the C library is glibc. In glibc, C11 locks are POSIX locks, which it takes by internal names that cannot be
 * interposed.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "inject/hook/caller.h"
#include "inject/hook/likely.h"
#include "inject/wait/waits.h"

#define EXPORT __attribute__((visibility("default")))

#pragma weak gnu_get_libc_version
const char *gnu_get_libc_version(void);

/* The functions that take locks of one kind. */
struct taking {
	int (*try)(void *);
	int (*lock)(void *);
	int (*timed)(void *, const struct timespec *);
	int (*clocked)(void *, clockid_t, const struct timespec *);
};

static struct {
	struct taking mutex, read, write, c11;
	int (*mutex_unlock)(void *);
	int (*rwlock_unlock)(void *);
	int (*c11_unlock)(void *);
} next;

/* glibc before 2.34 provides pthread_mutex_lock() even without its thread library, for single-threaded programs. */
static int lock_plainly(void *lock)
{
	return next.mutex.lock(lock);
}

static __attribute__((noinline)) void find_all(void)
{
	INJECT_NEXT(next.mutex.try, "pthread_mutex_trylock");
	INJECT_NEXT(next.mutex.timed, "pthread_mutex_timedlock");
	INJECT_NEXT(next.mutex.clocked, "pthread_mutex_clocklock");
	INJECT_NEXT(next.mutex_unlock, "pthread_mutex_unlock");
	INJECT_NEXT(next.read.try, "pthread_rwlock_tryrdlock");
	INJECT_NEXT(next.read.lock, "pthread_rwlock_rdlock");
	INJECT_NEXT(next.read.timed, "pthread_rwlock_timedrdlock");
	INJECT_NEXT(next.read.clocked, "pthread_rwlock_clockrdlock");
	INJECT_NEXT(next.write.try, "pthread_rwlock_trywrlock");
	INJECT_NEXT(next.write.lock, "pthread_rwlock_wrlock");
	INJECT_NEXT(next.write.timed, "pthread_rwlock_timedwrlock");
	INJECT_NEXT(next.write.clocked, "pthread_rwlock_clockwrlock");
	INJECT_NEXT(next.rwlock_unlock, "pthread_rwlock_unlock");
	INJECT_NEXT(next.c11.try, "mtx_trylock");
	INJECT_NEXT(next.c11.lock, "mtx_lock");
	INJECT_NEXT(next.c11.timed, "mtx_timedlock");
	INJECT_NEXT(next.c11_unlock, "mtx_unlock");
	INJECT_NEXT(next.mutex.lock, "pthread_mutex_lock");
	if (!next.mutex.try)
		next.mutex.try = lock_plainly;
}

__attribute__((constructor)) static void wait_locks_begin(void)
{
	find_all();
}

static inline int is_wanted(void)
{
	return (wait_wanted & SONDE_WAIT_WHAT_LOCKS) != 0;
}

/* --- taking ------------------------------------------------------------------------------------------------------ */

/* The holder, if the C library is glibc: the owner of a mutex, of all kinds except elided ones; the writer of a
 * read-write lock. */
static pid_t holder_of(const void *lock, enum sonde_wait_kind kind)
{
#ifdef __GLIBC__
	if (!gnu_get_libc_version)
		return 0;
	if (kind == SONDE_WAIT_MUTEX)
		return ((const pthread_mutex_t *)lock)->__data.__owner & 0x3fffffff;
	return ((const pthread_rwlock_t *)lock)->__data.__cur_writer;
#else
	(void)lock;
	(void)kind;
	return 0;
#endif
}

static inline int is_taken(int code)
{
	return code == 0 || code == EOWNERDEAD;
}

/* Deadline: none (no time), by CLOCK_REALTIME, or by another clock. */
struct deadline {
	const struct timespec *time;
	clockid_t clock;
	int has_clock;
};

/* Invalid arguments must be rejected even if the lock is free. */
static inline int is_refused(const struct deadline *deadline)
{
	const struct timespec *time = deadline->time;
	return (time && (time->tv_nsec < 0 || time->tv_nsec >= 1000000000)) ||
	       (deadline->has_clock && deadline->clock != CLOCK_REALTIME && deadline->clock != CLOCK_MONOTONIC);
}

static int lock_really(const struct taking *calls, void *lock, const struct deadline *deadline)
{
	if (!deadline->time)
		return calls->lock(lock);
	if (!deadline->has_clock)
		return calls->timed ? calls->timed(lock, deadline->time) : ENOSYS;
	return calls->clocked ? calls->clocked(lock, deadline->clock, deadline->time) : ENOSYS;
}

int wait_mutex_is_outermost(const void *mutex)
{
#ifdef __GLIBC__
	return !gnu_get_libc_version || ((const pthread_mutex_t *)mutex)->__data.__count <= 1;
#else
	(void)mutex;
	return 1;
#endif
}

static __attribute__((noinline)) int wait_for(const struct taking *calls, void *lock, enum sonde_wait_kind kind,
					      const struct deadline *deadline, const struct hook_caller *caller)
{
	struct wait_waiting waiting = wait_lock_begin(lock, kind, holder_of(lock, kind));
	int code = lock_really(calls, lock, deadline);
	waiting.call.amount = is_taken(code) ? 0 : SONDE_WAIT_IN_VAIN;
	wait_lock_end(&waiting, is_taken(code), caller);
	return code;
}

static inline int try_lock(const struct taking *calls, void *lock, enum sonde_wait_kind kind)
{
	int code = calls->try(lock);
	if (wait_lock_is_marked(lock) && is_taken(code) && (kind != SONDE_WAIT_MUTEX || wait_mutex_is_outermost(lock)))
		wait_lock_took(lock, kind);
	return code;
}

/* `busy`: the error code of a taken lock; then the deadline, which is not needed for a free lock. */
#define TAKE(calls, what, busy, ...)                                                                                   \
	{                                                                                                              \
		if (!WAIT_KNOWN(next.calls.lock))                                                                      \
			return EINVAL;                                                                                 \
		if (unlikely(!is_wanted()) || is_refused(&(const struct deadline){__VA_ARGS__}))                       \
			return lock_really(&next.calls, lock, &(const struct deadline){__VA_ARGS__});                  \
		int code = try_lock(&next.calls, lock, SONDE_WAIT_##what);                                             \
		if (likely(code != (busy)))                                                                            \
			return code;                                                                                   \
		struct hook_caller caller = HOOK_CALLER();                                                             \
		return wait_for(&next.calls, lock, SONDE_WAIT_##what, &(const struct deadline){__VA_ARGS__}, &caller); \
	}

/* POSIX lock functions: type, middle of the names, functions, kind. */
#define LOCKS(LOCK)                                              \
	LOCK(pthread_mutex_t, mutex_, lock, mutex, MUTEX)        \
	LOCK(pthread_rwlock_t, rwlock_, rdlock, read, READ_LOCK) \
	LOCK(pthread_rwlock_t, rwlock_, wrlock, write, WRITE_LOCK)

#define HOOKS(type, of, how, calls, what)                                                                         \
	EXPORT int pthread_##of##how(type *lock) TAKE(calls, what, EBUSY, .time = NULL)                           \
	    EXPORT int pthread_##of##timed##how(type *lock, const struct timespec *time)                          \
		TAKE(calls, what, EBUSY, .time = time)                                                            \
		    EXPORT int pthread_##of##clock##how(type *lock, clockid_t clock, const struct timespec *time) \
			TAKE(calls, what, EBUSY, time, clock, 1) EXPORT int pthread_##of##try##how(type *lock)    \
	{                                                                                                         \
		return WAIT_KNOWN(next.calls.try) ? try_lock(&next.calls, lock, SONDE_WAIT_##what) : EINVAL;      \
	}

LOCKS(HOOKS)

EXPORT int mtx_lock(mtx_t *lock) TAKE(c11, MUTEX, thrd_busy, .time = NULL)

    EXPORT int mtx_timedlock(mtx_t *restrict lock, const struct timespec *restrict time)
	TAKE(c11, MUTEX, thrd_busy, .time = time)

	    EXPORT int mtx_trylock(mtx_t *lock)
{
	return WAIT_KNOWN(next.c11.try) ? try_lock(&next.c11, lock, SONDE_WAIT_MUTEX) : thrd_error;
}

/* --- unlock ------------------------------------------------------------------------------------------------------ */

static __attribute__((noinline)) int unlock_marked(int (*unlock)(void *), void *lock, int is_ended,
						   const struct hook_caller *caller)
{
	struct wait_hold hold = {.ended = 0};
	if (is_ended)
		hold = wait_lock_hold(lock);
	int code = unlock(lock);
	if (hold.ended)
		wait_record_until(&hold.call, hold.ended, caller);
	return code;
}

#define UNLOCK(name, type, unlock, is_ended)                                \
	EXPORT int name(type *lock)                                         \
	{                                                                   \
		if (!WAIT_KNOWN(next.unlock))                               \
			return EINVAL;                                      \
		if (!wait_lock_is_marked(lock))                             \
			return next.unlock(lock);                           \
		struct hook_caller caller = HOOK_CALLER();                  \
		return unlock_marked(next.unlock, lock, is_ended, &caller); \
	}

UNLOCK(pthread_mutex_unlock, pthread_mutex_t, mutex_unlock, wait_mutex_is_outermost(lock))
UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, rwlock_unlock, 1)
UNLOCK(mtx_unlock, mtx_t, c11_unlock, wait_mutex_is_outermost(lock))
