/* hook_process.c: whether this process is recorded, from when, and until when.
 *
 * A process that must no longer be recorded reports that to the recorder, with the time. Its other threads may still
 * write until their chunks are full; these later records are incomplete and are not read.
 */
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/hook/births.h"
#include "inject/hook/connect.h"
#include "inject/hook/executes.h"
#include "inject/hook/machine.h"
#include "inject/hook/object.h"
#include "inject/hook/process.h"
#include "inject/hook/rules.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/stacks.h"
#include "inject/hook/thread.h"

#define LEAST_B (8u << 20) /* address space that must be left for our memory; we take less of it if little is left */

struct hook_process *hook_process;
int hook_is_lazy;
pid_t hook_first_pid;

uint64_t hook_read_number(const char **text)
{
	uint64_t value = 0;
	for (; **text >= '0' && **text <= '9' && value < UINT64_C(1) << 50; (*text)++)
		value = value * 10 + (uint64_t)(**text - '0');
	while (**text == ' ')
		(*text)++;
	return value;
}

static void send_leave(struct sonde_link_leave *message, enum sonde_link_reason reason)
{
	message->head = (struct sonde_link_head){SONDE_LINK_LEAVE, SONDE_LINK_VERSION};
	message->pid = (uint32_t)inject_machine_pid();
	message->reason = (uint32_t)reason;
	message->client = SONDE_RUNTIME_CLIENT;
	inject_connect_send(message, sizeof(*message));
}

static void record(enum sonde_link_reason reason, uint64_t time)
{
	struct sonde_link_leave message = {.time = time};
	inject_machine_call(SYS_prctl, PR_GET_NAME, (long)message.name, 0, 0, 0, 0);
	send_leave(&message, reason);
}

void hook_process_record(enum sonde_link_reason reason)
{
	if (!inject_calls_begin())
		return;
	record(reason, 0);
	inject_calls_end();
}

/* This function is also called in a child of vfork(), which shares its parent's memory. */
void inject_executes_hidden(const char *name)
{
	struct sonde_link_leave message = {.time = 0};
	if (!hook_process_init() || !inject_calls_begin())
		return;
	for (size_t i = 0; i + 1 < sizeof(message.name) && name[i]; i++)
		message.name[i] = name[i];
	send_leave(&message, SONDE_LINK_NO_FILES);
	inject_calls_end();
}

/* --- start ------------------------------------------------------------------------------------------------------- */

int hook_process_open(void)
{
	static _Atomic uint32_t state; /* 1 = in progress, 2 = open, 3 = failed */
	uint32_t before = 0;
	if (!atomic_compare_exchange_strong(&state, &before, 1) && before != 3)
		return before == 2;
	int is_open = before != 3 && inject_connect_spares(LEAST_B) && !hook_rules_init() && !hook_stack_init();
	if (!is_open)
		record(SONDE_LINK_NO_CAPACITY, 0);
	if (!is_open && hook_process)
		atomic_store(&hook_process->link.process.state, SONDE_PROCESS_OFF);
	atomic_store(&state, is_open ? 2 : 3);
	return is_open;
}

static void begin(const char *wanted)
{
	if (inject_sandbox_is_inherited(hook_read_number(&wanted)))
		return;
	inject_births_uncount();
	hook_first_pid = inject_machine_pid();
	hook_configure(wanted);
	int is_open = hook_is_lazy || hook_process_open();
	struct hook_process *process = is_open ? inject_connect_page(sizeof(*process)) : NULL;
	if (!process && is_open)
		record(SONDE_LINK_NO_CAPACITY, 0);
	if (!process)
		return;
	process->sandbox.pid = hook_first_pid;
	inject_sandbox_watch(&process->sandbox);
	hook_process = process;
}

int hook_process_init(void)
{
	enum { NEW, READING, KNOWN };
	/* Owner: the thread that changes it from NEW, until it stores KNOWN. Other threads, and the owner's own hooks,
	 * do not wait: nothing is recorded before KNOWN. acquire and release: `hook_process` and the settings were
	 * written first. */
	static _Atomic uint32_t state;
	uint32_t before = atomic_load_explicit(&state, memory_order_acquire);
	if (before != NEW || !environ) /* the dynamic loader allocates before the C library is initialised */
		return before == KNOWN;
	if (!atomic_compare_exchange_strong_explicit(&state, &before, READING, memory_order_acquire,
						     memory_order_acquire))
		return before == KNOWN;
	const char *wanted = inject_connect_env(hook_env);
	if (wanted && inject_connect_name())
		begin(wanted);
	hook_state_is(hook_process ? HOOK_READY : HOOK_OFF);
	atomic_store_explicit(&state, KNOWN, memory_order_release);
	return 1;
}

__attribute__((constructor)) static void hook_process_begin(void)
{
	inject_sandbox_init();
}

/* A child that shares our memory (vfork) has another pid, and is not recorded. */
void hook_process_forked(void)
{
	if (!hook_process || !inject_calls_begin())
		return;
	hook_process->sandbox.pid = inject_machine_pid();
	inject_calls_end();
}

/* --- end --------------------------------------------------------------------------------------------------------- */

/* Wakes threads that wait for a chunk, so that they check whether recording continues. */
static void wake(struct sonde_ring_pool *pool)
{
	inject_machine_call(SYS_futex, (long)&pool->freed, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

void hook_process_leave(enum sonde_link_reason reason)
{
	struct sonde_process *process = &hook_process->link.process;
	struct sonde_ring_pool *pool = atomic_load(&process->pool);
	if (atomic_exchange(&hook_process->has_left, 1))
		return;
	/* other threads get chunks up to this time, so their records are complete up to it */
	record(reason, !pool                                    ? 0
		       : pool->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles()
								: sonde_clock_now_ns());
	atomic_store(&process->state, SONDE_PROCESS_OFF);
	hook_state_is(HOOK_OFF);
	hook_self = NULL; /* strict mode forbids reading the cycle counter */
	if (pool)
		wake(pool);
}

void inject_leave(void)
{
	hook_process_leave(inject_sandbox_reason() ? SONDE_LINK_NO_CLOCK : SONDE_LINK_SANDBOX);
}
