/* many_threads.c: very many threads, each with few events: many_threads MODE COUNT.
 *
 * meet    COUNT threads, alive at once, wait MEETS times for each other at a barrier; each has BLOCKS blocks of BLOCK_B
 *         bytes from the first time to the last
 * stay    COUNT threads, alive at once, rest RESTS times each, and wait for each other
 * relay   COUNT threads, one after another, each of which rests once and has one block meanwhile
 *
 * Exits with 77 where there may not be so many threads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "burn.h"
#include "no_inline.h"

#define MEETS 3
#define BLOCKS 20
#define BLOCK_B 100
#define STACK_B 65536
#define RESTS 150

static pthread_barrier_t meeting;

static NO_INLINE void take(void **blocks, int count)
{
	for (int i = 0; i < count; i++)
		if (!(blocks[i] = malloc(BLOCK_B)))
			abort();
}

static void give(void **blocks, int count)
{
	for (int i = 0; i < count; i++)
		free(blocks[i]);
}

static void *meet(void *arg)
{
	void *blocks[BLOCKS];
	take(blocks, BLOCKS);
	for (int i = 0; i < MEETS; i++)
		pthread_barrier_wait(&meeting);
	give(blocks, BLOCKS);
	return arg;
}

static NO_INLINE void rest(void)
{
	struct timespec time = {0, 1};
	nanosleep(&time, NULL);
	no_tail_call();
}

static void *stay(void *arg)
{
	for (int i = 0; i < RESTS; i++)
		rest();
	pthread_barrier_wait(&meeting);
	return arg;
}

static void *run(void *arg)
{
	void *block[1];
	take(block, 1);
	rest();
	give(block, 1);
	return arg;
}

static pthread_t begin(void *(*run_one)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_B);
	if (pthread_create(&thread, &attr, run_one, NULL))
		exit(77);
	return thread;
}

static void all(void *(*run_one)(void *), unsigned count)
{
	pthread_t *threads = calloc(count, sizeof *threads);
	pthread_barrier_init(&meeting, NULL, count);
	for (unsigned i = 0; i < count; i++)
		threads[i] = begin(run_one);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void relay(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		pthread_join(begin(run), NULL);
}

int main(int argc, char **argv)
{
	unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	if (!count)
		return 2;
	if (!strcmp(argv[1], "meet"))
		all(meet, count);
	else if (!strcmp(argv[1], "stay"))
		all(stay, count);
	else
		relay(count);
	return 0;
}
