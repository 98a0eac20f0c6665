/* dispositions.c: the program sees the disposition and the mask that it set for our signal, while ours stay in effect.
 *
 * The program's disposition for INJECT_SIGNAL is stored, returned on request, and used for signals that do not come
 * from our timers, with the flags and the mask that were set. Many programs block all signals in their worker threads,
 * which would then never be sampled: so blocking INJECT_SIGNAL is only simulated, as long as the difference cannot be
 * observed. When the signal arrives from elsewhere in this state, the thread really blocks it and resends it to itself,
 * so that it is pending for sigpending(), sigwait() and signalfd as it would be without us; the thread's timer stops
 * until the program unblocks the signal. sigwait() and the like do not return our ticks.
 *
 * Our handler runs on the thread's alternate stack: the program's, which runtimes with small stacks (Go's) set up, or
 * ours (cpu/alternate.c). We do not interrupt handlers of the program that run on its own alternate stack, and a thread
 * whose alternate stack is too small for the kernel's frame and our handler is not sampled.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/hook/inject.h"
#include "inject/hook/machine.h"
#include "inject/hook/next.h"

#define EXPORT __attribute__((visibility("default")))
#define LIBRARYS (UINT64_C(3) << 31)              /* signals 32 and 33, reserved by the C library */
#define OURS (UINT64_C(1) << (INJECT_SIGNAL - 1)) /* as a kernel signal set */

/* Signal sets, whose first word is the kernel's, are accessed without functions that a sanitizer may replace. */
static int has_ours(const sigset_t *set)
{
	uint64_t word;
	memcpy(&word, set, sizeof(word));
	return (word & OURS) != 0;
}

static void put_ours(sigset_t *set, int is_there)
{
	uint64_t word;
	memcpy(&word, set, sizeof(word));
	word = is_there ? word | OURS : word & ~OURS;
	memcpy(set, &word, sizeof(word));
}

/* The program's disposition for our signal. There are two copies, so that a handler never sees a partially written
 * one. */
static struct sigaction theirs[2];
static _Atomic uint32_t current;
static _Atomic uint32_t writing;
static _Atomic uint64_t widened; /* signals whose masks were extended by ours */

typedef int (*set_mask)(int how, const sigset_t *set, sigset_t *old);

/* The real functions. */
static struct {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	sighandler_t (*signal)(int, sighandler_t);
	sighandler_t (*bsd_signal)(int, sighandler_t);
	sighandler_t (*__sysv_signal)(int, sighandler_t);
	sighandler_t (*sysv_signal)(int, sighandler_t);
	set_mask sigprocmask, pthread_sigmask;
	int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
} next;

__attribute__((constructor)) static void ask(void)
{
	next.signal = (sighandler_t(*)(int, sighandler_t))inject_next("signal");
	next.bsd_signal = (sighandler_t(*)(int, sighandler_t))inject_next("bsd_signal");
	next.__sysv_signal = (sighandler_t(*)(int, sighandler_t))inject_next("__sysv_signal");
	next.sysv_signal = (sighandler_t(*)(int, sighandler_t))inject_next("sysv_signal");
	next.sigprocmask = (set_mask)inject_next("sigprocmask");
	next.pthread_sigmask = (set_mask)inject_next("pthread_sigmask");
	next.sigtimedwait =
	    (int (*)(const sigset_t *, siginfo_t *, const struct timespec *))inject_next("sigtimedwait");
	/* last: once it is set, all are set */
	next.sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))inject_next("sigaction");
}

/* Looks up the real functions, for calls before our object is initialised. */
static inline void ask_early(void)
{
	if (__builtin_expect(!next.sigaction, 0))
		ask();
}

static int real_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	ask_early();
	if (next.sigaction)
		return next.sigaction(number, action, old);
	errno = ENOSYS;
	return -1;
}

static int has_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN; /* even if SA_SIGINFO is set */
}

/* Installs our handler, which runs on the stack that the program's own handler for the signal requires. If that handler
 * does not use the alternate stack, ours must not either: the program's handler may switch to another stack and return
 * later, and meanwhile another signal would have overwritten the alternate stack. */
