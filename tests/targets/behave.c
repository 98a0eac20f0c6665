/* behave.c: programs that must not notice that they are recorded, one per command. Plain C, also built by other
 * compilers.
 *
 * closes                closes every descriptor but 1 and 2, opens some of its own, and works on
 * clears                clears its environment and execs itself
 * dies SIGNAL           kills itself
 * ignores               ignores SIGINT, says "ready", and ends by itself after 1.5 s
 * counts                says "ready", counts the SIGINTs that it gets for a second, and prints their number
 * sleepers THREADS MS   threads sleep in several ways; prints how many calls ended with EINTR (and, on descriptor 3 if
 *                       there is one, the CPU time in µs and the number of voluntary context switches)
 * facts                 prints what a program can see of itself: arguments, signals, limits, descriptors, its
 *                       parent's death
 * waits                 says "ready" and sleeps until it is killed
 * beats FILE            writes a byte to FILE every 10 ms, 300 times, and burns CPU time in between
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

static int do_closes(char **args)
{
	(void)args;
	for (int fd = 0; fd < 1024; fd++)
		if (fd != 1 && fd != 2)
			close(fd);
	int sum = 0;
	for (int i = 0; i < 100; i++)
		sum += open("/dev/null", O_RDWR);
	for (int i = 0; i < 500; i++)
		burn(BURN_UNIT);
	char byte = 'x';
	for (int fd = 3; fd < 100; fd++)
		if (write(fd, &byte, 1) != 1)
			return 1;
	printf("%d\n", sum);
	return 0;
}

static int do_clears(char **args)
{
	(void)args;
	static char *none[] = {NULL};
	static char self[] = "/proc/self/exe", name[] = "behave", facts[] = "facts";
	char *again[] = {name, facts, NULL};
	for (int i = 0; i < 200; i++)
		burn(BURN_UNIT);
	execve(self, again, none);
	return 1;
}

static int do_dies(char **args)
{
	for (int i = 0; i < 50; i++)
		burn(BURN_UNIT);
	signal(atoi(args[0]), SIG_DFL);
	raise(atoi(args[0]));
	return 1;
}

static void rest(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static volatile sig_atomic_t got;

static void on_signal(int number)
{
	(void)number;
	got = got + 1;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static int do_ignores(char **args)
{
	(void)args;
	signal(SIGINT, SIG_IGN);
	say_ready();
	rest(1500);
	puts("ended by itself");
	return 7;
}

static int do_counts(char **args)
{
	(void)args;
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	say_ready();
	rest(1000);
	printf("%d\n", (int)got);
	return 0;
}

static int do_waits(char **args)
{
	(void)args;
	say_ready();
	while (!got)
		rest(1000);
	return 0;
}

static int do_beats(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CREAT | O_APPEND, 0600);
	for (int i = 0; i < 300; i++) {
		if (write(fd, "x", 1) != 1)
			return 1;
		for (int k = 0; k < 5; k++)
			burn(BURN_UNIT);
		rest(10);
	}
	return 0;
}

/* --- sleeping -------------------------------------------------------------------------------------------- */

static long sleep_ms, interrupted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t nothing;

static void note(int is_eintr)
{
	if (is_eintr)
		__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
}

static struct timespec later(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += sleep_ms / 1000;
	until.tv_nsec += sleep_ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return until;
}

static void *sleeper(void *way)
{
	struct timespec dur = {sleep_ms / 1000, sleep_ms % 1000 * 1000000}, until = later();
	switch ((intptr_t)way % 4) {
	case 0:
		note(nanosleep(&dur, NULL) && errno == EINTR);
		break;
	case 1:
		note(poll(NULL, 0, (int)sleep_ms) < 0 && errno == EINTR);
		break;
	case 2:
		note(sem_timedwait(&nothing, &until) && errno == EINTR);
		break;
	default:
		pthread_mutex_lock(&lock);
		pthread_cond_timedwait(&never, &lock, &until);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static long cpu_us(const struct rusage *usage)
{
	return (long)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 + (long)usage->ru_utime.tv_usec +
	       (long)usage->ru_stime.tv_usec;
}

static int do_sleepers(char **args)
{
	static pthread_t ids[1000];
	long count = atol(args[0]);
	sleep_ms = atol(args[1]);
	sem_init(&nothing, 0, 0);
	for (long i = 0; i < count && i < 1000; i++)
		if (pthread_create(&ids[i], NULL, sleeper, (void *)(intptr_t)i))
			return 1;
	rest(sleep_ms / 4);
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	rest(sleep_ms / 2);
	getrusage(RUSAGE_SELF, &after);
	for (long i = 0; i < count && i < 1000; i++)
		pthread_join(ids[i], NULL);
	printf("%ld EINTR\n", interrupted);
	dprintf(3, "%ld %ld\n", cpu_us(&after) - cpu_us(&before),
		after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
	return 0;
}

/* --- what a program can see ------------------------------------------------------------------------------ */

static int do_facts(char **args)
{
	(void)args;
	sigset_t blocked;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		sigaction(number, NULL, &action);
		int kind = action.sa_handler == SIG_DFL ? 0 : action.sa_handler == SIG_IGN ? 1 : 2;
		if (kind || sigismember(&blocked, number) == 1)
			printf("signal %d: %d %d\n", number, kind, sigismember(&blocked, number));
	}
	for (unsigned limit = 0; limit < 16; limit++) {
		uint64_t values[2];
		if (!syscall(SYS_prlimit64, 0, limit, NULL, values))
			printf("limit %u: %llx %llx\n", limit, (unsigned long long)values[0],
			       (unsigned long long)values[1]);
	}
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d: %d\n", fd, fcntl(fd, F_GETFD));
	struct itimerval timer = {{0, 0}, {0, 0}};
	printf("umask %o, nice %d, timers %d %d\n", (unsigned)umask(022), getpriority(PRIO_PROCESS, 0),
	       getitimer(ITIMER_REAL, &timer) || timer.it_value.tv_sec, getitimer(ITIMER_PROF, &timer));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **args);
		int args;
	} commands[] = {
	    {"closes", do_closes, 0},     {"clears", do_clears, 0}, {"dies", do_dies, 1},
	    {"ignores", do_ignores, 0},   {"counts", do_counts, 0}, {"facts", do_facts, 0},
	    {"sleepers", do_sleepers, 2}, {"waits", do_waits, 0},   {"beats", do_beats, 1},
	};
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name) && argc == commands[i].args + 2)
			return commands[i].run(argv + 2);
	return 2;
}
