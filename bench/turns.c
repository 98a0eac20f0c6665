/* turns.c: pairs of threads that take turns: every other pair by a lock and conditions, the others through pipes.
 *
 *	turns TURNS PAIRS
 *
 * Each thread has TURNS turns, and works for a microsecond in each of them. Nearly every turn blocks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

enum { PAIRS_MAX = 64, WORK_NS = 1000 };

struct pair {
	pthread_mutex_t lock;
	pthread_cond_t may[2];
	int whose;
	int pipes[2][2];
	long turns;
	int by_pipes;
};

struct side {
	struct pair *pair;
	int number; /* 0 or 1 */
};

static void work(void)
{
	uint64_t end_ns = sonde_clock_now_ns() + WORK_NS;
	while (sonde_clock_now_ns() < end_ns)
		;
}

static void turn_by_lock(struct pair *pair, int number)
{
	pthread_mutex_lock(&pair->lock);
	while (pair->whose != number)
		pthread_cond_wait(&pair->may[number], &pair->lock);
	work();
	pair->whose = !number;
	pthread_cond_signal(&pair->may[!number]);
	pthread_mutex_unlock(&pair->lock);
}

static void turn_by_pipe(struct pair *pair, int number)
{
	char byte;
	if (read(pair->pipes[number][0], &byte, 1) != 1)
		abort();
	work();
	if (write(pair->pipes[!number][1], "", 1) != 1)
		abort();
}

static void *run_side(void *argument)
{
	const struct side *side = argument;
	for (long i = 0; i < side->pair->turns; i++)
		(side->pair->by_pipes ? turn_by_pipe : turn_by_lock)(side->pair, side->number);
	return NULL;
}

static int pair_begin(struct pair *pair, long turns, int by_pipes)
{
	*pair = (struct pair){.turns = turns, .by_pipes = by_pipes};
	pthread_mutex_init(&pair->lock, NULL);
	pthread_cond_init(&pair->may[0], NULL);
	pthread_cond_init(&pair->may[1], NULL);
	if (!by_pipes)
		return 0;
	return pipe(pair->pipes[0]) || pipe(pair->pipes[1]) || write(pair->pipes[0][1], "", 1) != 1;
}

int main(int argc, char **argv)
{
	static struct pair pairs[PAIRS_MAX];
	static struct side sides[2 * PAIRS_MAX];
	static pthread_t threads[2 * PAIRS_MAX];
	long turns = argc == 3 ? atol(argv[1]) : 0;
	int count = argc == 3 ? atoi(argv[2]) : 0;
	if (turns < 1 || count < 1 || count > PAIRS_MAX) {
		fprintf(stderr, "usage: turns TURNS PAIRS\n");
		return 2;
	}
	for (int i = 0; i < count; i++)
		if (pair_begin(&pairs[i], turns, i % 2))
			return 1;
	for (int i = 0; i < 2 * count; i++) {
		sides[i] = (struct side){&pairs[i / 2], i % 2};
		if (pthread_create(&threads[i], NULL, run_side, &sides[i]))
			return 1;
	}
	for (int i = 0; i < 2 * count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
