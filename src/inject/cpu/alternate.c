/* alternate.c: a stack of ours for the handler, in each thread that has no alternate signal stack.
 *
 * The kernel pushes up to 4 KB of registers (64 KB with SVE) before the handler's first instruction, so no check inside
 * the handler can save a program that runs coroutines on stacks of a few KB: only an alternate stack can. Each thread
 * gets one before its timer starts, with a guard page, from a table that is reused and never unmapped: a thread that
 * takes over the stack of a dead thread calls nothing but sigaltstack() itself.
 *
 * The program sees what it would see without us: while our stack is in use, sigaltstack() reports that there is none,
 * and an alternate stack that the program sets replaces ours until it is disabled. There is one difference: in a thread
 * without another alternate stack, a handler that the program installs with SA_ONSTACK runs on our stack, and finds it
 * in its context's uc_stack; so our stacks are large. Go's runtime, which calls the kernel itself, uses our stack for
 * its signals. Withholding SA_ONSTACK from the kernel until the program calls sigaltstack() was tried: we do not see
 * Go's calls, and Go stops if its handler runs on another stack.
 *
 * Rejected: a thread of ours that samples the others (only a tracer can read another thread's registers); a handler
 * with a small frame (the kernel's is the larger one); checking in the handler (too late). The table has room for
 * INJECT_TIMERS threads at a time. In further threads the handler runs on the stack that it interrupts. It also does so
 * if the process's limits on memory (RLIMIT_AS, RLIMIT_DATA) leave less than eight times what our stacks would take.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "inject/hook/connect.h"
#include "inject/hook/inject.h"
#include "inject/hook/machine.h"
#include "inject/hook/next.h"
#include "inject/hook/uncounted.h"

#define EXPORT __attribute__((visibility("default")))
#define HANDLER_B 2048ul /* stack used in the first tick, which connects */
#define OURS_B 262144ul  /* also for the program's handlers; only used pages take memory */
#define WORD_BITS 64u
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Owner of a stack: the thread that set its bit. */
static _Atomic uint64_t taken[INJECT_TIMERS / WORD_BITS];
static _Atomic uintptr_t stacks[INJECT_TIMERS] INJECT_UNCOUNTED; /* lowest usable address; 0 = not mapped yet */
static _Atomic pid_t
    takers[INJECT_TIMERS] INJECT_UNCOUNTED; /* the process that took it: a forked child inherits the table */

void inject_alternate_uncount(void)
{
	INJECT_UNCOUNT(stacks);
	INJECT_UNCOUNT(takers);
}

static int (*next_sigaltstack)(const stack_t *, stack_t *);

__attribute__((constructor)) static void ask(void)
{
	INJECT_NEXT(next_sigaltstack, "sigaltstack");
}

static size_t frame_b(void)
{
	unsigned long reported_b = getauxval(AT_MINSIGSTKSZ);
	return !reported_b || reported_b > INJECT_FRAME_MAX_B ? INJECT_FRAME_MAX_B : reported_b;
}

/* --- the table --------------------------------------------------------------------------------------------------- */

/* Takes the lowest free slot, so that a forked child has few words to clear; INJECT_TIMERS = none. */
static uint32_t take_slot(void)
{
	for (uint32_t i = 0; i < INJECT_TIMERS / WORD_BITS; i++) {
		uint64_t before = atomic_load(&taken[i]);
		while (~before) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~before);
			if (atomic_compare_exchange_weak(&taken[i], &before, before | UINT64_C(1) << bit)) {
				atomic_store(&takers[i * WORD_BITS + bit], inject_machine_pid());
				return i * WORD_BITS + bit;
			}
		}
	}
	return INJECT_TIMERS;
}

static void free_slot(uint32_t slot)
{
	atomic_fetch_and(&taken[slot / WORD_BITS], ~(UINT64_C(1) << slot % WORD_BITS));
}

static size_t ours_b(size_t page_b)
{
	return (OURS_B + frame_b() + page_b - 1) & ~(page_b - 1);
}

