/* test_unsampled.c: processes that use CPU time without being sampled are found among many that do not. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "source/target/unsampled.h"

#define CHILDREN_B 4096u /* a list of children longer than this was once cut off */
#define LIST_MAX 4096u   /* processes that one walk visits */
#define BUSY_NS 60000000 /* several ticks */
#define STACK_B 8192u

/* The children of this process, idle but for the last. They share its memory, so that thousands are cheap. */
static struct {
	pid_t pids[LIST_MAX + 1];
	size_t count;
	char (*stacks)[STACK_B];
} idle;

/* Called through pointers: the dynamic loader, which would find them at the first call, is not for shared memory. */
static int (*volatile const set_process)(int option, ...) = prctl;
static int (*volatile const wait_signal)(void) = pause;

static int wait_idle(void *unused)
{
	(void)unused;
	set_process(PR_SET_PDEATHSIG, SIGKILL);
	while (wait_signal())
		;
	return 0;
}

static int start_idle(size_t count)
{
	idle.stacks = calloc(count, STACK_B);
	assert_non_null(idle.stacks);
	for (idle.count = 0; idle.count < count; idle.count++) {
		idle.pids[idle.count] = clone(wait_idle, idle.stacks[idle.count] + STACK_B, CLONE_VM | SIGCHLD, NULL);
		if (idle.pids[idle.count] < 0)
			return -1;
	}
	return 0;
}

static void end_idle(void)
{
	for (size_t i = 0; i < idle.count; i++)
		kill(idle.pids[i], SIGKILL);
	for (size_t i = 0; i < idle.count; i++)
		waitpid(idle.pids[i], NULL, 0);
	idle.count = 0;
	free(idle.stacks);
}

/* A child with this name that has used several ticks of CPU time, and is idle now. */
static pid_t start_busy(const char *name)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (!pid) {
		struct timespec used = {0};
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		while (used.tv_sec * 1000000000 + used.tv_nsec < BUSY_NS)
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
		if (write(ready[1], "", 1) == 1)
			wait_idle(NULL);
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static int knows_root_only(void *context, pid_t pid, pid_t tid)
{
	(void)context, (void)tid;
	return pid == getpid();
}

/* What is reported of the children of this process: so many idle ones, then a busy one. */
static void find_last_of(size_t count, struct sonde_detail *out)
{
	struct sonde_unsampled *unsampled = NULL;
	if (start_idle(count)) {
		end_idle();
		skip();
	}
	pid_t busy = start_busy("late child");
	assert_int_equal(sonde_unsampled_new(&unsampled, knows_root_only, NULL), 0);
	sonde_unsampled_poll(unsampled, getpid(), UINT64_C(1000000000));
	sonde_unsampled_poll(unsampled, getpid(), UINT64_C(2000000000)); /* counts nothing twice */
	sonde_unsampled_say(unsampled, out);
	sonde_unsampled_free(unsampled);
	kill(busy, SIGKILL);
	waitpid(busy, NULL, 0);
	end_idle();
}

static void the_last_of_many_children_is_found(void **state)
{
	(void)state;
	struct sonde_detail found = {0};
	find_last_of(CHILDREN_B / sizeof("12") + 1, &found);
	assert_non_null(strstr(found.text, "1 process was not sampled (late child): "));
	assert_null(strstr(found.text, "only"));
}

static void a_walk_that_stops_early_says_so(void **state)
{
	(void)state;
	struct sonde_detail found = {0};
	find_last_of(LIST_MAX, &found);
	assert_string_equal(found.text, "only 4096 processes at a time were checked for missing samples");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_of_many_children_is_found),
	    cmocka_unit_test(a_walk_that_stops_early_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
