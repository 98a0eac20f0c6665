/* false_sharing.c: two threads count, each in a counter of its own, but both counters share a cache line, which moves
 * between the cores at every addition.
 *
 * sonde: false-sharing if there are hardware counters; else at most 'suspected', next to hot-function of count().
 * Fix: each counter has a cache line of its own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdalign.h>

#include "example.h"

enum { THREADS = 2, LINE_B = 64, EVENTS = 30000000 };

struct counters {
	alignas(LINE_B) _Atomic uint64_t near[THREADS];
	struct {
		alignas(LINE_B) _Atomic uint64_t count;
	} apart[THREADS];
};

static struct counters counters;
static bool fixed;

NO_INLINE static void count(_Atomic uint64_t *counter, uint64_t random)
{
	for (int i = 0; i < EVENTS; i++)
		atomic_fetch_add_explicit(counter, next_number(&random) & 1, memory_order_relaxed);
}

static void *run(void *which)
{
	uintptr_t i = (uintptr_t)which;
	count(fixed ? &counters.apart[i].count : &counters.near[i], i + 1);
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
		sum += counters.near[i] + counters.apart[i].count;
	}
	printf("%llu events were odd\n", (unsigned long long)sum);
	return 0;
}
