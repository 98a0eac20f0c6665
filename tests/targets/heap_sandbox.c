/* heap_sandbox.c: programs that enter a seccomp sandbox and go on allocating, one per command. keep_before() keeps
 * 1000 blocks of 100 bytes until then; use_after() allocates and frees many afterwards, and keeps some. An
 * unexpected system call kills it.
 *
 * strict     the kernel's strict mode: nothing but read, write, exit
 * filter     by syscall(SYS_seccomp): what malloc and the threads need
 * threads    three threads allocate on while the first locks all in (TSYNC); three more begin afterwards
 * forks      the locked-in process has a child that allocates; and one that was made behind the C library's back
 * executes   locks itself in and executes itself, which allocates
 * fails      asks for a filter that it is refused
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "no_inline.h"
#include "seccomp_filter.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define THREADS 3
#define KEPT 1000
#define USED 20000 /* more than a thread's chunk holds */

static const unsigned own[] = {SYS_write,        SYS_exit_group,      SYS_exit,  SYS_futex,          SYS_madvise,
			       SYS_mmap,         SYS_munmap,          SYS_brk,   SYS_mprotect,       SYS_clone,
			       SYS_wait4,        SYS_set_robust_list, SYS_rseq,  SYS_rt_sigprocmask, SYS_clone3,
			       SYS_rt_sigreturn, SYS_sched_yield,     SYS_gettid};
static const unsigned ours[] = {SYS_socket,  SYS_connect,          SYS_sendto,
				SYS_recvmsg, SYS_process_vm_readv, SYS_sigaltstack};

static void *kept[KEPT], *kept_after[KEPT];
static _Atomic int locked;

/* Kills the caller of a system call that is not in the list, or is (`is_listed`). */
static int lock_in(const unsigned *calls, size_t count, int is_listed, unsigned flags)
{
	struct seccomp_filter filter;
	seccomp_filter_make(&filter, calls, count, is_listed);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter.program);
}

/* What is used afterwards is memory that malloc has already: strict mode forbids it to ask for more. */
NO_INLINE static void keep_before(void)
{
	for (int i = 0; i < KEPT; i++)
		kept_after[i] = malloc(100);
	for (int i = 0; i < KEPT; i++)
		kept[i] = malloc(100);
	for (int i = 0; i < KEPT; i++)
		free(kept_after[i]);
}

NO_INLINE static void use_after(void)
{
	for (int i = 0; i < USED; i++) {
		void *volatile block = malloc(100);
		free(block);
	}
	for (int i = 0; i < KEPT / 2; i++) {
		void *volatile block = malloc(100);
		kept_after[i] = block;
	}
	for (int i = 0; i < KEPT / 4; i++)
		free(kept[i]);
}

static int say(const char *text)
{
	return write(1, text, strlen(text)) < 0;
}

static int do_strict(char **argv)
{
	(void)argv;
	keep_before();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	use_after();
	int code = say("done\n");
	for (;;)
		syscall(SYS_exit, code); /* exit_group is not allowed */
}

static int do_filter(char **argv)
{
	(void)argv;
	keep_before();
	if (lock_in(own, LENGTH(own), 0, 0))
		return 1;
	use_after();
	return say("done\n");
}

static void *run_thread(void *is_before)
{
	for (int i = 0; is_before && !atomic_load(&locked); i++) {
		void *volatile block = malloc(200);
		free(block);
		if (!is_before)
			break;
	}
	for (int i = 0; i < USED; i++) {
		void *volatile block = malloc(300);
		free(block);
	}
	return NULL;
}

static int do_threads(char **argv)
{
	pthread_t ids[2 * THREADS];
	(void)argv;
	keep_before();
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&ids[i], NULL, run_thread, argv))
			return 1;
	usleep(20000);
	if (lock_in(own, LENGTH(own), 0, SECCOMP_FILTER_FLAG_TSYNC))
		return 1;
	atomic_store(&locked, 1);
	for (size_t i = THREADS; i < LENGTH(ids); i++)
		if (pthread_create(&ids[i], NULL, run_thread, NULL))
			return 1;
	use_after();
	for (size_t i = 0; i < LENGTH(ids); i++)
		pthread_join(ids[i], NULL);
	return say("done\n");
}

static int do_forks(char **argv)
{
	int status = 0, raw = 0;
	(void)argv;
	keep_before();
	if (lock_in(own, LENGTH(own), 0, 0))
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		use_after();
		_exit(say("child\n"));
	}
	syscall(SYS_wait4, pid, &status, 0, NULL);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* a fork that no library knows of */
	if (pid == 0) {
		use_after();
		_exit(say("second\n"));
	}
	syscall(SYS_wait4, pid, &raw, 0, NULL);
	use_after();
	return say(status || raw ? "killed\n" : "done\n");
}

static int do_executes(char **argv)
{
	static char again[] = "runs";
	char *const args[] = {argv[0], again, NULL};
	keep_before();
	if (lock_in(ours, LENGTH(ours), 1, 0))
		return 1;
	execv("/proc/self/exe", args);
	return 1;
}

static int do_runs(char **argv)
{
	(void)argv;
	keep_before();
	use_after();
	return say("done\n");
}

static int do_fails(char **argv)
{
	(void)argv;
	keep_before();
	errno = 0;
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) || errno != EFAULT)
		return 1;
	use_after();
	return say("done\n");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} commands[] = {{"strict", do_strict},     {"filter", do_filter}, {"threads", do_threads}, {"forks", do_forks},
			{"executes", do_executes}, {"runs", do_runs},     {"fails", do_fails}};
	for (size_t i = 0; argc > 1 && i < LENGTH(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argv);
	return 2;
}
