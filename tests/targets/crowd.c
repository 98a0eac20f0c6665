/* crowd.c: many threads and processes with known names, loads and numbers, one per command.
 *
 * threads COUNT UNITS   thread i is called wIII and burns (i % 4 + 1) × UNITS units of work
 * clocks COUNT UNITS    the same; prints each thread's name, and the CPU time in ns that its clock showed at its end
 * processes COUNT       forks and reaps COUNT children that end at once
 * family UNITS          main, a child, the child's child, and a program that the latter execs burn 1, 2, 3 and
 *                       4 × UNITS
 * exec UNITS            burns UNITS, then becomes "crowd became UNITS", which burns three times as much, in one pid
 * steady SECONDS        two threads, main and "helper", burn for SECONDS of wall time; starts a thread "latecomer"
 *                       half-way
 * named SECONDS         burns, renamed by prctl to "renamed"
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

static char *self;
static long units;

__attribute__((noinline)) void work(long amount)
{
	burn(amount * BURN_UNIT);
	no_tail_call();
}

static unsigned long long worker_ns[1000];

static void *worker(void *index)
{
	long i = (long)(intptr_t)index;
	char name[16];
	struct timespec clock;
	snprintf(name, sizeof name, "w%03ld", i);
	pthread_setname_np(pthread_self(), name);
	work((i % 4 + 1) * units);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &clock);
	worker_ns[i] = (unsigned long long)clock.tv_sec * 1000000000u + (unsigned long long)clock.tv_nsec;
	return NULL;
}

static int do_threads(char **args)
{
	static pthread_t ids[1000];
	long count = atol(args[0]);
	units = atol(args[1]);
	if (count > 1000)
		return 2;
	for (long i = 0; i < count; i++)
		if (pthread_create(&ids[i], NULL, worker, (void *)(intptr_t)i))
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static int do_clocks(char **args)
{
	int code = do_threads(args);
	for (long i = 0; !code && i < atol(args[0]); i++)
		printf("w%03ld %llu\n", i, worker_ns[i]);
	return code;
}

static int do_processes(char **args)
{
	for (long left = atol(args[0]); left > 0; left--) {
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

__attribute__((noinline)) void first(void)
{
	work(units);
	no_tail_call();
}

__attribute__((noinline)) void second(void)
{
	work(2 * units);
	no_tail_call();
}

__attribute__((noinline)) void third(void)
{
	work(3 * units);
	no_tail_call();
}

__attribute__((noinline)) void fourth(void)
{
	work(4 * units);
	no_tail_call();
}

static int reap(pid_t pid)
{
	int status;
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int do_family(char **args)
{
	units = atol(args[0]);
	pid_t child = fork();
	if (!child) {
		second();
		pid_t grandchild = fork();
		if (!grandchild) {
			third();
			pid_t last = fork();
			if (!last) {
				execl(self, "crowd", "last", args[0], NULL);
				_exit(127);
			}
			_exit(reap(last) != 0);
		}
		_exit(reap(grandchild) != 0);
	}
	first();
	return reap(child) != 0;
}

static int do_last(char **args)
{
	units = atol(args[0]);
	fourth();
	return 0;
}

static int do_exec(char **args)
{
	units = atol(args[0]);
	first();
	execl(self, "crowd", "became", args[0], NULL);
	return 1;
}

static int do_became(char **args)
{
	units = atol(args[0]);
	third();
	return 0;
}

static double stop_at;

static double wall(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *helper(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (wall() < stop_at)
		work(1);
	return NULL;
}

static int do_steady(char **args)
{
	static char name[] = "helper", late[] = "latecomer";
	pthread_t ids[2];
	double seconds = atof(args[0]), half = wall() + seconds / 2;
	stop_at = half + seconds / 2;
	pthread_create(&ids[0], NULL, helper, name);
	while (wall() < half)
		work(1);
	pthread_create(&ids[1], NULL, helper, late);
	while (wall() < stop_at)
		work(1);
	pthread_join(ids[0], NULL);
	pthread_join(ids[1], NULL);
	puts("steady to the end");
	return 0;
}

static int do_named(char **args)
{
	prctl(PR_SET_NAME, "renamed");
	while ((double)thread_cpu_ns() < atof(args[0]) * 1e9)
		work(1);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **args);
		int args;
	} commands[] = {
	    {"threads", do_threads, 2}, {"clocks", do_clocks, 2}, {"processes", do_processes, 1},
	    {"family", do_family, 1},   {"last", do_last, 1},     {"exec", do_exec, 1},
	    {"became", do_became, 1},   {"steady", do_steady, 1}, {"named", do_named, 1},
	};
	static char path[] = "/proc/self/exe";
	self = path;
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name) && argc == commands[i].args + 2)
			return commands[i].run(argv + 2);
	return 2;
}
