/* serial_phase.c: the main thread prepares a table alone; only then does it start two threads that look things up in
 * it. More than half of the work that two threads could share is done by one.
 *
 * sonde: serial: for most of the run one thread runs alone, in prepare(). Fix: the threads prepare half of the table
 * each, before they look things up.
 */
#include <pthread.h>

#include "example.h"

enum { THREADS = 2, ROWS = 1 << 15, LOOK_UPS = 1 << 13, ROW_ROUNDS = 8000, LOOK_ROUNDS = 8000 };

static uint64_t table[ROWS], sums[THREADS];
static pthread_barrier_t prepared;
static bool fixed;

NO_INLINE static void prepare(size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		table[i] = mix(i, ROW_ROUNDS);
}

NO_INLINE static uint64_t look_up(uint64_t random)
{
	uint64_t sum = 0;
	for (int i = 0; i < LOOK_UPS; i++)
		sum += mix(table[next_number(&random) % ROWS], LOOK_ROUNDS);
	return sum;
}

static void *run(void *which)
{
	size_t thread = (uintptr_t)which, share = ROWS / THREADS;
	if (fixed) {
		prepare(thread * share, share);
		pthread_barrier_wait(&prepared);
	}
	sums[thread] = look_up(thread + 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	fixed = is_fixed(argc, argv);
	pthread_barrier_init(&prepared, NULL, THREADS);
	if (!fixed)
		prepare(0, ROWS);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
