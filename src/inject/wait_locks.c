/* wait_locks.c: mutexes and read-write locks.
 *
 * A lock is tried first: what is free costs that and a look at one byte. Who finds it taken notes it (wait_table.c) and
 * marks its byte; from then on whoever takes it stores when, and gives it up with a row of its own if others wait. So
 * holding is not seen before a lock was waited for once. Who held a lock when a thread began to wait is read from the
 * lock, where the C library is glibc.
 */
#include <errno.h>
#include <pthread.h>

#include "inject/waits.h"

#define EXPORT __attribute__((visibility("default")))

#pragma weak gnu_get_libc_version
const char *gnu_get_libc_version(void);

/* The one that is found last says that all are. */
static struct {
	int (*mutex_trylock)(pthread_mutex_t *);
	int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*mutex_unlock)(pthread_mutex_t *);
	int (*read_lock)(pthread_rwlock_t *);
	int (*read_trylock)(pthread_rwlock_t *);
	int (*write_lock)(pthread_rwlock_t *);
	int (*write_trylock)(pthread_rwlock_t *);
	int (*unlock)(pthread_rwlock_t *);
	int (*mutex_lock)(pthread_mutex_t *);
} next;

static const struct wait_next rows[] = {
    {"pthread_mutex_trylock", &next.mutex_trylock},
    {"pthread_mutex_timedlock", &next.mutex_timedlock},
    {"pthread_mutex_clocklock", &next.mutex_clocklock},
    {"pthread_mutex_unlock", &next.mutex_unlock},
    {"pthread_rwlock_rdlock", &next.read_lock},
    {"pthread_rwlock_tryrdlock", &next.read_trylock},
    {"pthread_rwlock_wrlock", &next.write_lock},
    {"pthread_rwlock_trywrlock", &next.write_trylock},
    {"pthread_rwlock_unlock", &next.unlock},
    {"pthread_mutex_lock", &next.mutex_lock},
};

static inline int is_known(void)
{
	return likely(next.mutex_lock != NULL) || wait_find(rows, sizeof(rows) / sizeof(*rows));
}

__attribute__((constructor)) static void wait_locks_begin(void)
{
	is_known();
}

static inline int is_wanted(void)
{
	return (wait_wanted & SONDE_WAIT_WHAT_LOCKS) != 0;
}

/* --- mutexes ----------------------------------------------------------------------------------------------------- */

/* glibc stores the owner's tid in all kinds but elided ones. */
static pid_t owner_of(const pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
	return gnu_get_libc_version ? mutex->__data.__owner & 0x3fffffff : 0;
#else
	(void)mutex;
	return 0;
#endif
}

/* Whether the thread, which holds it, holds it no more when it has given it up once. */
static int is_last(const pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
	return !gnu_get_libc_version || mutex->__data.__count <= 1;
#else
	(void)mutex;
	return 1;
#endif
}

static inline int is_taken(int code)
{
	return code == 0 || code == EOWNERDEAD;
}

/* Until when: for ever (no time), by CLOCK_REALTIME, or by another clock. */
struct deadline {
	const struct timespec *time;
	clockid_t clock;
	int has_clock;
};

static int lock_really(pthread_mutex_t *mutex, const struct deadline *deadline)
{
	if (!deadline->time)
		return next.mutex_lock(mutex);
	if (!deadline->has_clock)
		return next.mutex_timedlock(mutex, deadline->time);
	return next.mutex_clocklock ? next.mutex_clocklock(mutex, deadline->clock, deadline->time) : ENOSYS;
}

static __attribute__((noinline)) int wait_for_mutex(pthread_mutex_t *mutex, const struct deadline *deadline,
						    const struct hook_caller *caller)
{
	struct wait_waiting waiting = wait_lock_begin(mutex, SONDE_WAIT_MUTEX, owner_of(mutex));
	int code = lock_really(mutex, deadline);
	wait_lock_end(&waiting, is_taken(code), caller);
	return code;
}

