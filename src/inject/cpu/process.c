/* process.c: whether this process is sampled, its connection to the recorder, its start and end.
 *
 * A process connects in its first tick, so that the many processes that end before it cost next to nothing. A stopped
 * recorder may delay the process twice, by 150 ms each time; after that, the process is not sampled. The connection is
 * closed once the pool is mapped, so that the program finds no descriptor that it did not open. A process that ends
 * unconnected reports its identity and CPU time in one message that is not answered.
 *
 * The record lies on a page that reads as zeros in a forked child. So the child finds state NEW and makes its own
 * connection. A child of vfork shares all memory with its parent but has another pid: it must change nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/hook/births.h"
#include "inject/hook/inject.h"
#include "inject/hook/machine.h"
#include "inject/hook/next.h"

#define EXPORT __attribute__((visibility("default")))
#define QUIET_TICKS 25 /* before the second and last attempt to reach a recorder that does not answer */
#define RATE_DEFAULT_HZ 1000
#define STACK_MAX_B 57344u /* fits into the 64 KB of a chunk */

#pragma weak pthread_atfork
#pragma weak __register_atfork
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle);

struct inject_settings inject_settings = {1000000000u / RATE_DEFAULT_HZ, STACK_MAX_B, 0};

struct inject_record *inject_record;
static uint64_t filters; /* seccomp filters that apply to the recorder itself */
static int has_filters;  /* the recorder has passed that number */

int inject_is_on(void)
{
	return inject_record && !inject_sandbox_is_on() &&
	       atomic_load(&inject_record->link.process.state) != SONDE_PROCESS_OFF;
}

struct sonde_process *inject_process(void)
{
	return inject_record ? &inject_record->link.process : NULL;
}

struct sonde_ring_pool *inject_pool(void)
{
	return inject_connect_pool(&inject_record->link);
}

/* --- end ------------------------------------------------------------------------------------------------------- */

static void say_good_bye(uint64_t cpu_ns)
{
	struct sonde_link_farewell message = {.head = {SONDE_LINK_FAREWELL, SONDE_LINK_VERSION}};
	message.pid = (uint32_t)inject_machine_pid();
	message.parent = (uint32_t)inject_machine_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
	message.start_ns = inject_record->start_ns;
	message.cpu_ns = cpu_ns;
	inject_machine_call(SYS_prctl, PR_GET_NAME, (long)message.name, 0, 0, 0, 0);
	inject_connect_send(&message, sizeof(message));
}

__attribute__((noinline)) static void say_end(void)
{
	struct inject_record *record = inject_record;
	int saved = errno;
	if (inject_self.pid != record->sandbox.pid || atomic_exchange(&record->ended, 1))
		return;
	uint32_t state = atomic_load(&record->link.process.state);
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	inject_thread_end(cpu_ns);
	if (state == SONDE_PROCESS_NEW || (state == SONDE_PROCESS_OFF && record->link.unanswered))
		say_good_bye(cpu_ns);
	errno = saved;
}

/* A child that shares our memory may have no thread-local storage at all (Chromium's, when it changes its root), so
 * that case must be checked first. */
void inject_process_end(void)
{
	if (inject_sandbox_is_childs() || !inject_calls_begin())
		return;
	if (inject_record->sandbox.pid == inject_machine_pid())
		say_end();
	inject_calls_end();
}

/* Writes the thread's final event, because the process continues without being sampled. Connects the process first if
 * necessary: the recorder must know its identity, and that it has not exited. Does nothing in a forked child whose fork
 * we did not notice: it is unknown to the recorder, and has no timer. */
void inject_leave(void)
{
	struct inject_thread *thread = &inject_self;
	if (!inject_record->sandbox.pid || !inject_calls_begin())
		return;
	if (thread->tid && !thread->busy && !atomic_exchange(&inject_record->ended, 1)) {
		thread->busy = 1;
		inject_pool();
		thread->busy = 0;
		thread->leaves = 1;
		inject_thread_end(sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID));
	}
	inject_calls_end();
}

void inject_left(void)
{
	inject_thread_quiet_all();
}

/* The functions that ours replace. They must be called: ThreadSanitizer's versions print its findings and change the
 * exit code. */
static struct {
	void (*_exit)(int status);
	void (*_Exit)(int status);
} next;

/* Ends the process by a function that runs no destructors. */
static __attribute__((noreturn)) void end_by(void (*real)(int status), int status)
{
	inject_process_end();
	if (real)
		real(status);
	for (;;)
		inject_machine_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

EXPORT __attribute__((noreturn)) void _exit(int status)
{
	end_by(next._exit, status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	end_by(next._Exit, status);
}

/* --- start ----------------------------------------------------------------------------------------------------- */

static uint64_t read_number(const char **text)
{
	uint64_t value = 0;
	for (; **text >= '0' && **text <= '9' && value < 1000000000u; (*text)++)
		value = value * 10 + (uint64_t)(**text - '0');
	while (**text == ' ')
		(*text)++;
	return value;
}

/* True if the name of the recorder's socket is set, and CPU timers are requested. */
static int read_environment(void)
{
	const char *wanted = inject_connect_env(INJECT_ENV);
	if (!wanted || !inject_connect_name())
		return 0;
	inject_connect_quiet = QUIET_TICKS;
	uint64_t rate_hz = read_number(&wanted), stack_b = read_number(&wanted);
	if (rate_hz)
		inject_settings.period_ns = 1000000000u / rate_hz;
	has_filters = *wanted >= '0' && *wanted <= '9';
	filters = read_number(&wanted);
	inject_settings.is_private = read_number(&wanted) == 1;
	if (stack_b)
		inject_settings.stack_b = (uint32_t)(stack_b < STACK_MAX_B ? stack_b : STACK_MAX_B);
	return 1;
}

/* Starts sampling in a forked child, which has only the thread that forked. */
static void child_begin(void)
{
	int saved = errno;
	struct inject_thread *thread = &inject_self;
	struct inject_stack stack = {thread->stack_low, thread->stack_end};
	if (!inject_calls_begin())
		return;
	pid_t pid = inject_machine_pid();
	if (thread->pid != pid) {
		inject_record->sandbox.pid = pid;
		inject_record->start_ns = sonde_clock_now_ns();
		inject_alternate_forked();
		inject_thread_begin(&stack);
	}
	inject_calls_end();
	errno = saved;
}

static void begin(void)
{
	struct inject_stack stack = inject_stack_main();
	if (!read_environment() || (has_filters && inject_sandbox_is_inherited(filters)))
		return;
	inject_births_uncount();
	inject_alternate_uncount();
	struct inject_record *record = inject_connect_page(sizeof(*record));
	if (!record)
		return;
	inject_thread_init();
	if (inject_dispositions_take())
		return;
	record->sandbox.pid = inject_machine_pid();
	record->start_ns = sonde_clock_now_ns();
	inject_record = record;
	inject_sandbox_watch(&record->sandbox);
	if (__register_atfork)
		__register_atfork(NULL, NULL, child_begin, NULL);
	else if (pthread_atfork)
		pthread_atfork(NULL, NULL, child_begin);
	inject_thread_begin(&stack);
}

__attribute__((constructor)) static void inject_begin(void)
{
	int saved = errno;
	next._exit = (void (*)(int))inject_next_initial("_exit");
	next._Exit = (void (*)(int))inject_next_initial("_Exit");
	inject_sandbox_init();
	begin();
	errno = saved;
}

__attribute__((destructor)) static void inject_end(void)
{
	inject_process_end();
}
