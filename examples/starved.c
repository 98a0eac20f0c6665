/* starved.c: eight threads compress old logs in the background, on fewer cores; they take CPU time from the thread
 * that answers requests, the purpose of the program. It ends when the last request is answered.
 *
 * sonde: starved-of-cpu: the main thread waits for a core longer than it runs.
 * Fix: background threads run only when a core is idle (SCHED_IDLE).
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "example.h"

enum { COMPRESSORS = 8, REQUESTS = 200, REQUEST_ROUNDS = 500000 };

static atomic_bool done;
static _Atomic uint64_t compressed;
static bool fixed;

NO_INLINE static uint64_t compress(uint64_t block)
{
	return mix(block, 100000);
}

NO_INLINE static uint64_t answer(uint64_t request)
{
	return mix(request, REQUEST_ROUNDS);
}

static void *run(void *which)
{
	struct sched_param none = {0};
	if (fixed)
		sched_setscheduler(0, SCHED_IDLE, &none);
	for (uint64_t block = (uintptr_t)which; !atomic_load(&done); block += COMPRESSORS)
		atomic_fetch_add(&compressed, compress(block) & 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[COMPRESSORS];
	uint64_t sum = 0;
	fixed = is_fixed(argc, argv);
	for (uintptr_t i = 0; i < COMPRESSORS; i++)
		must(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "pthread_create");
	for (uint64_t request = 0; request < REQUESTS; request++)
		sum += answer(request);
	atomic_store(&done, true);
	for (int i = 0; i < COMPRESSORS; i++)
		pthread_join(threads[i], NULL);
	printf("answers %016llx\n", (unsigned long long)sum);
	return 0;
}
