/* early.c: a program that calls everything that is interposed as early as possible, in forked children, and while
 * other threads hold locks of the dynamic loader. Its output is the same however it is recorded. The argument is the
 * number of children forked while another thread allocates; in each the allocator starts anew. */
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "early_calls.h"

#pragma weak early_allocator_forget
int early_library(void);

static int number(void)
{
	return 0;
}

__attribute__((used)) static int (*resolve(void))(void)
{
	early_calls_second("program's resolver");
	return number;
}

static int chosen(void) __attribute__((ifunc("resolve")));

static void before_all(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv, (void)environment;
	early_calls_under("preinit");
	early_calls_outside("preinit");
}

__attribute__((section(".preinit_array"), used)) static void (*const before)(int, char **, char **) = before_all;

__attribute__((constructor)) static void begin(void)
{
	early_calls_under("constructor");
	early_calls_outside("constructor");
}

/* --- children ---------------------------------------------------------------------------------------------------- */

static void end(int way)
{
	if (way == 0)
		_exit(5);
	_Exit(6);
}

static int is_child_well(int way)
{
	int status = 0;
	pid_t child = fork();
	if (!child) {
		if (early_allocator_forget)
			early_allocator_forget();
		free(malloc(1));
		early_calls_under("child");
		early_calls_outside("child");
		end(way);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5 + way;
}

static _Atomic int is_over;

static void *allocate(void *unused)
{
	while (!atomic_load(&is_over)) {
		free(malloc(100));
		early_call(SYS_sched_yield, 0, 0, 0, 0);
	}
	return unused;
}

/* --- the loader's list -------------------------------------------------------------------------------------------- */

static _Atomic int is_held, has_called;

static void *call_all(void *unused)
{
	while (!atomic_load(&is_held))
		early_call(SYS_sched_yield, 0, 0, 0, 0);
	early_calls_under("list of objects held");
	atomic_store(&has_called, 1);
	return unused;
}

/* Waits for calls of other threads while the loader's list is locked. */
static int wait_for_calls(struct dl_phdr_info *info, size_t info_b, void *data)
{
	(void)info, (void)info_b, (void)data;
	atomic_store(&is_held, 1);
	while (!atomic_load(&has_called))
		early_call(SYS_sched_yield, 0, 0, 0, 0);
	return 1;
}

int main(int argc, char **argv)
{
	pthread_t other;
	int is_well = !chosen() && !early_library();
	early_calls_under("main");
	early_calls_outside("main");
	is_well &= is_child_well(0) && is_child_well(1);
	if (pthread_create(&other, NULL, call_all, NULL))
		return 2;
	dl_iterate_phdr(wait_for_calls, NULL);
	pthread_join(other, NULL);
	if (pthread_create(&other, NULL, allocate, NULL))
		return 2;
	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 2); i++)
		is_well &= is_child_well(i % 2);
	atomic_store(&is_over, 1);
	pthread_join(other, NULL);
	early_say(is_well ? "well\n" : "not well\n");
	return is_well ? 3 : 1;
}
