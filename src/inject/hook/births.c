/* births.c: hooks of the calls that create threads.
 *
 * A new thread starts in our function, which leaves no frame behind: it jumps to the program's function. Its arguments
 * are passed in a static table, not in allocated memory, since freeing memory may require an arena of the thread's own.
 */
#include "inject/hook/births.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <threads.h>

#include "inject/hook/next.h"
#include "inject/hook/uncounted.h"

#define BIRTHS 512u /* threads that may be starting at the same time; more are not noticed */
#define EXPORT __attribute__((visibility("default")))

#pragma weak pthread_attr_init
#pragma weak pthread_attr_destroy
#pragma weak pthread_attr_getguardsize
#pragma weak pthread_attr_getstacksize

struct birth {
	_Atomic uint32_t taken;
	int handed;
	size_t stack_b, guard_b;
	union {
		void *(*start)(void *);
		thrd_start_t start_c11;
	};
	void *arg;
};

static struct birth births[BIRTHS] INJECT_UNCOUNTED;

void inject_births_uncount(void)
{
	INJECT_UNCOUNT(births);
}

static void read_sizes(struct birth *birth, const pthread_attr_t *attr)
{
	birth->stack_b = birth->guard_b = 0;
	if (pthread_attr_getstacksize && pthread_attr_getstacksize(attr, &birth->stack_b))
		birth->stack_b = 0;
	if (pthread_attr_getguardsize && pthread_attr_getguardsize(attr, &birth->guard_b))
		birth->guard_b = 0;
}

static void read_usual_sizes(struct birth *birth)
{
	pthread_attr_t fresh;
	birth->stack_b = birth->guard_b = 0;
	if (!pthread_attr_init || !pthread_attr_destroy || pthread_attr_init(&fresh))
		return;
	read_sizes(birth, &fresh);
	pthread_attr_destroy(&fresh);
}

/* Takes a row of the table for a thread that is about to be created; NULL = the thread is of no interest, or too many
 * are starting. */
static struct birth *take_birth(const pthread_attr_t *attr, void *arg)
{
	int handed;
	if (!inject_birth_is_wanted(&handed))
		return NULL;
	for (uint32_t i = 0; i < BIRTHS; i++) {
		uint32_t unused = 0;
		if (!atomic_compare_exchange_strong(&births[i].taken, &unused, 1))
			continue;
		births[i].arg = arg;
		births[i].handed = handed;
		if (attr)
			read_sizes(&births[i], attr);
		else
			read_usual_sizes(&births[i]);
		return &births[i];
	}
	return NULL;
}

/* A separate function: a function whose variables' addresses escape cannot end in a tail call. */
static __attribute__((noinline)) void begin(struct birth *born)
{
	struct inject_stack stack = {0, 0};
	int handed = born->handed;
	if (born->stack_b)
		stack = inject_stack_created(born->stack_b, born->guard_b);
	atomic_store(&born->taken, 0);
	inject_birth_begin(&stack, handed);
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

static struct {
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*create_c11)(thrd_t *, thrd_start_t, void *);
} next;

__attribute__((constructor)) static void ask(void)
{
	INJECT_NEXT(next.create, "pthread_create");
	INJECT_NEXT(next.create_c11, "thrd_create");
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	if (!next.create)
		next.create = (__typeof__(next.create))inject_next("pthread_create");
	if (!next.create)
		return EAGAIN;
	struct birth *born = take_birth(attr, arg);
	if (!born)
		return next.create(thread, attr, start, arg);
	born->start = start;
	int code = next.create(thread, attr, begin_posix, born);
	if (code)
		atomic_store(&born->taken, 0);
	return code;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	if (!next.create_c11)
		next.create_c11 = (__typeof__(next.create_c11))inject_next("thrd_create");
	if (!next.create_c11)
		return thrd_error;
	struct birth *born = take_birth(NULL, arg);
	if (!born)
		return next.create_c11(thread, start, arg);
	born->start_c11 = start;
	int code = next.create_c11(thread, begin_c11, born);
	if (code != thrd_success)
		atomic_store(&born->taken, 0);
	return code;
}
