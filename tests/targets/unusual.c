/* unusual.c: programs that use the system in ways that few do, one a command; each checks itself and prints its name.
 *
 * vfork         200 children by vfork() that execute
 * spawn         100 children by posix_spawn(), with actions and attributes
 * clone3        50 children by clone3()
 * clone_files   a child that shares descriptors, and one that shares memory, by clone()
 * twice         a child that forks and leaves, and its child goes on alone
 * contexts      20 stacks of makecontext() that switch in turn
 * altstack      recursion until the stack overflows; a handler on another stack jumps out, three times
 * huge          400 MB of recursion on a thread's stack of 512 MB
 * own_stack     moves its stack pointer to memory of its own, in system instructions
 * traced        a child that asks to be traced; its parent lets it go on at each stop
 * uring         reads a file by io_uring, where the kernel allows that
 * profiling     SIGPROF and SIGVTALRM by setitimer(), and a POSIX timer, while it computes
 * urgent        SIGURG by out-of-band data, with handler, mask and sigtimedwait()
 * masks         all signals blocked in threads, and what is pending stays so
 * misaligned    calls write(), free() and close() on a stack that is not aligned (x86-64)
 * early         works in a preinit function, a constructor, an ifunc's resolver, a destructor and atexit()
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "no_inline.h"

extern char **environ;

enum { STACK_B = 1 << 18, CONTEXTS = 20, TURNS = 50 };

static int ended_well(pid_t pid)
{
	int status;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

/* --- children --------------------------------------------------------------------------------------------------- */

static char *const shell[] = {"/bin/sh", "-c", "exit 3", NULL};

static int do_vfork(void)
{
	for (int i = 0; i < 200; i++) {
		pid_t pid = vfork();
		if (!pid) {
			execve(shell[0], shell, environ);
			_exit(9);
		}
		if (!ended_well(pid))
			return 1;
	}
	return 0;
}

static int do_spawn(void)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, 5, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	for (int i = 0; i < 100; i++) {
		pid_t pid = -1;
		if (posix_spawn(&pid, shell[0], &actions, &attributes, shell, environ) || !ended_well(pid))
			return 1;
	}
	pid_t none;
	return posix_spawn(&none, "./no/such/program", NULL, NULL, shell, environ) != ENOENT;
}

static int do_clone3(void)
{
	for (int i = 0; i < 50; i++) {
		int pidfd = -1;
		struct clone_args args = {.flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
		pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
		if (!pid) {
			free(malloc(100));
			_exit(3);
		}
		if (pid < 0 && errno == ENOSYS)
			return 0;
		if (!ended_well(pid) || close(pidfd))
			return 1;
	}
	return 0;
}

static volatile int shared;

static int child(void *what)
{
	shared = *(const int *)what;
	free(malloc(100)); /* NOLINT: also where memory is shared, as vfork()'s children may */
	return 3;
}

static int do_clone_files(void)
{
	static const int flags[] = {CLONE_FILES | CLONE_FS | SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD};
	char *stack = mmap(NULL, STACK_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int seven = 7;
	for (int i = 0; i < 20; i++)
		if (!ended_well(clone(child, stack + STACK_B, flags[i % 2], &seven)))
			return 1;
	return shared != 7;
}

static int do_twice(void)
{
	int ends[2];
	char got = 0;
	if (pipe(ends))
		return 1;
	pid_t pid = fork();
	if (!pid) {
		setsid();
		if (fork())
			_exit(3);
		free(malloc(100));
		usleep(20000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	return !ended_well(pid) || read(ends[0], &got, 1) != 1 || got != 'x';
}

/* --- stacks ------------------------------------------------------------------------------------------------------ */

static ucontext_t middle, contexts[CONTEXTS];
static int turns;

static void context(int number)
{
	for (int i = 0; i < TURNS; i++) {
		free(malloc(64));
		turns++;
		swapcontext(&contexts[number], &middle);
	}
}

static int do_contexts(void)
{
	for (int i = 0; i < CONTEXTS; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(STACK_B);
		contexts[i].uc_stack.ss_size = STACK_B;
		contexts[i].uc_link = &middle;
		makecontext(&contexts[i], (void (*)(void))context, 1, i);
	}
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < CONTEXTS; i++)
			swapcontext(&middle, &contexts[i]);
	return turns != CONTEXTS * TURNS;
}

static sigjmp_buf back;
static volatile int overflows;

static void overflowed(int number)
{
	(void)number;
	overflows++;
	siglongjmp(back, 1);
}

NO_INLINE static int deeper(volatile char *above, long levels)
{
	volatile char frame[4000];
	frame[0] = above ? (char)(above[0] + 1) : 0;
	if (levels % 500 == 0)
		free(malloc(32));
	return levels ? deeper(frame, levels - 1) + frame[0] : frame[0];
}

static int do_altstack(void)
{
	stack_t stack = {.ss_sp = malloc(STACK_B), .ss_size = STACK_B};
	struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK};
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(back, 1))
			deeper(NULL, LONG_MAX);
	return overflows != 3;
}

static void *deep(void *unused)
{
	(void)unused;
	deeper(NULL, 100000);
	return NULL;
}

static int do_huge(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)512 << 20);
	return pthread_create(&thread, &attributes, deep, NULL) || pthread_join(thread, NULL);
}

