/* stacks.c: stacks of a known shape, one per command: recursion, inlined functions, depth, large frames, alloca,
 * signal handlers.
 *
 * stacks SHAPE SECONDS: burns SECONDS of CPU time at the leaf of the shape.
 */
#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "burn.h"

static uint64_t run_ns;

static int is_over(void)
{
	return thread_cpu_ns() >= run_ns;
}

__attribute__((noinline)) void leaf(void)
{
	burn(BURN_UNIT);
}

static void leaves(void)
{
	while (!is_over())
		leaf();
}

/* --- recursion ---------------------------------------------------------------------------------------------------- */

__attribute__((noinline)) void descend(int depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		leaf();
	no_tail_call();
}

__attribute__((noinline)) void pong(int depth);

__attribute__((noinline)) void ping(int depth)
{
	if (depth)
		pong(depth - 1);
	else
		leaf();
	no_tail_call();
}

void pong(int depth)
{
	ping(depth);
	no_tail_call();
}

/* Gives descend three times the work of ping and pong together. */
static void recursion(void)
{
	while (!is_over()) {
		for (int i = 0; i < 3; i++)
			descend(40);
		ping(20);
	}
}

static void deep(void)
{
	while (!is_over())
		descend(500);
}

static void bottomless(void)
{
	while (!is_over())
		descend(5000);
}

/* --- inlined functions -------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void innermost(long rounds)
{
	burn(rounds);
}

static inline __attribute__((always_inline)) void middle(long rounds)
{
	innermost(rounds);
}

__attribute__((noinline)) void outer_three(void)
{
	middle(3 * BURN_UNIT / 4); /* three quarters */
}

__attribute__((noinline)) void outer_one(void)
{
	middle(BURN_UNIT / 4); /* one quarter */
}

static void inlined(void)
{
	while (!is_over()) {
		outer_three();
		outer_one();
	}
}

/* --- frames larger than a copy of the stack ----------------------------------------------------------------------- */

#define FILL(name, size_b, inner)                       \
	__attribute__((noinline)) void name(void)       \
	{                                               \
		volatile char capacity[size_b];         \
		capacity[0] = capacity[(size_b)-1] = 1; \
		inner();                                \
		capacity[1] = capacity[0];              \
	}

FILL(large_3, 12 << 10, leaves)
FILL(large_2, 12 << 10, large_3)
FILL(large_1, 12 << 10, large_2)
FILL(huge_2, 70 << 10, leaves)
FILL(huge_1, 70 << 10, huge_2)

/* Its frame is as large as the caller requests, different in each call. */
__attribute__((noinline)) void varying(size_t size_b, int depth)
{
	volatile char *capacity = alloca(size_b);
	capacity[0] = capacity[size_b - 1] = 1;
	if (depth > 1)
		varying(size_b * 3 % 8191 + 16, depth - 1);
	else
		leaf();
	capacity[0] = 2;
}

static void varied(void)
{
	for (size_t size_b = 16; !is_over(); size_b = size_b * 5 % 4099 + 16)
		varying(size_b, 8);
}

/* --- signal handlers ---------------------------------------------------------------------------------------------- */

static int handler_leaves = 1;

static void handler(int number)
{
	(void)number;
	for (int i = 0; i < handler_leaves; i++)
		leaf();
}

__attribute__((noinline)) void interrupted(void)
{
	raise(SIGUSR1);
	no_tail_call();
}

static void handle(int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	sigaction(SIGUSR1, &action, NULL);
	while (!is_over())
		interrupted();
}

static void signals(void)
{
	handle(0);
}

/* Burns in a handler on another stack. The main stack is read from the running process, so the handler must run longer
 * than reading it takes. */
static void signals_elsewhere(void)
{
	static char capacity[64 << 10];
	stack_t stack = {.ss_sp = capacity, .ss_size = sizeof capacity};
	sigaltstack(&stack, NULL);
	handler_leaves = 200;
	handle(SA_ONSTACK);
}

/* The timer interrupts victim() at any instruction, also of its prologue. */
__attribute__((noinline)) void victim(long rounds)
{
	burn(rounds);
	no_tail_call();
}

static void any_time(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 1000}, {0, 1000}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (!is_over())
		for (int i = 0; i < 10000; i++)
			victim(10);
}

/* A coroutine: its first function returns to where makecontext() laid it. */
static ucontext_t outside, inside;

__attribute__((noinline)) static void coroutine(void)
{
	while (!is_over()) {
		leaf();
		swapcontext(&inside, &outside);
	}
}

static void contexts(void)
{
	static char capacity[256 << 10];
	getcontext(&inside);
	inside.uc_stack.ss_sp = capacity;
	inside.uc_stack.ss_size = sizeof capacity;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	while (!is_over())
		swapcontext(&outside, &inside);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} shapes[] = {
	    {"recursion", recursion}, {"deep", deep},         {"bottomless", bottomless},
	    {"inlined", inlined},     {"large", large_1},     {"huge", huge_1},
	    {"alloca", varied},       {"signals", signals},   {"signals-elsewhere", signals_elsewhere},
	    {"any-time", any_time},   {"contexts", contexts},
	};
	run_ns = argc > 2 ? (uint64_t)(atof(argv[2]) * 1e9) : 0;
	for (size_t i = 0; argc > 2 && i < sizeof shapes / sizeof *shapes; i++) {
		if (!strcmp(argv[1], shapes[i].name)) {
			shapes[i].run();
			return 0;
		}
	}
	return 2;
}
