/* straggler.c: two threads simulate in steps with a barrier after each; the second also computes the checksum of every
 * step, alone, while the first waits at the barrier.
 *
 * sonde: imbalance: the first thread waits at the barrier for most of each step.
 * Fix: each computes the checksum of its own half.
 */
#include <pthread.h>

#include "example.h"

enum { THREADS = 2, STEPS = 100, CELLS = 200, CELL_ROUNDS = 2000, SUM_ROUNDS = 4000 };

static uint64_t cells[THREADS][CELLS], check[THREADS];
static pthread_barrier_t step_done;
static bool fixed;

NO_INLINE static void simulate(uint64_t *half)
{
	for (size_t i = 0; i < CELLS; i++)
		half[i] = mix(half[i] + i, CELL_ROUNDS);
}

NO_INLINE static uint64_t check_sum(const uint64_t *half)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < CELLS; i++)
		sum += mix(half[i], SUM_ROUNDS);
	return sum;
}

static void *run(void *which)
{
	size_t thread = (uintptr_t)which;
	for (int i = 0; i < STEPS; i++) {
		simulate(cells[thread]);
		if (fixed)
			check[thread] += check_sum(cells[thread]);
		pthread_barrier_wait(&step_done);
		if (!fixed && thread == 1)
			check[1] += check_sum(cells[0]) + check_sum(cells[1]);
		pthread_barrier_wait(&step_done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	fixed = is_fixed(argc, argv);
	pthread_barrier_init(&step_done, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("check sum %016llx\n", (unsigned long long)(check[0] + check[1]));
	return 0;
}
