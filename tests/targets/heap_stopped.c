/* heap_stopped.c: the recorder is stopped while the program runs, one scenario per command; prints its name if
 * nothing blocked it for longer than a second, and the recorder continues.
 *
 * connects: a child that is forked meanwhile keeps 100 blocks of 1000 B in child_keeps(), unrecorded.
 *
 * asks OBJECT: loads an object, whose function allocates: 100 calls meanwhile, and 100 when the recorder goes on.
 *
 * exits: a child that is recorded, and keeps the same blocks, ends meanwhile.
 *
 * forks: others stop it, and the recorder with it; 60 such children, one each 20 ms, exit.
 *
 * All keep 100 blocks of 1000 B in after(), and take and give back 20000 in turns() at the end.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"

enum { KEPT = 100, CHILDREN = 60, REST_US = 20000 };

static void *volatile kept[KEPT];
static pid_t recorder;

static double now_s(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

NO_INLINE static void after(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = malloc(1000);
}

NO_INLINE static void child_keeps(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = malloc(1000);
}

static int fork_child(int stops)
{
	int status;
	pid_t pid = fork();
	if (!pid) {
		child_keeps();
		if (stops)
			kill(recorder, SIGSTOP);
		exit(0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int do_connects(char **args)
{
	(void)args;
	return kill(recorder, SIGSTOP) || fork_child(0);
}

static void *(*plugin)(void);

/* The object frees nothing, so that each of its blocks is left. */
static int do_asks(char **args)
{
	void *object = dlopen(args[0], RTLD_NOW);
	plugin = object ? (void *(*)(void))dlsym(object, "plugin_allocates") : NULL;
	if (!plugin || kill(recorder, SIGSTOP))
		return 1;
	for (int i = 0; i < KEPT; i++)
		kept[i] = plugin();
	return 0;
}

static int do_exits(char **args)
{
	(void)args;
	return fork_child(1);
}

static int do_forks(char **args)
{
	(void)args;
	for (int i = 0; i < CHILDREN; i++) {
		if (fork_child(0))
			return 1;
		usleep(REST_US);
	}
	return 0;
}

/* Allocates so often that the thread needs another chunk of its ring. */
NO_INLINE static void turns(void)
{
	for (int i = 0; i < 20000; i++) {
		void *volatile block = malloc(16);
		free(block);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **args);
	} commands[] = {{"connects", do_connects}, {"asks", do_asks}, {"exits", do_exits}, {"forks", do_forks}};
	int code = 2;
	recorder = getppid();
	after();
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		double before_s = now_s();
		code = commands[i].run(argv + 2);
		double passed_s = now_s() - before_s;
		if (commands[i].run != do_forks) {
			code = code || passed_s > 1;
			kill(recorder, SIGCONT);
		}
		if (code)
			fprintf(stderr, "%.1f s\n", passed_s);
	}
	turns();
	for (int i = 0; plugin && i < KEPT; i++)
		kept[i] = plugin();
	puts(code ? "failed" : argv[1]);
	return code;
}
