/* ticks.c: programs that a signal at every tick could disturb, one per command; each prints what it observed.
 *
 * own            sets handlers and masks for SIGURG and SIGPROF, queries them, and raises the signals
 * urgent         blocks SIGURG and gets it by sigpending(), sigtimedwait(), signalfd(), and finally by its handler,
 *                which is for once, or blocks other signals, or does not even block its own; burns in between
 * small BYTES    a handler burns on an alternate stack of that size, with a page behind it that may not be touched
 * waits          burns while a thread waits for any signal; prints the signal that the thread got
 * naps MS        burns a little and sleeps a little, in five ways, for MS; prints how many calls ended with EINTR
 * fiber UNITS    burns on a stack of its own making (swapcontext)
 * clones MS      burns in a thread made by clone(), of which nobody can know
 * spawns         vfork, posix_spawn and system, whose children fail or succeed; prints their statuses
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "burn.h"

extern char **environ;
static volatile sig_atomic_t urgent, profiled;

static void on_urgent(int number)
{
	urgent += number == SIGURG;
}

static void on_urgent_with(int number, siginfo_t *info, void *context)
{
	(void)context;
	urgent += number == SIGURG && info->si_code == SI_TKILL;
}

static void on_profile(int number)
{
	profiled += number == SIGPROF;
}

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void burn_ms(uint64_t ms)
{
	for (uint64_t end = now_ms() + ms; now_ms() < end;)
		burn(1000);
}

static int do_own(const char *arg)
{
	(void)arg;
	struct sigaction action = {.sa_handler = on_urgent, .sa_flags = SA_RESTART}, said;
	sigset_t mask, before;
	sigaction(SIGURG, NULL, &said);
	printf("at first %d\n", said.sa_handler == SIG_DFL);
	sigaction(SIGURG, &action, NULL);
	burn_ms(50);
	printf("quiet %d\n", urgent == 0);
	raise(SIGURG);
	sigaction(SIGURG, NULL, &said);
	printf("raised %d, told %d %d\n", (int)urgent, said.sa_handler == on_urgent, said.sa_flags & SA_SIGINFO);
	printf("signal() told %d\n", signal(SIGURG, SIG_IGN) == on_urgent);
	raise(SIGURG);
	printf("ignored %d, told %d\n", (int)urgent, signal(SIGURG, SIG_DFL) == SIG_IGN);
	action = (struct sigaction){.sa_handler = SIG_IGN, .sa_flags = SA_SIGINFO};
	sigaction(SIGURG, &action, NULL);
	raise(SIGURG);
	action = (struct sigaction){.sa_sigaction = on_urgent_with, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};
	sigaction(SIGURG, &action, NULL);
	raise(SIGURG);
	raise(SIGURG);
	printf("with information %d\n", (int)urgent);
	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, &before);
	printf("unblocked %d", !sigismember(&before, SIGURG));
	pthread_sigmask(SIG_SETMASK, &before, &mask);
	printf(" blocked %d\n", sigismember(&mask, SIGURG));
	struct itimerval every = {{0, 10000}, {0, 10000}};
	signal(SIGPROF, on_profile);
	setitimer(ITIMER_PROF, &every, NULL);
	burn_ms(300);
	printf("profiled %d\n", profiled > 3);
	return 0;
}

static volatile sig_atomic_t depth, deepest, others;

static void on_nested(int number)
{
	sigset_t mask;
	(void)number;
	depth++;
	deepest = depth > deepest ? depth : deepest;
	urgent++;
	if (urgent < 3)
		raise(SIGURG);
	burn_ms(20);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	others += sigismember(&mask, SIGUSR2);
	depth--;
}

static void get_urgent(const char *how, int flags)
{
	struct sigaction action = {.sa_handler = on_nested, .sa_flags = flags}, said;
	sigset_t mask;
	sigaddset(&action.sa_mask, SIGUSR2);
	urgent = depth = deepest = others = 0;
	sigaction(SIGURG, &action, NULL);
	raise(SIGURG);
	burn_ms(20);
	sigaction(SIGURG, NULL, &said);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("%s: %d times, %d deep, %d with others blocked; then handler %d, blocked %d %d\n", how, (int)urgent,
	       (int)deepest, (int)others, said.sa_handler == on_nested, sigismember(&mask, SIGURG),
	       sigismember(&mask, SIGUSR2));
}

static int do_urgent(const char *arg)
{
	struct sigaction action = {.sa_handler = on_urgent};
	struct timespec second = {1, 0};
	struct signalfd_siginfo read_info;
	sigset_t only, pending;
	siginfo_t info;
	(void)arg;
	sigaction(SIGURG, &action, NULL);
	sigemptyset(&only);
	sigaddset(&only, SIGURG);
	for (int round = 0; round < 2; round++) {
		sigprocmask(SIG_BLOCK, &only, NULL);
		burn_ms(30);
		kill(getpid(), SIGURG);
		burn_ms(30);
		sigpending(&pending);
		printf("pending %d, handled %d\n", sigismember(&pending, SIGURG), (int)urgent);
		printf("waited %d", sigtimedwait(&only, &info, &second));
		printf(" from %d\n", info.si_pid == getpid());
		raise(SIGURG);
		int fd = signalfd(-1, &only, SFD_NONBLOCK);
		burn_ms(30);
		printf("read %d\n", read(fd, &read_info, sizeof read_info) == sizeof read_info);
		close(fd);
		raise(SIGURG);
		sigprocmask(SIG_UNBLOCK, &only, NULL);
		printf("handled %d\n", (int)urgent);
		burn_ms(30);
	}
	get_urgent("plain", 0);
	get_urgent("for once", (int)SA_RESETHAND);
	get_urgent("not deferred", SA_NODEFER);
	return 0;
}

static void on_small(int number)
{
	(void)number;
	burn_ms(150);
}

static int do_small(const char *arg)
{
	size_t size_b = (size_t)atol(arg), guard_b = 4096;
	char *capacity = mmap(NULL, guard_b + size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = capacity + guard_b, .ss_size = size_b};
	struct sigaction action = {.sa_handler = on_small, .sa_flags = SA_ONSTACK}, said;
	mprotect(capacity, guard_b, PROT_NONE);
	printf("stack %d\n", sigaltstack(&stack, NULL));
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR1, NULL, &said);
	printf("blocks %d\n", sigismember(&said.sa_mask, SIGURG));
	burn_ms(50);
	raise(SIGUSR1);
	burn_ms(50);
	puts("back");
	return 0;
}

static void *wait_for_any(void *unused)
{
	sigset_t all;
	int number = 0;
	sigfillset(&all);
	sigwait(&all, &number);
	printf("got %d\n", number);
	return unused;
}

static int do_waits(const char *arg)
{
	(void)arg;
	sigset_t all;
	pthread_t waiter;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_create(&waiter, NULL, wait_for_any, NULL);
	burn_ms(200);
	kill(getpid(), SIGUSR1);
	return pthread_join(waiter, NULL);
}

static int nap(int way, int epoll_fd)
{
	struct timespec little = {0, 20000};
	struct timeval tiny = {0, 20};
	struct epoll_event event;
	switch (way) {
	case 0:
		return nanosleep(&little, NULL);
	case 1:
		return poll(NULL, 0, 1);
	case 2:
		return select(0, NULL, NULL, NULL, &tiny);
	case 3:
		return epoll_wait(epoll_fd, &event, 1, 1);
	default:
		errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &little, NULL);
		return errno ? -1 : 0;
	}
}

static int do_naps(const char *arg)
{
	int interrupted = 0, epoll_fd = epoll_create1(0);
	uint64_t end = now_ms() + (uint64_t)atol(arg);
	for (int i = 0; now_ms() < end; i++)
		for (int way = 0; way < 5; way++)
			interrupted += nap(way, epoll_fd) < 0 && errno == EINTR;
	printf("interrupted %d\n", interrupted);
	return 0;
}

static ucontext_t outside, inside;
static long units;

__attribute__((noinline)) static void in_fiber(void)
{
	burn(units * BURN_UNIT);
}

static int do_fiber(const char *arg)
{
	size_t stack_b = 256 << 10;
	units = atol(arg);
	getcontext(&inside);
	inside.uc_stack.ss_sp = mmap(NULL, stack_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inside.uc_stack.ss_size = stack_b;
	inside.uc_link = &outside;
	makecontext(&inside, in_fiber, 0);
	swapcontext(&outside, &inside);
	puts("back");
	return 0;
}

static int cloned(void *arg)
{
	for (uint64_t i = 0; i < 4000ull * *(uint64_t *)arg; i++)
		burn(100);
	return 0;
}

static int do_clones(const char *arg)
{
	size_t stack_b = 256 << 10;
	uint64_t ms = (uint64_t)atol(arg);
	char *stack = mmap(NULL, stack_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	clone(cloned, stack + stack_b, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, &ms);
	burn_ms(ms);
	return 0;
}

static int do_spawns(const char *arg)
{
	(void)arg;
	char *const yes[] = {"true", NULL};
	int status = 0;
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/nowhere", "nowhere", NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("vfork %d\n", WEXITSTATUS(status));
	posix_spawnp(&pid, "true", NULL, NULL, yes, environ);
	waitpid(pid, &status, 0);
	printf("spawn %d\n", WEXITSTATUS(status));
	printf("system %d\n", WEXITSTATUS(system("exit 3")));
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(5);
	waitpid(pid, &status, 0);
	printf("fork %d\n", WEXITSTATUS(status));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *arg);
	} commands[] = {{"own", do_own},   {"urgent", do_urgent}, {"small", do_small},   {"waits", do_waits},
			{"naps", do_naps}, {"fiber", do_fiber},   {"clones", do_clones}, {"spawns", do_spawns}};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc > 2 ? argv[2] : "1");
	return 2;
}
