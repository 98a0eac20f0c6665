/* triangle.c: each of 4000 points is compared with those before it; the first thread takes the first half of the
 * points, the second the other half, with three times the work.
 *
 * sonde: imbalance of the two threads that run compare(): one has finished after a third of the time. Fix: each thread
 * takes every second point.
 */
#include <pthread.h>

#include "example.h"

enum { THREADS = 2, POINTS = 4000 };

static uint64_t sums[THREADS];
static bool fixed;

NO_INLINE static uint64_t compare(uint64_t point)
{
	uint64_t sum = 0;
	for (uint64_t other = 0; other < point; other++)
		sum += mix(point * POINTS + other, 60) & 1;
	return sum;
}

static void *run(void *which)
{
	size_t thread = (uintptr_t)which, half = POINTS / THREADS, sum = 0;
	if (fixed)
		for (size_t point = thread; point < POINTS; point += THREADS)
			sum += compare(point);
	else
		for (size_t point = thread * half; point < (thread + 1) * half; point++)
			sum += compare(point);
	sums[thread] = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	fixed = is_fixed(argc, argv);
	for (uintptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	printf("%llu pairs\n", (unsigned long long)sum);
	return 0;
}
