/* first_counts.c: threads that use each of many counters for the first time at the same moment.
 *
 * first_counts: 4 threads meet before each of 64 counters, "count 0" to "count 63", and each adds 1 to it three times,
 * so that every counter is 12 in the end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <sonde/sonde.h>

enum { THREADS = 4, COUNTERS = 64, TIMES = 3 };

static atomic_int arrived;

/* Spins, so that all go on within some ns. */
static void meet(int round)
{
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < THREADS * (round + 1))
		;
}

#define ONE(n)                            \
	case n:                           \
		SONDE_COUNT("count " #n); \
		break;
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)

static void count(int counter)
{
	switch (counter) {
		ONE(0)
		ONE(1)
		ONE(2)
		ONE(3)
		ONE(4)
		ONE(5)
		ONE(6)
		ONE(7)
		ONE(8)
		ONE(9)
		TEN(1)
		TEN(2)
		TEN(3)
		TEN(4)
		TEN(5)
		ONE(60)
		ONE(61)
		ONE(62)
		ONE(63)
	default:
		break;
	}
}

static void *run(void *data)
{
	for (int i = 0; i < COUNTERS; i++) {
		meet(i);
		for (int k = 0; k < TIMES; k++)
			count(i);
	}
	return data;
}

int main(void)
{
	pthread_t threads[THREADS];
	SONDE_COUNT("begun"); /* the process has connected when the threads start */
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
