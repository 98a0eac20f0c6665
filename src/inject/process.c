/* process.c: whether this process is sampled, its link to the recorder, its beginning and end.
 *
 * A process connects in its first tick, so that the many that end before it cost next to nothing. The connection is
 * closed again once the pool is mapped: the program finds no descriptor that it did not open. A process that ends
 * unconnected says what it used and who it was, in one message that nobody answers.
 *
 * The record lies on a page that a forked child reads as zeros: it finds state NEW and connects for itself. A child of
 * vfork shares all memory with its parent but has another pid: it must change nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/connect.h"
#include "inject/inject.h"

#define RATE_DEFAULT_HZ 1000
#define STACK_MAX_B 57344u /* of the 64 KB of a chunk */

#pragma weak pthread_atfork
#pragma weak __register_atfork
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle);

struct record {
	struct inject_link link;
	_Atomic uint32_t ended;
	uint64_t start_ns;
};

struct inject_settings inject_settings = {1000000000u / RATE_DEFAULT_HZ, STACK_MAX_B};

static struct record *record; /* NULL = not to be sampled */

int inject_is_on(void)
{
	return record && atomic_load(&record->link.process.state) != SONDE_PROCESS_OFF;
}

struct sonde_process *inject_process(void)
{
	return record ? &record->link.process : NULL;
}

struct sonde_ring_pool *inject_pool(void)
{
	return inject_connect_pool(&record->link);
}

/* --- the end --------------------------------------------------------------------------------------------------- */

void inject_process_ring(struct sonde_ring_pool *pool)
{
	if (!atomic_exchange(&pool->doorbell, 1))
		inject_connect_send(NULL, 0);
}

static void say_good_bye(uint64_t cpu_ns)
{
	struct sonde_link_farewell message = {.head = {SONDE_LINK_FAREWELL, SONDE_LINK_VERSION}};
	message.pid = (uint32_t)getpid();
	message.parent = (uint32_t)getppid();
	message.start_ns = record->start_ns;
	message.cpu_ns = cpu_ns;
	prctl(PR_GET_NAME, message.name);
	inject_connect_send(&message, sizeof(message));
}

void inject_process_end(void)
{
	struct inject_thread *thread = &inject_self;
	if (!record || thread->pid != getpid() || atomic_exchange(&record->ended, 1))
		return;
	int saved = errno;
	uint32_t state = atomic_load(&record->link.process.state);
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
	inject_thread_end(cpu_ns);
	if (state == SONDE_PROCESS_NEW)
		say_good_bye(cpu_ns);
	errno = saved;
}

/* --- the beginning --------------------------------------------------------------------------------------------- */

static uint64_t read_number(const char **text)
{
	uint64_t value = 0;
	for (; **text >= '0' && **text <= '9' && value < 1000000000u; (*text)++)
		value = value * 10 + (uint64_t)(**text - '0');
	while (**text == ' ')
		(*text)++;
	return value;
}

/* The name of the recorder's socket is there, and CPU timers are wanted. */
static int read_environment(void)
{
	const char *wanted = getenv(INJECT_ENV);
	if (!wanted || !inject_connect_name())
		return 0;
	uint64_t rate_hz = read_number(&wanted), stack_b = read_number(&wanted);
	if (rate_hz)
		inject_settings.period_ns = 1000000000u / rate_hz;
	if (stack_b)
		inject_settings.stack_b = (uint32_t)(stack_b < STACK_MAX_B ? stack_b : STACK_MAX_B);
	return 1;
}

/* A forked child goes on with one thread. */
static void child_begin(void)
{
	int saved = errno;
	struct inject_thread *thread = &inject_self;
	struct inject_stack stack = {thread->stack_low, thread->stack_end};
	if (record && thread->pid != getpid()) {
		record->start_ns = sonde_clock_now_ns();
		inject_thread_begin(&stack);
	}
	errno = saved;
}

__attribute__((constructor)) static void inject_begin(void)
{
	int saved = errno;
	struct inject_stack stack = inject_stack_main();
	if (read_environment() && (record = inject_connect_page(sizeof(*record)))) {
		inject_thread_init();
		if (inject_dispositions_take()) {
			record = NULL;
			return;
		}
		if (__register_atfork)
			__register_atfork(NULL, NULL, child_begin, NULL);
		else if (pthread_atfork)
			pthread_atfork(NULL, NULL, child_begin);
		record->start_ns = sonde_clock_now_ns();
		inject_thread_begin(&stack);
	}
	errno = saved;
}

__attribute__((destructor)) static void inject_end(void)
{
	inject_process_end();
}