static volatile int ran_there;

static void there(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i));
	usleep(1000);
	ran_there++;
}

static int do_own_stack(void)
{
	char *stack = mmap(NULL, STACK_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#if defined __x86_64__
	for (int i = 0; i < 20; i++) {
		uint64_t top = (uint64_t)(uintptr_t)(stack + STACK_B - 64);
		__asm__ volatile("mov %%rsp, %%rbx\n\tmov %0, %%rsp\n\tcall *%1\n\tmov %%rbx, %%rsp" ::"r"(top),
				 "r"(&there)
				 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	}
#else
	for (int i = 0; i < 20; i++)
		there();
#endif
	return munmap(stack, STACK_B) || ran_there != 20;
}

/* --- the kernel -------------------------------------------------------------------------------------------------- */

static int do_traced(void)
{
	pid_t pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		for (int i = 0; i < 100; i++)
			free(malloc(1000));
		execve(shell[0], shell, environ);
		_exit(9);
	}
	int status, stops = 0;
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int number = WSTOPSIG(status);
		stops++;
		ptrace(PTRACE_CONT, pid, 0, number == SIGSTOP || number == SIGTRAP ? 0 : number);
	}
	return !WIFEXITED(status) || WEXITSTATUS(status) != 3 || stops != 2;
}

static int do_uring(void)
{
	struct io_uring_params params = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		return 0; /* not allowed here */
	size_t sq_b = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
	size_t cq_b = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	char *sq = mmap(NULL, sq_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, cq_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes = mmap(NULL, params.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char bytes[4] = "";
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED || file < 0)
		return 1;
	sqes[0] = (struct io_uring_sqe){
	    .opcode = IORING_OP_READ, .fd = file, .addr = (uintptr_t)bytes, .len = 4, .user_data = 77};
	((uint32_t *)(void *)(sq + params.sq_off.array))[0] = 0;
	__atomic_store_n((uint32_t *)(void *)(sq + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return 1;
	const struct io_uring_cqe *cqe = (const void *)(cq + params.cq_off.cqes);
	return cqe->user_data != 77 || cqe->res != 4 || memcmp(bytes, "\177ELF", 4) != 0;
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t came[NSIG];

static void count(int number)
{
	came[number]++;
}

static int do_profiling(void)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
	sigaction(SIGPROF, &action, NULL);
	sigaction(SIGVTALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	struct itimerval each = {{0, 4000}, {0, 4000}};
	setitimer(ITIMER_PROF, &each, NULL);
	setitimer(ITIMER_VIRTUAL, &each, NULL);
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;
	struct itimerspec period = {{0, 4000000}, {0, 4000000}};
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) || timer_settime(timer, 0, &period, NULL))
		return 1;
	while (came[SIGPROF] < 10 || came[SIGVTALRM] < 10 || came[SIGUSR1] < 10)
		free(malloc(100));
	timer_delete(timer);
	struct itimerval none = {0};
	return setitimer(ITIMER_PROF, &none, NULL) || setitimer(ITIMER_VIRTUAL, &none, NULL);
}

static int do_urgent(void)
{
	int pair[2];
	struct sigaction action = {.sa_handler = count}, before;
	if (sigaction(SIGURG, &action, &before) || before.sa_handler != SIG_DFL || before.sa_flags & SA_SIGINFO)
		return 1;
	(void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	for (int i = 0; i < 5; i++) {
		raise(SIGURG);
		for (volatile int k = 0; k < 3000000; k++)
			;
	}
	if (came[SIGURG] != 5)
		return 1;
	sigset_t urgent, pending;
	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	pthread_sigmask(SIG_BLOCK, &urgent, NULL);
	for (volatile int k = 0; k < 30000000; k++)
		;
	struct timespec none = {0, 1000000};
	if (sigtimedwait(&urgent, NULL, &none) != -1 || errno != EAGAIN)
		return 1;
	kill(getpid(), SIGURG);
	sigpending(&pending);
	return !sigismember(&pending, SIGURG) || sigtimedwait(&urgent, NULL, &none) != SIGURG || came[SIGURG] != 5;
}

static void *masked(void *unused)
{
	sigset_t all, now;
	(void)unused;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 100000; i++)
		free(malloc(100));
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int i = 1; i < SIGRTMIN; i++)
		if (i != SIGKILL && i != SIGSTOP && i < 32 && !sigismember(&now, i))
			return NULL;
	return environ;
}

static int do_masks(void)
{
	pthread_t threads[4];
	int wrong = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, masked, NULL);
	for (int i = 0; i < 4; i++) {
		void *well = NULL;
		pthread_join(threads[i], &well);
		wrong |= !well;
	}
	return wrong;
}

