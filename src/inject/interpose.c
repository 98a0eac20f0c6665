/* interpose.c: the calls that begin threads and end processes.
 *
 * A new thread begins in ours, which leaves no frame behind: it jumps to the program's function, and a thread-specific
 * key sees the thread's end. What it must know is handed over in a table, not in allocated memory, since a thread that
 * frees memory may need an arena of its own for it.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "inject/inject.h"
#include "inject/next.h"

#define BIRTHS 512u /* threads that may be about to begin; more are not sampled */
#define EXPORT __attribute__((visibility("default")))

#pragma weak pthread_attr_init
#pragma weak pthread_attr_destroy
#pragma weak pthread_attr_getstacksize

/* --- threads --------------------------------------------------------------------------------------------------- */

struct birth {
	_Atomic uint32_t taken;
	int wants_blocked;
	size_t stack_b;
	union {
		void *(*start)(void *);
		thrd_start_t start_c11;
	};
	void *arg;
};

static struct birth births[BIRTHS];

static size_t stack_size(const pthread_attr_t *attr)
{
	pthread_attr_t fresh;
	size_t size_b = 0;
	if (!pthread_attr_getstacksize || !pthread_attr_init || !pthread_attr_destroy)
		return 0;
	if (attr)
		return pthread_attr_getstacksize(attr, &size_b) ? 0 : size_b;
	if (pthread_attr_init(&fresh))
		return 0;
	if (pthread_attr_getstacksize(&fresh, &size_b))
		size_b = 0;
	pthread_attr_destroy(&fresh);
	return size_b;
}

/* NULL = not to be sampled, or too many at once. */
static struct birth *take_birth(const pthread_attr_t *attr, void *arg)
{
	for (uint32_t i = 0; inject_is_on() && i < BIRTHS; i++) {
		uint32_t unused = 0;
		if (!atomic_compare_exchange_strong(&births[i].taken, &unused, 1))
			continue;
		births[i].arg = arg;
		births[i].stack_b = stack_size(attr);
		births[i].wants_blocked = inject_self.wants_blocked;
		return &births[i];
	}
	return NULL;
}

static void begin(struct birth *born)
{
	struct inject_stack stack = inject_stack_here(born->stack_b);
	inject_self.wants_blocked = born->wants_blocked;
	atomic_store(&born->taken, 0);
	inject_thread_begin(&stack);
}

static void *begin_posix(void *data)
{
	struct birth *born = data;
	void *(*start)(void *) = born->start;
	void *arg = born->arg;
	begin(born);
	return start(arg);
}

static int begin_c11(void *data)
{
	struct birth *born = data;
	thrd_start_t start = born->start_c11;
	void *arg = born->arg;
	begin(born);
	return start(arg);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	if (!next)
		next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))inject_next(
		    "pthread_create");
	if (!next)
		return EAGAIN;
	struct birth *born = take_birth(attr, arg);
	if (!born)
		return next(thread, attr, start, arg);
	born->start = start;
	int code = next(thread, attr, begin_posix, born);
	if (code)
		atomic_store(&born->taken, 0);
	return code;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	static int (*next)(thrd_t *, thrd_start_t, void *);
	if (!next)
		next = (int (*)(thrd_t *, thrd_start_t, void *))inject_next("thrd_create");
	if (!next)
		return thrd_error;
	struct birth *born = take_birth(NULL, arg);
	if (!born)
		return next(thread, start, arg);
	born->start_c11 = start;
	int code = next(thread, begin_c11, born);
	if (code != thrd_success)
		atomic_store(&born->taken, 0);
	return code;
}

/* --- ends that run no destructors ------------------------------------------------------------------------------ */

EXPORT __attribute__((noreturn)) void _exit(int status)
{
	inject_process_end();
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}
