/* sandbox.c: avoids anything that a seccomp filter could punish: no system call of ours after a program has sandboxed
 * itself.
 *
 * Programs install filters with prctl() and syscall() (libseccomp and Chromium too). Before the first filter is
 * installed, the recorder is informed (inject_leave()), a flag forbids all later system calls of ours in this process
 * and its forked children, and anything that would cause one is undone (inject_left()): all timers are deleted, so that
 * the filter does not even see a return from our handler. Threads inside our system calls are counted: a filter for all
 * threads (TSYNC) waits until none is inside.
 *
 * Filters are also inherited through exec. Containers put every process under a filter, so the criterion is whether
 * there are more filters than the recorder's own; the number is read with system calls that the dynamic loader itself
 * has just made, so the filters allow them.
 *
 * Not handled: filters installed by the program's own system-call instructions. The wrappers have no frame (they jump
 * to the next function), because a raw clone() returns on another stack.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/hook/machine.h"
#include "inject/hook/next.h"
#include "inject/hook/sandbox.h"

#define WAIT_STEPS 500 /* of 1 ms: for other threads inside; a connection takes 200 ms at most */

typedef long (*call_six)(long number, long a, long b, long c, long d, long e, long f);
typedef int (*call_prctl)(long option, long a, long b, long c, long d);

/* True once the process has sandboxed itself. In ordinary memory, because a forked child inherits the filter. */
static _Atomic uint32_t is_locked_in;
static _Atomic uint32_t child_is_locked_in; /* a child of vfork, which shares our memory */
static struct inject_sandbox *watched;      /* NULL = we make no system calls at all */
static int reads_no_cycles;
static call_six next_syscall;
static call_prctl next_prctl;

/* --- our system calls ------------------------------------------------------------------------------------------ */

int inject_calls_begin(void)
{
	if (!watched)
		return 0;
	/* Sequentially consistent, like the flag: either we see the flag, or the thread that sets it sees us. */
	atomic_fetch_add(&watched->calling, 1);
	if (!atomic_load(&is_locked_in))
		return 1;
	inject_calls_end();
	return 0;
}

void inject_calls_end(void)
{
	atomic_fetch_sub(&watched->calling, 1);
}

int inject_sandbox_is_on(void)
{
	return atomic_load(&is_locked_in) != 0;
}

int inject_sandbox_reason(void)
{
	return reads_no_cycles;
}

int inject_sandbox_is_childs(void)
{
	return atomic_load(&child_is_locked_in) != 0;
}

/* --- installing ------------------------------------------------------------------------------------------------ */

static void wait_for_others(void)
{
	struct timespec step = {0, 1000000};
	for (int i = 0; i < WAIT_STEPS && atomic_load(&watched->calling); i++)
		inject_machine_call(SYS_nanosleep, (long)&step, 0, 0, 0, 0, 0);
}

__attribute__((noinline)) static void leave(void)
{
	int saved = errno;
	if (inject_leave)
		inject_leave();
	atomic_store(&is_locked_in, 1);
	wait_for_others();
	if (inject_left)
		inject_left();
	errno = saved;
}

/* A child that shares our memory may have no thread-local storage, not even an errno. */
__attribute__((noinline)) static void lock_in(void)
{
	const struct inject_sandbox *sandbox = watched;
	if (!sandbox || atomic_load(&is_locked_in))
		return;
	if (inject_sandbox_entering)
		inject_sandbox_entering();
	if (sandbox->pid && sandbox->pid != (pid_t)inject_machine_call(SYS_getpid, 0, 0, 0, 0, 0, 0))
		atomic_store(&child_is_locked_in, 1);
	else
		leave();
}

/* True if a call installs a filter or strict mode; calls that only query what the kernel supports do not. */
static int installs(unsigned long operation, int is_plain, const void *program)
{
	if (operation == SECCOMP_SET_MODE_FILTER)
		return program != NULL;
	return operation == SECCOMP_SET_MODE_STRICT && is_plain && !program;
}