/* --- a stack that is not aligned --------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* Calls `function` with the stack pointer at an odd address. */
static long call_misaligned(void *function, long a, const void *b, long c)
{
	long result;
	__asm__ volatile("mov %%rsp, %%rbx\n\tsub $4096, %%rsp\n\tand $-16, %%rsp\n\tsub $9, %%rsp\n\t"
			 "call *%[function]\n\tmov %%rbx, %%rsp"
			 : "=a"(result), "+D"(a), "+S"(b), "+d"(c)
			 : [function] "r"(function)
			 : "rbx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

static int do_misaligned(void)
{
	void *block = malloc(5000);
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 5000; i++) /* more than fit before the process is connected */
		if (call_misaligned((void *)(uintptr_t)write, fd, "x", 1) != 1) /* NOLINT: a function's address */
			return 1;
	call_misaligned((void *)(uintptr_t)free, (long)block, NULL, 0);     /* NOLINT: a function's address */
	return (int)call_misaligned((void *)(uintptr_t)close, fd, NULL, 0); /* NOLINT: a function's address */
}
#else
static int do_misaligned(void)
{
	return 0;
}
#endif

/* --- before main() and after exit() ------------------------------------------------------------------------------- */

static int preinits, constructors;

static void work(void)
{
	int ends[2];
	free(malloc(1000));
	if (pipe(ends) || write(ends[1], "x", 1) != 1)
		abort();
	close(ends[0]);
	close(ends[1]);
}

static void preinit(void)
{
	work();
	preinits++;
}

__attribute__((section(".preinit_array"), used)) static void (*const at_preinit)(void) = preinit;

__attribute__((constructor)) static void construct(void)
{
	work();
	constructors++;
}

__attribute__((destructor)) static void destruct(void)
{
	work();
}

static int one(void)
{
	return 1;
}

__attribute__((used)) static int (*resolve(void))(void)
{
	return one;
}

int unusual_resolved(void) __attribute__((ifunc("resolve")));

static void at_exit(void)
{
	work();
	pid_t pid = fork();
	if (!pid)
		_exit(3);
	const char *said = ended_well(pid) ? "left\n" : "lost\n";
	if (write(STDOUT_FILENO, said, strlen(said)) < 0)
		_exit(9);
}

static int do_early(void)
{
	atexit(at_exit);
	return preinits != 1 || constructors != 1 || unusual_resolved() != 1;
}

static const struct {
	const char *name;
	int (*run)(void);
} commands[] = {
    {"vfork", do_vfork},         {"spawn", do_spawn},       {"clone3", do_clone3},     {"clone_files", do_clone_files},
    {"twice", do_twice},         {"contexts", do_contexts}, {"altstack", do_altstack}, {"huge", do_huge},
    {"own_stack", do_own_stack}, {"traced", do_traced},     {"uring", do_uring},       {"profiling", do_profiling},
    {"urgent", do_urgent},       {"masks", do_masks},       {"early", do_early},       {"misaligned", do_misaligned},
};

int main(int argument_count, char **arguments)
{
	for (size_t i = 0; argument_count > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(arguments[1], commands[i].name)) {
			int code = commands[i].run();
			puts(code ? "failed" : arguments[1]);
			fflush(stdout);
			return code;
		}
	return 2;
}
