/* good_loop.c: two threads compute equal halves of a table and share nothing; the work is necessary.
 *
 * sonde: nothing critical: only that one function takes the time.
 */
#include <pthread.h>

#include "example.h"

enum { THREADS = 2, ROWS = 60000, ROW_ROUNDS = 8000 };

static uint64_t table[ROWS];

NO_INLINE static void *compute(void *which)
{
	size_t thread = (uintptr_t)which, share = ROWS / THREADS;
	for (size_t i = thread * share; i < (thread + 1) * share; i++)
		table[i] = mix(i, ROW_ROUNDS);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	(void)is_fixed(argc, argv);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, compute, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < ROWS; i++)
		sum += table[i];
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