/* Maps the stack of a slot that the calling thread owns. Returns 0 or −1. */
static int map(uint32_t slot, size_t page_b)
{
	if (atomic_load(&stacks[slot]))
		return 0;
	size_t size_b = page_b + ours_b(page_b);
	if (!inject_connect_spares((uint64_t)(slot + 1) * size_b)) /* all stacks up to this one */
		return -1;
	long guard = INJECT_CALL(SYS_mmap, 0UL, size_b, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0UL);
	if (guard < 0 && guard > -4096)
		return -1;
	INJECT_CALL(SYS_munlock, guard, size_b); /* after mlockall(MCL_FUTURE): neither resident nor counted */
	if (INJECT_CALL(SYS_mprotect, guard + (long)page_b, size_b - page_b, PROT_READ | PROT_WRITE)) {
		INJECT_CALL(SYS_munmap, guard, size_b);
		return -1;
	}
	atomic_store(&stacks[slot], (uintptr_t)guard + page_b);
	return 0;
}

/* --- of the calling thread --------------------------------------------------------------------------------------- */

static int is_ours(const stack_t *stack)
{
	uint32_t slot = inject_self.alternate;
	return slot && !(stack->ss_flags & SS_DISABLE) && (uintptr_t)stack->ss_sp == atomic_load(&stacks[slot - 1]);
}

static void install(void)
{
	size_t page_b = getauxval(AT_PAGESZ);
	stack_t ours = {.ss_size = ours_b(page_b)};
	if (!inject_self.alternate) {
		uint32_t slot = take_slot();
		if (slot == INJECT_TIMERS)
			return;
		if (map(slot, page_b)) {
			free_slot(slot);
			return;
		}
		inject_self.alternate = slot + 1;
	}
	ours.ss_sp = (void *)atomic_load(&stacks[inject_self.alternate - 1]);
	INJECT_CALL(SYS_sigaltstack, &ours, 0UL);
}

static int is_cramped(const stack_t *stack)
{
	return !(stack->ss_flags & SS_DISABLE) && stack->ss_size < frame_b() + HANDLER_B;
}

int inject_alternate_begin(void)
{
	stack_t now;
	if (INJECT_CALL(SYS_sigaltstack, 0UL, &now))
		return 0;
	if (now.ss_flags & SS_DISABLE)
		install();
	return is_cramped(&now);
}

void inject_alternate_end(void)
{
	stack_t now, none = {.ss_flags = SS_DISABLE};
	uint32_t slot = inject_self.alternate;
	if (!slot || INJECT_CALL(SYS_sigaltstack, 0UL, &now))
		return;
	if (is_ours(&now) && INJECT_CALL(SYS_sigaltstack, &none, 0UL))
		return; /* the thread ends on it */
	inject_self.alternate = 0;
	free_slot(slot - 1);
}

/* Frees the stacks of threads that exist only in the parent. The child may already have other threads: fork handlers
 * that ran before ours may have created them. */
void inject_alternate_forked(void)
{
	pid_t pid = inject_machine_pid();
	for (uint32_t i = 0; i < INJECT_TIMERS / WORD_BITS; i++)
		for (uint64_t bits = atomic_load(&taken[i]); bits; bits &= bits - 1) {
			uint32_t slot = i * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
			if (slot + 1 == inject_self.alternate)
				atomic_store(&takers[slot], pid);
			else if (atomic_load(&takers[slot]) != pid)
				free_slot(slot);
		}
}

/* Called after the program has changed the thread's alternate stack: installs ours if the program has none now. The new
 * setting is requested from the kernel, because the call's two arguments (new and old stack) may be the same object,
 * which then holds the old setting. A child of vfork has an alternate stack of its own, but shares our memory. */
static void follow(void)
{
	stack_t now;
	int saved = errno;
	if (!inject_calls_begin())
		return;
	if (inject_self.tid && inject_record->sandbox.pid == inject_machine_pid() &&
	    !INJECT_CALL(SYS_sigaltstack, 0UL, &now)) {
		if (now.ss_flags & SS_DISABLE)
			install();
		inject_thread_capacity(is_cramped(&now));
	}
	inject_calls_end();
	errno = saved;
}

EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	if (!next_sigaltstack)
		ask();
	if (!next_sigaltstack) {
		errno = ENOSYS;
		return -1;
	}
	int result = next_sigaltstack(stack, old);
	if (result || !inject_process())
		return result;
	if (old && is_ours(old))
		*old = (stack_t){.ss_flags = SS_DISABLE};
	if (stack && !inject_sandbox_is_childs())
		follow();
	return 0;
}
