/* stack_limit.c: switches to a mapped stack in the same thread (stack_limit.h). Rejected: a separate thread for the
 * command (ptrace, the parent-death signal and credentials belong to a thread), and executing ourselves with a higher
 * limit, which the hard limit may forbid and which programs would inherit.
 */
#include "util/stack_limit.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define ENOUGH_B ((size_t)2 << 20)
#define GUARD_B ((size_t)64 << 10)

struct call {
	int (*main_function)(int argc, char **argv);
	int argc;
	char **argv;
	int code;
};

static struct call call; /* makecontext() passes only int arguments */

static void run_call(void)
{
	call.code = call.main_function(call.argc, call.argv);
}

static void set_stack_of_threads(void)
{
	pthread_attr_t attributes;
	if (pthread_attr_init(&attributes))
		return;
	if (!pthread_attr_setstacksize(&attributes, ENOUGH_B))
		pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

int sonde_stack_limit_run(int (*main_function)(int argc, char **argv), int argc, char **argv)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= ENOUGH_B)
		return main_function(argc, argv);
	set_stack_of_threads();
	char *stack = mmap(NULL, GUARD_B + ENOUGH_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	ucontext_t before, own;
	if (stack == MAP_FAILED || mprotect(stack, GUARD_B, PROT_NONE) || getcontext(&own))
		return main_function(argc, argv);
	call = (struct call){main_function, argc, argv, 0};
	own.uc_stack.ss_sp = stack + GUARD_B;
	own.uc_stack.ss_size = ENOUGH_B;
	own.uc_link = &before;
	makecontext(&own, run_call, 0);
	if (swapcontext(&before, &own))
		return main_function(argc, argv);
	return call.code; /* the stack stays mapped: other threads may hold addresses of it */
}
