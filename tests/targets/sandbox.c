/* sandbox.c: programs that enter sandboxes which kill them for unexpected system calls, one per command; each uses
 * CPU time before and after and prints "done".
 *
 * filter     by prctl: nothing but write and exit_group is allowed, not even the return from a signal handler
 * strict     the kernel's strict mode
 * threads    four threads burn while the first locks all of them in (TSYNC)
 * forks      a child locks itself in and has children of its own; the parent burns on
 * vforks     a child that shares the parent's memory locks itself in and leaves; the parent burns on
 * bare       such a child that has no thread-local storage either (Chromium makes one to change its root)
 * executes   locks itself in and executes itself: no timers, no sockets
 * asks       only asks what the kernel supports, and burns
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"
#include "seccomp_filter.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const unsigned own[] = {SYS_write, SYS_exit_group};
static const unsigned threaded[] = {SYS_write,  SYS_exit_group,   SYS_exit,           SYS_futex,           SYS_madvise,
				    SYS_munmap, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_set_robust_list, SYS_rseq};
static const unsigned forking[] = {SYS_write, SYS_exit_group, SYS_clone, SYS_wait4, SYS_set_robust_list};
static const unsigned ours[] = {SYS_timer_create, SYS_timer_settime, SYS_socket, SYS_connect, SYS_process_vm_readv};

/* Kills the caller of a system call that is not in the list, or is (`is_listed`). */
static int lock_in(const unsigned *calls, size_t count, int is_listed, unsigned flags)
{
	struct seccomp_filter filter;
	seccomp_filter_make(&filter, calls, count, is_listed);
	if (flags)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter.program);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter.program);
}

__attribute__((noinline)) static void before(int units)
{
	for (int i = 0; i < units; i++)
		burn(BURN_UNIT);
}

__attribute__((noinline)) static void after(int units)
{
	for (int i = 0; i < units; i++)
		burn(BURN_UNIT);
}

static int say(const char *text)
{
	return write(1, text, strlen(text)) < 0;
}

static int do_filter(char **argv)
{
	(void)argv;
	before(200);
	if (lock_in(own, LENGTH(own), 0, 0))
		return 1;
	after(400);
	return say("done\n");
}

static int do_strict(char **argv)
{
	(void)argv;
	before(200);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	after(400);
	int code = say("done\n");
	for (;;)
		syscall(SYS_exit, code); /* exit_group is not allowed */
}

static void *burn_thread(void *unused)
{
	after(600);
	return unused;
}

static int do_threads(char **argv)
{
	pthread_t ids[4];
	(void)argv;
	for (size_t i = 0; i < LENGTH(ids); i++)
		if (pthread_create(&ids[i], NULL, burn_thread, NULL))
			return 1;
	before(100);
	if (lock_in(threaded, LENGTH(threaded), 0, SECCOMP_FILTER_FLAG_TSYNC))
		return 1;
	for (size_t i = 0; i < LENGTH(ids); i++)
		pthread_join(ids[i], NULL);
	return say("done\n");
}

static int do_forks(char **argv)
{
	int status = 0;
	(void)argv;
	before(100);
	pid_t pid = fork();
	if (pid == 0) {
		before(100);
		if (lock_in(forking, LENGTH(forking), 0, 0))
			_exit(1);
		pid_t second =
		    (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* SIGCHLD: a fork that no library knows of */
		after(100);
		if (second == 0)
			_exit(say("grandchild\n"));
		syscall(SYS_wait4, second, &status, 0, NULL);
		_exit(say("child\n") || status);
	}
	waitpid(pid, &status, 0);
	before(300);
	say(status ? "killed\n" : "done\n");
	return 0;
}

static int do_vforks(char **argv)
{
	int status = 0;
	(void)argv;
	pid_t pid = vfork();
	if (pid == 0) {
		if (lock_in(own, LENGTH(own), 0, 0))
			_exit(1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	before(300);
	say(status ? "killed\n" : "done\n");
	return 0;
}

static int leave(void *unused)
{
	(void)unused;
	_exit(0);
}

static int do_bare(char **argv)
{
	static char stack[65536] __attribute__((aligned(16))), storage[65536] __attribute__((aligned(16)));
	int status = 0, flags = CLONE_VM | CLONE_FS | CLONE_VFORK | CLONE_SETTLS | SIGCHLD;
	(void)argv;
	pid_t pid = clone(leave, stack + sizeof stack, flags, NULL, NULL, storage, NULL);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	before(300);
	say(status ? "killed\n" : "done\n");
	return 0;
}

static int do_executes(char **argv)
{
	static char again[] = "runs";
	char *const args[] = {argv[0], again, NULL};
	before(100);
	if (lock_in(ours, LENGTH(ours), 1, 0))
		return 1;
	execv("/proc/self/exe", args);
	return 1;
}

static int do_runs(char **argv)
{
	(void)argv;
	after(400);
	return say("done\n");
}

static int do_asks(char **argv)
{
	unsigned action = SECCOMP_RET_KILL_PROCESS;
	(void)argv;
	int failed[] = {prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) ? errno : 0,
			syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) ? errno : 0,
			syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) ? errno : 0,
			syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ? errno : 0};
	after(400);
	printf("%d %d %d %d, %d\n", failed[0], failed[1], failed[2], failed[3], prctl(PR_GET_SECCOMP));
	return say("done\n");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} commands[] = {{"filter", do_filter},     {"strict", do_strict}, {"threads", do_threads},
			{"forks", do_forks},       {"vforks", do_vforks}, {"bare", do_bare},
			{"executes", do_executes}, {"runs", do_runs},     {"asks", do_asks}};
	for (size_t i = 0; argc > 1 && i < LENGTH(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argv);
	return 2;
}