static int install(const struct sigaction *of_program, struct sigaction *old)
{
	int on_stack = !has_handler(of_program) || of_program->sa_flags & SA_ONSTACK;
	struct sigaction ours = {.sa_sigaction = inject_sample_handler,
				 .sa_flags = SA_SIGINFO | SA_RESTART | (on_stack ? SA_ONSTACK : 0)};
	uint64_t all = ~LIBRARYS;
	memcpy(&ours.sa_mask, &all, sizeof(all));
	return real_sigaction(INJECT_SIGNAL, &ours, old);
}

int inject_dispositions_take(void)
{
	static const struct sigaction none = {.sa_flags = 0};
	int result = install(&none, &theirs[0]);
	return result || !has_handler(&theirs[0]) ? result : install(&theirs[0], NULL);
}

/* Resends the signal as it was sent: to the thread or to the process. */
static void send_again(siginfo_t *info)
{
	if (info->si_code == SI_TKILL)
		INJECT_CALL(SYS_rt_tgsigqueueinfo, inject_machine_pid(), INJECT_CALL(SYS_gettid), INJECT_SIGNAL, info);
	else
		INJECT_CALL(SYS_rt_sigqueueinfo, inject_machine_pid(), INJECT_SIGNAL, info);
}

/* Stops the timer and removes a pending tick, because the thread is about to block the signal: the program would see a
 * pending tick, and further signals would be merged with it. */
static void stop_ticks(void)
{
	uint64_t ours = OURS;
	struct timespec now = {0, 0};
	siginfo_t got, other;
	int has_other = 0;
	inject_thread_quiet();
	while (INJECT_CALL(SYS_rt_sigtimedwait, &ours, &got, &now, sizeof(ours)) == INJECT_SIGNAL)
		if (!inject_sample_is_ours(&got)) {
			other = got;
			has_other = 1;
		}
	if (has_other)
		send_again(&other);
}

/* The program believes that the signal is blocked, which was only simulated: from now on it is really blocked, by the
 * mask that the handler restores on return. Then the signal is sent again, so that it is pending. */
static void block_in_earnest(struct inject_thread *thread, siginfo_t *info, ucontext_t *interrupted)
{
	if (!inject_calls_begin())
		return;
	stop_ticks();
	thread->wants_blocked = 0;
	put_ours(&interrupted->uc_sigmask, 1);
	send_again(info);
	inject_calls_end();
}

/* Emulates the kernel before a handler call: the signal mask, and SA_RESETHAND. If the handler leaves by a jump, the
 * thread is sampled again when it next unblocks the signal. */
static void prepare(const struct sigaction *action, const ucontext_t *interrupted)
{
	uint64_t mask, before;
	int defers = !(action->sa_flags & (int)SA_NODEFER);
	memcpy(&mask, &action->sa_mask, sizeof(mask));
	memcpy(&before, &interrupted->uc_sigmask, sizeof(before));
	mask |= before | (defers ? OURS : 0);
	if (inject_calls_begin()) {
		if (mask & OURS)
			stop_ticks();
		INJECT_CALL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
		inject_calls_end();
	}
	if (action->sa_flags & (int)SA_RESETHAND && !atomic_exchange(&writing, 1)) {
		uint32_t now = atomic_load(&current);
		theirs[1 - now] = theirs[now];
		theirs[1 - now].sa_handler = SIG_DFL;
		atomic_store(&current, 1 - now);
		atomic_store(&writing, 0);
	}
}

void inject_dispositions_chain(int number, siginfo_t *info, void *context)
{
	struct sigaction action = theirs[atomic_load(&current)];
	if (inject_self.wants_blocked) {
		block_in_earnest(&inject_self, info, context);
		return;
	}
	if (!has_handler(&action))
		return;
	prepare(&action, context);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else
		action.sa_handler(number);
	inject_thread_resume();
}

static void remember(const struct sigaction *action, struct sigaction *old)
{
	while (atomic_exchange(&writing, 1))
		;
	uint32_t now = atomic_load(&current);
	struct sigaction before = theirs[now];
	if (action) {
		theirs[1 - now] = *action;
		atomic_store(&current, 1 - now);
		if (inject_calls_begin()) {
			if (inject_record->sandbox.pid == inject_machine_pid()) /* a child of vfork has its own */
				install(action, NULL);
			inject_calls_end();
		}
	}
	atomic_store(&writing, 0);
	if (old)
		*old = before;
}

