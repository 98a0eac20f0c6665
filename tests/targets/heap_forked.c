/* heap_forked.c: forks when little is known about the process, one per command; prints its name if all went well.
 *
 * vforks: a child whose own child shares its memory (vfork) allocates first in it, and ends; then the child keeps 100
 * blocks of 1000 B in child_keeps().
 *
 * lines: 60 children, each the last one's, which take and give back 4 MB; what address space grows by from the first to
 * the last is less than 32 MB.
 *
 * clock: forbids itself the cycle counter between 100 blocks of 1000 B in after(), and 20000 in turns().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "no_inline.h"

#ifndef PR_SET_TSC
#define PR_SET_TSC 26
#define PR_TSC_SIGSEGV 2
#endif

enum { KEPT = 100, LINE = 60, LINE_GROWS_KB = 32768, TURNS = 20000 };

static void *volatile kept[KEPT];
static void *volatile last;

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

NO_INLINE static void turns(void)
{
	for (int i = 0; i < TURNS; i++) {
		last = malloc(16);
		free(last);
	}
}

static int wait_for(pid_t pid)
{
	int status;
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

/* A child of vfork() may allocate before it executes a program: execvp() did. */
static int do_vforks(char **args)
{
	(void)args;
	pid_t pid = fork();
	if (pid)
		return wait_for(pid);
	pid_t inner = vfork();
	if (!inner) {
		last = malloc(50);
		free(last);
		_exit(0);
	}
	int code = wait_for(inner);
	usleep(100000); /* by then, the end of the process that was mistaken for this one was seen */
	child_keeps();
	exit(code);
}

static long size_kb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file && fscanf(file, "%ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Each child frees what it allocated, so that the next one inherits nothing from it. */
static int do_lines(char **args)
{
	(void)args;
	long first_kb = 0;
	for (int i = 0; i < LINE; i++) {
		void *volatile block = malloc(4 << 20);
		free(block);
		long now_kb = size_kb();
		first_kb = first_kb ? first_kb : now_kb;
		if (i == LINE - 1)
			_exit(!first_kb || now_kb - first_kb > LINE_GROWS_KB);
		pid_t pid = fork();
		if (pid) {
			int code = wait_for(pid);
			if (i)
				_exit(code);
			return code;
		}
	}
	return 1;
}

static int do_clock(char **args)
{
	(void)args;
	after();
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	turns();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **args);
	} commands[] = {{"vforks", do_vforks}, {"lines", do_lines}, {"clock", do_clock}};
	int code = 2;
	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(argv[1], commands[i].name))
			code = commands[i].run(argv + 2);
	puts(code ? "failed" : argv[1]);
	return code;
}
