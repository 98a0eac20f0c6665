/* sample.c: the handler of the timer signal: copies registers and stack into the ring.
 *
 * Reading must not fault: a program may protect or unmap pages of its own stack, or run on any memory. So the copy is
 * made by process_vm_readv() on the process itself, which stops at the first page that cannot be read; it takes 1 µs
 * more than reading directly, 6 instead of 5 µs for a full copy of 56 KB. If that call is forbidden or missing, each
 * page of the thread's own stack is probed first, by a system call that reads a word of it and then fails; for any
 * other stack (coroutines, a handler's alternate stack, threads whose start was not seen), only the page of the stack
 * pointer is copied. The handler runs on a stack of its own (cpu/alternate.c). All signals are blocked meanwhile, and
 * errno is kept.
 *
 * Every process that may read the recorder can read the ring. So the stack of a process that forbids reading its memory
 * (PR_SET_DUMPABLE, another user's programs) is not copied. This is checked before each copy, since a process may
 * become undumpable without a call that can be hooked (setuid(), capabilities); the check costs half of a clock read.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "inject/hook/inject.h"
#include "inject/hook/machine.h"
#include "inject/hook/readable.h"

const char inject_sample_mark = 0;

int inject_sample_is_ours(const siginfo_t *info)
{
	return info && info->si_code == SI_TIMER && info->si_value.sival_ptr == &inject_sample_mark;
}

static uint64_t time_now(const struct sonde_ring_pool *pool)
{
	return pool->clock == SONDE_RING_CLOCK_CYCLES ? sonde_clock_cycles() : sonde_clock_now_ns();
}

static int is_own_stack(uintptr_t sp)
{
	return sp >= inject_self.stack_low && sp < inject_self.stack_end;
}

/* Bytes of the stack above `sp` to copy. */
static size_t extent(uintptr_t sp)
{
	size_t most_b = inject_settings.stack_b;
	if (is_own_stack(sp) && inject_self.stack_end - sp < most_b)
		most_b = inject_self.stack_end - sp;
	return most_b & ~(size_t)7;
}

/* Returns the bytes copied. */
static size_t copy_stack(void *to, uintptr_t from, size_t size_b)
{
	struct iovec local = {to, size_b}, remote = {(void *)from, size_b};
	long got = INJECT_CALL(SYS_process_vm_readv, inject_machine_pid(), &local, 1UL, &remote, 1UL, 0UL);
	if (got >= 0)
		return (size_t)got & ~(size_t)7;
	if (got == -EFAULT)
		return 0;
	size_t page_b = INJECT_PAGE_B - from % INJECT_PAGE_B;
	size_b = inject_readable_b(from, is_own_stack(from) || size_b < page_b ? size_b : page_b);
	inject_copy_words(to, from, size_b);
	return size_b;
}

/* True if every process that can read the ring may also read this process's memory. */
static int may_copy(void)
{
	return inject_settings.is_private || INJECT_CALL(SYS_prctl, PR_GET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) == 1;
}

static void write_sample(struct sonde_ring_pool *pool, const struct inject_registers *registers)
{
	int is_whole = may_copy();
	size_t stack_b = is_whole ? extent(registers->sp) : 0;
	struct sonde_event_cpu_sample sample = {.head = {.type = SONDE_EVENT_CPU_SAMPLE}};
	sample.head.words = (uint16_t)((sizeof(sample) + stack_b) / 8);
	struct sonde_event *event = inject_writer_reserve(pool, sample.head.words);
	if (!event)
		return;
	struct sonde_event_cpu_sample *out = (void *)event;
	if (is_whole)
		stack_b = copy_stack(out + 1, registers->sp, stack_b);
	out->cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	out->pc = registers->pc;
	out->sp = is_whole ? registers->sp : 0;
	out->fp = is_whole ? registers->fp : 0;
	out->lr = is_whole ? registers->lr : 0;
	out->stack_b = stack_b;
	sample.head.time = time_now(pool);
	inject_writer_publish(event, &sample.head);
}

static void take_sample(struct inject_thread *thread, const void *context)
{
	struct inject_registers registers = inject_machine_registers(context);
	thread->busy = 1;
	struct sonde_ring_pool *pool = inject_pool();
	if (pool)
		write_sample(pool, &registers);
	else if (!inject_is_on())
		inject_thread_quiet();
	thread->busy = 0;
}

INJECT_HANDLER void inject_sample_handler(int number, siginfo_t *info, void *context)
{
	struct inject_thread *thread = &inject_self;
	int saved = errno;
	if (!inject_sample_is_ours(info)) {
		inject_dispositions_chain(number, info, context);
	} else if (inject_calls_begin()) {
		if (!thread->busy && thread->tid)
			take_sample(thread, context);
		inject_calls_end();
	}
	errno = saved;
}

void inject_sample_remainder(uint64_t process_ns)
{
	struct sonde_process *process = inject_process();
	struct sonde_ring_pool *pool = process ? atomic_load(&process->pool) : NULL;
	struct sonde_event_cpu_sample sample = {.head = {.type = SONDE_EVENT_CPU_SAMPLE}};
	char name[SONDE_EVENT_NAME_B] = "";
	sample.head.words = (sizeof(sample) + sizeof(name)) / 8;
	if (!pool || atomic_load(&pool->closed))
		return;
	struct sonde_event *event = inject_writer_reserve(pool, sample.head.words);
	if (!event)
		return;
	struct sonde_event_cpu_sample *out = (void *)event;
	INJECT_CALL(SYS_prctl, PR_GET_NAME, name);
	memcpy(out + 1, name, sizeof(name));
	out->stack_b = sizeof(name);
	out->sp = process_ns;
	out->fp = (uint64_t)inject_self.leaves;
	out->lr = sonde_clock_now_ns() - inject_self.start_ns;
	out->cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	sample.head.time = time_now(pool);
	inject_writer_publish(event, &sample.head);
}
