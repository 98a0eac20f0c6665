/* ticks.c: programs that a signal at every tick could disturb, one a command; each prints what it saw.
 *
 * own            sets handlers and masks for SIGURG and SIGPROF, asks for them again, and raises them
 * waits          burns while a thread waits for any signal; prints the one that it got
 * naps MS        burns a little and sleeps a little, in five ways, for MS; prints how many calls ended with EINTR
 * fiber UNITS    burns on a stack of its own making (swapcontext)
 * clones MS      burns in a thread made by clone(), which nobody can know of
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
	} commands[] = {{"own", do_own},     {"waits", do_waits},   {"naps", do_naps},
			{"fiber", do_fiber}, {"clones", do_clones}, {"spawns", do_spawns}};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc > 2 ? argv[2] : "1");
	return 2;
}