__attribute__((noinline)) static long direct(long number, long a, long b, long c, long d, long e, long f)
{
	return inject_machine_direct(number, a, b, c, d, e, f);
}

static void before_prctl(long option, long a)
{
	if ((int)option == PR_SET_DUMPABLE && a != 1 && inject_sandbox_undumpable)
		inject_sandbox_undumpable();
}

/* Separate C names, since the real functions take variable arguments. */
__attribute__((visibility("default"))) long inject_syscall(long number, long a, long b, long c, long d, long e,
							   long f) __asm__("syscall");
__attribute__((visibility("default"))) int inject_prctl(long option, long a, long b, long c, long d) __asm__("prctl");

long inject_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_seccomp && installs((unsigned long)a, !b, (const void *)c))
		lock_in();
	if (number == SYS_futex && inject_sandbox_futex)
		return inject_sandbox_futex(number, a, b, c, d, e, f);
	if (number == SYS_prctl)
		before_prctl(a, b);
	return next_syscall ? next_syscall(number, a, b, c, d, e, f) : direct(number, a, b, c, d, e, f);
}

long inject_sandbox_next(long number, long a, long b, long c, long d, long e, long f)
{
	return next_syscall ? next_syscall(number, a, b, c, d, e, f) : direct(number, a, b, c, d, e, f);
}

int inject_prctl(long option, long a, long b, long c, long d)
{
	/* A thread that may not read the cycle counter, and the children that inherit this, would be killed by our
	 * timestamps. */
	if ((int)option == PR_SET_TSC && a == PR_TSC_SIGSEGV) {
		if (!atomic_load(&is_locked_in))
			reads_no_cycles = 1;
		lock_in();
	}
	if ((int)option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || (a == SECCOMP_MODE_FILTER && b)))
		lock_in();
	before_prctl(option, a);
	return next_prctl ? next_prctl(option, a, b, c, d) : (int)direct(SYS_prctl, option, a, b, c, d, 0);
}

/* Until this is called, the wrappers' calls go directly to the kernel. */
void inject_sandbox_init(void)
{
	next_prctl = (call_prctl)inject_next("prctl");
	next_syscall = (call_six)inject_next("syscall");
}

void inject_sandbox_watch(struct inject_sandbox *sandbox)
{
	watched = sandbox;
}

/* --- inherited ------------------------------------------------------------------------------------------------- */

/* A line of /proc/self/status, matched character by character. */
struct line {
	const char *title;
	size_t matched;
	int is_there, is_ended;
	uint64_t value;
};

static void look_for(struct line *line, char c)
{
	if (line->title[line->matched]) {
		line->matched = c == line->title[line->matched] ? line->matched + 1 : c == '\n';
	} else if (!line->is_ended && c >= '0' && c <= '9') {
		line->is_there = 1;
		line->value = line->value * 10 + (uint64_t)(c - '0');
	} else if (c == '\n') {
		line->is_ended = 1;
	}
}

/* Reads /proc/self/status without functions of the C library: sanitizers replace them, and are not initialised yet. */
int inject_sandbox_is_inherited(uint64_t recorders)
{
	struct line mode = {.title = "\nSeccomp:"}, filters = {.title = "\nSeccomp_filters:"};
	char piece[512];
	long got, fd = direct(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 1; /* unknown */
	while ((got = direct(SYS_read, fd, (long)piece, sizeof(piece), 0, 0, 0)) > 0)
		for (long i = 0; i < got; i++) {
			look_for(&mode, piece[i]);
			look_for(&filters, piece[i]);
		}
	direct(SYS_close, fd, 0, 0, 0, 0, 0);
	if (filters.is_there)
		return filters.value > recorders;
	return mode.is_there && mode.value > 0 && !recorders; /* before Linux 5.9 */
}
