/* hand_over.c: a reader hands numbers to a writer through a single slot, so that each waits for the other at every
 * number: the time goes to thread switches instead of additions.
 *
 * sonde: hand-over: both threads wait most of the time in condition waits of some microseconds each.
 * Fix: a buffer of 1024 numbers, which the writer takes as a whole.
 */
#include <pthread.h>

#include "example.h"

enum { NUMBERS = 40000, PLACES = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t places[PLACES];
static size_t used, capacity;

NO_INLINE static void put(const uint32_t *numbers, size_t count)
{
	pthread_mutex_lock(&lock);
	while (used > 0)
		pthread_cond_wait(&changed, &lock);
	memcpy(places, numbers, count * sizeof *numbers);
	used = count;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

NO_INLINE static size_t take(uint32_t *numbers)
{
	pthread_mutex_lock(&lock);
	while (used == 0)
		pthread_cond_wait(&changed, &lock);
	size_t count = used;
	memcpy(numbers, places, count * sizeof *numbers);
	used = 0;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return count;
}

static void *run_writer(void *sum)
{
	uint32_t numbers[PLACES];
	for (size_t taken = 0; taken < NUMBERS;) {
		size_t count = take(numbers);
		for (size_t i = 0; i < count; i++)
			*(uint64_t *)sum += mix(numbers[i], 100);
		taken += count;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t writer;
	uint64_t random = 9, sum = 0;
	uint32_t numbers[PLACES];
	capacity = is_fixed(argc, argv) ? PLACES : 1;
	must(pthread_create(&writer, NULL, run_writer, &sum) == 0, "pthread_create");
	for (size_t made = 0, count; made < NUMBERS; made += count) {
		for (count = 0; count < capacity && made + count < NUMBERS; count++)
			numbers[count] = next_number(&random);
		put(numbers, count);
	}
	pthread_join(writer, NULL);
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
