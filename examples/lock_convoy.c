/* lock_convoy.c: two threads hold the lock of the total while they compute a price, so one of them always waits.
 *
 * sonde: lock-contention on total_lock, which both threads take in work().
 * Fix: the price is computed first, and the lock held only for the addition.
 */
#include <pthread.h>

#include "example.h"

enum { THREADS = 2, ORDERS = 40000 };

static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total;
static bool fixed;

NO_INLINE static uint64_t price(uint64_t order)
{
	return mix(order, 10000) % 1000;
}

NO_INLINE static void work(uint64_t order)
{
	uint64_t found = fixed ? price(order) : 0;
	pthread_mutex_lock(&total_lock);
	total += fixed ? found : price(order);
	pthread_mutex_unlock(&total_lock);
}

static void *run(void *first)
{
	for (uint64_t order = (uint64_t)(uintptr_t)first; order < ORDERS; order += THREADS)
		work(order);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	fixed = is_fixed(argc, argv);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("total %llu\n", (unsigned long long)total);
	return 0;
}