/* EBUSY: it is taken; else what came of it. */
static inline int try_mutex(pthread_mutex_t *mutex)
{
	int code = next.mutex_trylock(mutex);
	if (wait_lock_is_marked(mutex) && is_taken(code))
		wait_lock_took(mutex);
	return code;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	if (unlikely(!is_known()))
		return 0;
	if (unlikely(!is_wanted()))
		return next.mutex_lock(mutex);
	int code = try_mutex(mutex);
	if (likely(code != EBUSY))
		return code;
	struct deadline never = {.time = NULL};
	struct hook_caller caller = HOOK_CALLER();
	return wait_for_mutex(mutex, &never, &caller);
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return is_known() ? try_mutex(mutex) : 0;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *time)
{
	struct deadline deadline = {.time = time};
	if (unlikely(!is_known()))
		return 0;
	if (unlikely(!is_wanted()))
		return lock_really(mutex, &deadline);
	int code = try_mutex(mutex);
	if (code != EBUSY)
		return code;
	struct hook_caller caller = HOOK_CALLER();
	return wait_for_mutex(mutex, &deadline, &caller);
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time)
{
	struct deadline deadline = {time, clock, 1};
	if (unlikely(!is_known()))
		return 0;
	if (unlikely(!is_wanted()) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)) /* it is refused */
		return lock_really(mutex, &deadline);
	int code = try_mutex(mutex);
	if (code != EBUSY)
		return code;
	struct hook_caller caller = HOOK_CALLER();
	return wait_for_mutex(mutex, &deadline, &caller);
}

static __attribute__((noinline)) int unlock_marked(pthread_mutex_t *mutex, const struct hook_caller *caller)
{
	struct wait_hold hold = {.ended = 0};
	if (is_last(mutex))
		hold = wait_lock_hold(mutex);
	int code = next.mutex_unlock(mutex);
	if (hold.ended)
		wait_record_until(&hold.call, hold.ended, caller);
	return code;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (unlikely(!is_known()))
		return 0;
	if (!wait_lock_is_marked(mutex))
		return next.mutex_unlock(mutex);
	struct hook_caller caller = HOOK_CALLER();
	return unlock_marked(mutex, &caller);
}

/* --- read-write locks -------------------------------------------------------------------------------------------- */

/* Who writes; readers are not known. */
static pid_t writer_of(const pthread_rwlock_t *lock)
{
#ifdef __GLIBC__
	return gnu_get_libc_version ? lock->__data.__cur_writer : 0;
#else
	(void)lock;
	return 0;
#endif
}

static __attribute__((noinline)) int wait_to_read(pthread_rwlock_t *lock, const struct hook_caller *caller)
{
	struct wait_waiting waiting = wait_lock_begin(lock, SONDE_WAIT_READ_LOCK, writer_of(lock));
	int code = next.read_lock(lock);
	wait_lock_end(&waiting, 0, caller);
	return code;
}

static __attribute__((noinline)) int wait_to_write(pthread_rwlock_t *lock, const struct hook_caller *caller)
{
	struct wait_waiting waiting = wait_lock_begin(lock, SONDE_WAIT_WRITE_LOCK, writer_of(lock));
	int code = next.write_lock(lock);
	wait_lock_end(&waiting, code == 0, caller);
	return code;
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	if (unlikely(!is_known()))
		return 0;
	int code = is_wanted() ? next.read_trylock(lock) : EBUSY;
	if (code != EBUSY)
		return code;
	if (unlikely(!is_wanted()))
		return next.read_lock(lock);
	struct hook_caller caller = HOOK_CALLER();
	return wait_to_read(lock, &caller);
}

static inline int try_write(pthread_rwlock_t *lock)
{
	int code = next.write_trylock(lock);
	if (wait_lock_is_marked(lock) && code == 0)
		wait_lock_took(lock);
	return code;
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	if (unlikely(!is_known()))
		return 0;
	if (unlikely(!is_wanted()))
		return next.write_lock(lock);
	int code = try_write(lock);
	if (code != EBUSY)
		return code;
	struct hook_caller caller = HOOK_CALLER();
	return wait_to_write(lock, &caller);
}

EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	return is_known() ? try_write(lock) : 0;
}

/* Of a reader nothing is told: the table knows the lock's writer alone. */
static __attribute__((noinline)) int unlock_marked_rwlock(pthread_rwlock_t *lock, const struct hook_caller *caller)
{
	struct wait_hold hold = wait_lock_hold(lock);
	int code = next.unlock(lock);
	if (hold.ended)
		wait_record_until(&hold.call, hold.ended, caller);
	return code;
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	if (unlikely(!is_known()))
		return 0;
	if (!wait_lock_is_marked(lock))
		return next.unlock(lock);
	struct hook_caller caller = HOOK_CALLER();
	return unlock_marked_rwlock(lock, &caller);
}
