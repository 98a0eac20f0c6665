/* sleep_polling.c: waits for a worker by checking every 10 ms whether it is done; the work takes 2 ms.
 *
 * sonde: sleep-polling: the critical path is sleeping, in wait_for_worker(), not working.
 * Fix: a condition variable that the worker signals.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "example.h"

enum { JOBS = 70, JOB_ROUNDS = 1000000, LOOK_US = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int requested, done;
static uint64_t results[JOBS];

NO_INLINE static uint64_t work(uint64_t job)
{
	return mix(job, JOB_ROUNDS);
}

static void *run(void *unused)
{
	(void)unused;
	for (int job = 0; job < JOBS; job++) {
		pthread_mutex_lock(&lock);
		while (requested <= job)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		results[job] = work((uint64_t)job);
		pthread_mutex_lock(&lock);
		done = job + 1;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

NO_INLINE static void wait_for_worker(int job, bool fixed)
{
	while (!fixed && done <= job)
		usleep(LOOK_US);
	pthread_mutex_lock(&lock);
	while (done <= job)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	bool fixed = is_fixed(argc, argv);
	pthread_t worker;
	uint64_t sum = 0;
	must(pthread_create(&worker, NULL, run, NULL) == 0, "pthread_create");
	for (int job = 0; job < JOBS; job++) {
		pthread_mutex_lock(&lock);
		requested = job + 1;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		wait_for_worker(job, fixed);
		sum += results[job];
	}
	pthread_join(worker, NULL);
	printf("sum %016llx\n", (unsigned long long)sum);
	return 0;
}
