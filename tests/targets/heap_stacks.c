/* heap_stacks.c: allocates at the ends of deep stacks of all sizes; one call site per kind of thread, 10 blocks of 1000
 * bytes each.
 *
 * in_small       a thread with a stack of 64 KiB, 300 frames of 128 bytes
 * in_large       one of 256 MiB, 300 frames of 640 KiB
 * in_given       one whose stack is the program's own memory, with something unreadable on either side
 * in_unseen      one that the C library makes by itself, for a timer
 * in_coroutine   a stack below that of the thread that runs on it, with something unreadable between
 * in_main        the program's first thread, 300 frames
 */
#include <alloca.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "no_inline.h"

#define BLOCKS 10
#define BLOCK_B 1000
#define FRAMES 300
#define PAGE_B 4096u
#define SMALL_B (64u << 10)
#define LARGE_B (256u << 20)
#define GIVEN_B (128u << 10)

static void *volatile kept[64];
static _Atomic unsigned used;

#define PLACE(name)                                          \
	NO_INLINE static void name(void)                     \
	{                                                    \
		for (int i = 0; i < BLOCKS; i++)             \
			kept[used++ % 64] = malloc(BLOCK_B); \
	}
PLACE(in_small)
PLACE(in_large)
PLACE(in_given)
PLACE(in_unseen)
PLACE(in_coroutine)
PLACE(in_main)

/* Calls itself `left` times, with frames of `frame_b` bytes, and then `place`. */
NO_INLINE static int deep(int left, size_t frame_b, void (*place)(void))
{
	volatile char *space = alloca(frame_b);
	space[0] = 1;
	if (left > 0)
		return deep(left - 1, frame_b, place) + space[0];
	place();
	return space[0];
}

static void *run_small(void *unused)
{
	deep(FRAMES, 64, in_small);
	return unused;
}

static void *run_large(void *unused)
{
	deep(FRAMES, 640u << 10, in_large);
	return unused;
}

static void *run_given(void *unused)
{
	deep(FRAMES, 64, in_given);
	return unused;
}

static sem_t done;

static void on_timer(union sigval unused)
{
	(void)unused;
	deep(FRAMES, 64, in_unseen);
	sem_post(&done);
}

static int run(void *(*start)(void *), const pthread_attr_t *attr)
{
	pthread_t id;
	return pthread_create(&id, attr, start, NULL) || pthread_join(id, NULL);
}

static int run_sized(void *(*start)(void *), size_t size_b)
{
	pthread_attr_t attr;
	return pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, size_b) || run(start, &attr);
}

/* Maps `size_b` usable bytes between two inaccessible regions. */
static char *map_fenced(size_t size_b)
{
	char *all = mmap(NULL, size_b + 2 * GIVEN_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED || mprotect(all + GIVEN_B, size_b, PROT_READ | PROT_WRITE))
		abort();
	return all + GIVEN_B;
}

static ucontext_t outside, inside;

static void run_coroutine(void)
{
	deep(FRAMES, 64, in_coroutine);
}

static void *switch_below(void *stack)
{
	in_given();
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = GIVEN_B;
	inside.uc_link = &outside;
	makecontext(&inside, run_coroutine, 0);
	swapcontext(&outside, &inside);
	return NULL;
}

/* Switches to a stack that lies directly below the thread's own stack. */
static int run_below(void)
{
	pthread_attr_t attr;
	pthread_t id;
	char *below = map_fenced(2 * GIVEN_B + PAGE_B);
	if (mprotect(below + GIVEN_B, PAGE_B, PROT_NONE))
		return 1;
	return pthread_attr_init(&attr) || pthread_attr_setstack(&attr, below + GIVEN_B + PAGE_B, GIVEN_B) ||
	       pthread_create(&id, &attr, switch_below, below) || pthread_join(id, NULL);
}

static int run_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
	struct itimerspec soon = {.it_value = {0, 1000000}};
	timer_t timer;
	return sem_init(&done, 0, 0) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	       timer_settime(timer, 0, &soon, NULL) || sem_wait(&done);
}

int main(void)
{
	pthread_attr_t given;
	int failed = run_sized(run_small, SMALL_B) || run_sized(run_large, LARGE_B) || pthread_attr_init(&given) ||
		     pthread_attr_setstack(&given, map_fenced(GIVEN_B), GIVEN_B) || run(run_given, &given) ||
		     run_below() || run_timer();
	deep(FRAMES, 64, in_main);
	printf("%s\n", failed ? "failed" : "done");
	return failed;
}
