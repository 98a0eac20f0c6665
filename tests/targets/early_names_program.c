/* early_names_program.c: calls C++ operators and routines of BLAS as early as possible, in a second thread, and in a
 * child forked meanwhile. Its output is the same however it is recorded. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "early_calls.h"
#include "early_names.h"

__attribute__((visibility("default"))) int early_names_library(void);

static int number(void)
{
	return 0;
}

__attribute__((used)) static int (*resolve(void))(void)
{
	early_names("program's resolver");
	return number;
}

static int chosen(void) __attribute__((ifunc("resolve")));

static void before_all(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv, (void)environment;
	early_names("preinit");
}

__attribute__((section(".preinit_array"), used)) static void (*const before)(int, char **, char **) = before_all;

__attribute__((constructor)) static void begin(void)
{
	early_names("constructor");
}

static void *call(void *where)
{
	early_names(where);
	return where;
}

static _Atomic int is_over;

static void *allocate(void *unused)
{
	while (!atomic_load(&is_over))
		free(malloc(100));
	return unused;
}

static int is_child_well(void)
{
	int status = 0;
	pid_t child = fork();
	if (!child) {
		early_names("child");
		_exit(5);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5;
}

int main(void)
{
	pthread_t other;
	int is_well = !chosen() && !early_names_library();
	early_names("main");
	if (pthread_create(&other, NULL, call, "thread") || pthread_join(other, NULL))
		return 2;
	is_well &= is_child_well();
	if (pthread_create(&other, NULL, allocate, NULL))
		return 2;
	for (int i = 0; i < 4; i++)
		is_well &= is_child_well();
	atomic_store(&is_over, 1);
	pthread_join(other, NULL);
	early_say(is_well ? "well\n" : "not well\n");
	return is_well ? 3 : 1;
}
