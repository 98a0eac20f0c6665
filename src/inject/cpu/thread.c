/* thread.c: a thread's timer, from the thread's first function to its last.
 *
 * The timer runs on the thread's own CPU clock and signals the thread itself. It costs nothing while the thread sleeps
 * and interrupts no sleep, nor a call that is about to sleep, since the kernel (5.10) checks such timers on its way
 * back to user space. It is created by raw system calls, since the C libraries' timer_create may allocate. The kernel's
 * resolution is its own tick: a shorter period gives one sample per tick, and a clone() that takes longer than the
 * period is not restarted for ever.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "inject/hook/births.h"
#include "inject/hook/inject.h"
#include "inject/hook/machine.h"

/* for later keys glibc allocates memory in pthread_setspecific() (PTHREAD_KEY_2NDLEVEL_SIZE) */
#define KEYS_INSIDE 32u

#pragma weak pthread_key_create
#pragma weak pthread_setspecific

__thread struct inject_thread inject_self __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static int has_end_key;

static void on_thread_end(void *unused)
{
	(void)unused;
	inject_thread_end(0);
	if (++inject_self.rounds < PTHREAD_DESTRUCTOR_ITERATIONS && !pthread_setspecific(end_key, &inject_self))
		return; /* other destructors may still need the stack */
	if (!inject_calls_begin())
		return;
	int saved = errno;
	inject_alternate_end();
	inject_calls_end();
	errno = saved;
}

void inject_thread_init(void)
{
	has_end_key = pthread_key_create && pthread_setspecific && !pthread_key_create(&end_key, on_thread_end) &&
		      end_key < KEYS_INSIDE;
}

static int timer_start(pid_t tid)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = INJECT_SIGNAL};
	struct timespec period = {(time_t)(inject_settings.period_ns / 1000000000u),
				  (long)(inject_settings.period_ns % 1000000000u)};
	struct itimerspec when = {period, period};
	int timer;
	event.sigev_value.sival_ptr = (void *)(uintptr_t)&inject_sample_mark;
	event._sigev_un._tid = tid;
	if (INJECT_CALL(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		return -1;
	if (!INJECT_CALL(SYS_timer_settime, timer, 0, &when, NULL))
		return timer;
	INJECT_CALL(SYS_timer_delete, timer);
	return -1;
}

/* Unblocks our signal. Returns true if the inherited mask blocked it: the program must continue to believe that it is
 * blocked. */
static int unblock(void)
{
	uint64_t wanted = UINT64_C(1) << (INJECT_SIGNAL - 1), before = 0;
	INJECT_CALL(SYS_rt_sigprocmask, SIG_UNBLOCK, &wanted, &before, sizeof(wanted));
	return (before & wanted) != 0;
}

/* Stores the timer so that a thread that starts a sandbox can find it. */
static uint32_t keep_timer(pid_t tid, int timer)
{
	for (uint32_t i = 0; timer >= 0 && i < INJECT_TIMERS; i++) {
		uint32_t slot = ((uint32_t)tid + i) % INJECT_TIMERS;
		int unused = 0;
		if (atomic_compare_exchange_strong(&inject_record->timers[slot], &unused, timer + 1))
			return slot;
	}
	return INJECT_TIMERS;
}

void inject_thread_begin(const struct inject_stack *stack)
{
	struct inject_thread *thread = &inject_self;
	int saved = errno;
	if (!inject_calls_begin())
		return;
	*thread = (struct inject_thread){
	    .pid = inject_machine_pid(),
	    .timer = -1,
	    .start_ns = sonde_clock_now_ns(),
	    .stack_low = stack->low,
	    .stack_end = stack->end,
	    .wants_blocked = unblock() || thread->wants_blocked,
	    .alternate = thread->alternate,
	};
	thread->is_cramped = inject_alternate_begin();
	pid_t tid = (pid_t)INJECT_CALL(SYS_gettid);
	thread->timer = thread->is_cramped ? -1 : timer_start(tid);
	thread->slot = keep_timer(tid, thread->timer);
	if (has_end_key)
		pthread_setspecific(end_key, thread);
	thread->tid = tid;
	inject_calls_end();
	errno = saved;
}

void inject_thread_quiet(void)
{
	struct inject_thread *thread = &inject_self;
	int is_ours = thread->timer >= 0;
	if (is_ours && thread->slot < INJECT_TIMERS)
		is_ours = atomic_exchange(&inject_record->timers[thread->slot], 0) != 0;
	if (is_ours)
		INJECT_CALL(SYS_timer_delete, thread->timer);
	thread->timer = -1;
}

void inject_thread_quiet_all(void)
{
	for (int i = 0; i < INJECT_TIMERS; i++) {
		int id = atomic_exchange(&inject_record->timers[i], 0);
		if (id)
			INJECT_CALL(SYS_timer_delete, id - 1);
	}
}

void inject_thread_resume(void)
{
	struct inject_thread *thread = &inject_self;
	int saved = errno;
	if (thread->timer >= 0 || thread->is_cramped || !thread->tid || !inject_is_on() || !inject_calls_begin())
		return;
	if (thread->pid == inject_machine_pid()) {
		thread->timer = timer_start(thread->tid);
		thread->slot = keep_timer(thread->tid, thread->timer);
	}
	inject_calls_end();
	errno = saved;
}

void inject_thread_capacity(int is_cramped)
{
	struct inject_thread *thread = &inject_self;
	thread->is_cramped = is_cramped;
	if (is_cramped)
		inject_thread_quiet();
	else
		inject_thread_resume();
}

static void say_end(struct inject_thread *thread, uint64_t process_ns)
{
	if (!thread->tid || thread->busy || thread->pid != inject_machine_pid())
		return;
	thread->busy = 1;
	inject_thread_quiet();
	inject_sample_remainder(process_ns);
	inject_writer_release();
	thread->tid = 0;
	thread->busy = 0;
}

void inject_thread_end(uint64_t process_ns)
{
	int saved = errno;
	if (!inject_calls_begin())
		return;
	say_end(&inject_self, process_ns);
	inject_calls_end();
	errno = saved;
}

int inject_birth_is_wanted(int *out)
{
	*out = inject_self.wants_blocked;
	return inject_is_on();
}

void inject_birth_begin(const struct inject_stack *stack, int handed)
{
	inject_self.wants_blocked = handed;
	inject_thread_begin(stack);
}
