/* dispositions.c: a program sees the disposition and the mask that it set for our signal, and we keep ours.
 *
 * What it sets for INJECT_SIGNAL is remembered, told when asked, and called when such a signal comes from elsewhere.
 * Blocking it is remembered likewise: many programs block all signals in their workers, which would never be sampled.
 * sigwait() and its kin do not return our ticks.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "inject/inject.h"
#include "inject/next.h"

#define EXPORT __attribute__((visibility("default")))

/* Two places, so that a handler never sees one half written. */
static struct sigaction theirs[2];
static _Atomic uint32_t current;
static _Atomic uint32_t writing;

static int real_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	static int (*next)(int, const struct sigaction *, struct sigaction *);
	if (!next)
		next = (int (*)(int, const struct sigaction *, struct sigaction *))inject_next("sigaction");
	if (next)
		return next(number, action, old);
	errno = ENOSYS;
	return -1;
}

int inject_dispositions_take(void)
{
	struct sigaction ours = {.sa_sigaction = inject_sample_handler,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&ours.sa_mask);
	return real_sigaction(INJECT_SIGNAL, &ours, &theirs[0]);
}

void inject_dispositions_chain(int number, siginfo_t *info, void *context)
{
	struct sigaction action = theirs[atomic_load(&current)];
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)
		action.sa_handler(number);
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
	}
	atomic_store(&writing, 0);
	if (old)
		*old = before;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (number != INJECT_SIGNAL || !inject_process())
		return real_sigaction(number, action, old);
	struct sigaction wanted;
	if (action)
		wanted = *action;
	remember(action ? &wanted : NULL, old);
	return 0;
}

static sighandler_t set_simple(const char *name, int number, sighandler_t handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
	if (number == INJECT_SIGNAL && inject_process()) {
		remember(&action, &old);
		return old.sa_handler;
	}
	sighandler_t (*next)(int, sighandler_t) = (sighandler_t(*)(int, sighandler_t))inject_next(name);
	if (next)
		return next(number, handler);
	errno = ENOSYS;
	return SIG_ERR;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	return set_simple("signal", number, handler, SA_RESTART);
}

EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return set_simple("bsd_signal", number, handler, SA_RESTART);
}

EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set_simple("__sysv_signal", number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return set_simple("sysv_signal", number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

/* --- masks ----------------------------------------------------------------------------------------------------- */

typedef int (*set_mask)(int how, const sigset_t *set, sigset_t *old);

static int change_mask(set_mask next, int how, const sigset_t *set, sigset_t *old)
{
	if (!next)
		return ENOSYS;
	if (!inject_process())
		return next(how, set, old);
	struct inject_thread *thread = &inject_self;
	int before = thread->wants_blocked, after = before;
	sigset_t wanted;
	if (set) {
		wanted = *set;
		int named = sigismember(&wanted, INJECT_SIGNAL) == 1;
		after = how == SIG_SETMASK ? named : named ? how == SIG_BLOCK : before;
		if (how != SIG_UNBLOCK)
			sigdelset(&wanted, INJECT_SIGNAL);
	}
	int result = next(how, set ? &wanted : NULL, old);
	if (result)
		return result;
	thread->wants_blocked = after;
	if (old && before)
		sigaddset(old, INJECT_SIGNAL);
	return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	static set_mask next;
	if (!next)
		next = (set_mask)inject_next("sigprocmask");
	return change_mask(next, how, set, old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static set_mask next;
	if (!next)
		next = (set_mask)inject_next("pthread_sigmask");
	return change_mask(next, how, set, old);
}

/* --- waiting for signals --------------------------------------------------------------------------------------- */

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	static int (*next)(const sigset_t *, siginfo_t *, const struct timespec *);
	siginfo_t got;
	int number;
	if (!next)
		next = (int (*)(const sigset_t *, siginfo_t *, const struct timespec *))inject_next("sigtimedwait");
	do
		number = next(set, &got, timeout);
	while (number == INJECT_SIGNAL && inject_sample_is_ours(&got));
	if (number > 0 && info)
		*info = got;
	return number;
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

EXPORT int sigwait(const sigset_t *set, int *out)
{
	int number;
	do
		number = sigtimedwait(set, NULL, NULL);
	while (number < 0 && errno == EINTR);
	if (number < 0)
		return errno;
	*out = number;
	return 0;
}
