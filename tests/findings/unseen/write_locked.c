/* write_locked.c: a table whose readers take the write lock, and hold it while they look up. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 4, LOOKUPS = 15000, ROWS = 4096 };

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static uint32_t table[ROWS];

static uint32_t __attribute__((noinline)) look_up(uint32_t key)
{
	uint32_t best = 0;
	for (int i = 0; i < ROWS; i++)
		if ((table[i] ^ key) % 1021 > (best ^ key) % 1021)
			best = table[i];
	return best;
}

static void *serve(void *result)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < LOOKUPS; i++) {
		pthread_rwlock_wrlock(&table_lock);
		sum += look_up(i * 2654435761u);
		pthread_rwlock_unlock(&table_lock);
	}
	*(uint32_t *)result = sum;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint32_t sums[THREADS], sum = 0;
	for (uint32_t i = 0; i < ROWS; i++)
		table[i] = i * 40503u;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	printf("%u\n", sum);
	return 0;
}