/* Blocks our signal while a handler runs on the alternate stack, which may not have room for two. */
static int set_other(int number, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction changed;
	uint64_t bit = number > 0 && number <= 64 ? UINT64_C(1) << (number - 1) : 0;
	int was_widened = (atomic_load(&widened) & bit) != 0, is_widened = 0;
	if (action) {
		changed = *action;
		is_widened = changed.sa_flags & SA_ONSTACK && !has_ours(&changed.sa_mask);
		if (is_widened)
			put_ours(&changed.sa_mask, 1);
	}
	int result = real_sigaction(number, action ? &changed : NULL, old);
	if (result)
		return result;
	if (old && was_widened)
		put_ours(&old->sa_mask, 0);
	if (action && is_widened)
		atomic_fetch_or(&widened, bit);
	else if (action)
		atomic_fetch_and(&widened, ~bit);
	return 0;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (!inject_process())
		return real_sigaction(number, action, old);
	if (number != INJECT_SIGNAL)
		return set_other(number, action, old);
	struct sigaction wanted;
	if (action)
		wanted = *action;
	remember(action ? &wanted : NULL, old);
	return 0;
}

/* Reads `*real` only after ask_early(). */
static sighandler_t set_simple(sighandler_t (**real)(int, sighandler_t), int number, sighandler_t handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
	if (number == INJECT_SIGNAL && inject_process()) {
		remember(&action, &old);
		return old.sa_handler;
	}
	ask_early();
	if (*real)
		return (*real)(number, handler);
	errno = ENOSYS;
	return SIG_ERR;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	return set_simple(&next.signal, number, handler, SA_RESTART);
}

EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return set_simple(&next.bsd_signal, number, handler, SA_RESTART);
}

EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set_simple(&next.__sysv_signal, number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return set_simple(&next.sysv_signal, number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

/* --- masks ----------------------------------------------------------------------------------------------------- */

/* Simulates the block if the signal was not blocked before; blocks by a handler's own mask are left alone. */
static int change_mask(set_mask real, int how, const sigset_t *set, sigset_t *old)
{
	if (!real)
		return ENOSYS;
	if (!inject_process())
		return real(how, set, old);
	struct inject_thread *thread = &inject_self;
	int may_pretend = inject_is_on() && thread->tid;
	int is_named = set && has_ours(set), pretended = thread->wants_blocked;
	sigset_t before, ours;
	int result = real(how, set, &before);
	if (result)
		return result;
	int was_blocked = has_ours(&before);
	if (set && (how == SIG_SETMASK || is_named))
		thread->wants_blocked = may_pretend && is_named && how != SIG_UNBLOCK && !was_blocked;
	if (is_named && thread->wants_blocked) {
		memset(&ours, 0, sizeof(ours));
		put_ours(&ours, 1);
		real(SIG_UNBLOCK, &ours, NULL);
	} else if (was_blocked && set && (is_named ? how == SIG_UNBLOCK : how == SIG_SETMASK)) {
		inject_thread_resume();
	}
	if (old) {
		*old = before;
		if (pretended)
			put_ours(old, 1);
	}
	return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	ask_early();
	return change_mask(next.sigprocmask, how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	ask_early();
	return change_mask(next.pthread_sigmask, how, set, old);
}

/* --- waiting for signals --------------------------------------------------------------------------------------- */

static int wait_for_signal(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	siginfo_t got;
	int number;
	ask_early();
	do
		number = next.sigtimedwait(set, &got, timeout);
	while (number == INJECT_SIGNAL && inject_sample_is_ours(&got));
	if (number > 0 && info)
		*info = got;
	return number;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	return wait_for_signal(set, info, timeout);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return wait_for_signal(set, info, NULL);
}

EXPORT int sigwait(const sigset_t *set, int *out)
{
	int number;
	do
		number = wait_for_signal(set, NULL, NULL);
	while (number < 0 && errno == EINTR);
	if (number < 0)
		return errno;
	*out = number;
	return 0;
}
