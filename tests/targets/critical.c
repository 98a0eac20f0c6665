/* critical.c: threads and processes that wait for each other on a known schedule. Work is CPU time of the thread, so
 * that other load on the machine changes how long the work takes, but not how much it is.
 *
 *   join A B         two threads work A and B ms; the main thread works 40 ms, joins both, and works 40 ms
 *   locks N A        N threads hold one lock in turn, each once, and work A ms while they hold it
 *   stages N A B C   three threads with pipes between them: N items pass all of them, and each item takes A, B and C ms
 *                    of work; zones "stage 1" …
 *   children A B     processes, one after the other, that work A and B ms
 *   sleep A          sleeps A ms
 *   spin A           works A ms
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "no_inline.h"
#include "sonde/sonde.h"

enum { STAGES = 3 };

static uint64_t cpu_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

NO_INLINE static void work(int ms)
{
	uint64_t until_ns = cpu_ns() + (uint64_t)ms * 1000000u;
	while (cpu_ns() < until_ns)
		for (volatile int i = 0; i < 1000; i++) {
		}
}

static void nap(int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	nanosleep(&time, NULL);
}

static void *run_work(void *ms)
{
	work((int)(intptr_t)ms);
	return NULL;
}

static void join(int a, int b)
{
	pthread_t first, second;
	work(40);
	pthread_create(&first, NULL, run_work, (void *)(intptr_t)a);
	pthread_setname_np(first, "first");
	pthread_create(&second, NULL, run_work, (void *)(intptr_t)b);
	pthread_setname_np(second, "second");
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	work(40);
}

pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;

static void *run_lock(void *ms)
{
	pthread_mutex_lock(&the_lock);
	work((int)(intptr_t)ms);
	pthread_mutex_unlock(&the_lock);
	return NULL;
}

static void locks(int count, int ms)
{
	pthread_t threads[64];
	count = count < 64 ? count : 64;
	pthread_mutex_lock(&the_lock);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run_lock, (void *)(intptr_t)ms);
	nap(50);
	pthread_mutex_unlock(&the_lock);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* A pipe before each stage but the first. */
static int queues[STAGES][2];
static int items, stage_ms[STAGES];

static void *run_stage(void *number)
{
	static const char *const names[STAGES] = {"stage 1", "stage 2", "stage 3"};
	intptr_t stage = (intptr_t)number;
	char item = 0;
	for (int i = 0; i < items; i++) {
		if (stage && read(queues[stage][0], &item, 1) != 1)
			abort();
		sonde_begin(names[stage]);
		work(stage_ms[stage]);
		sonde_end(names[stage]);
		if (stage + 1 < STAGES && write(queues[stage + 1][1], &item, 1) != 1)
			abort();
	}
	return NULL;
}

static void stages(void)
{
	pthread_t threads[STAGES];
	for (int i = 0; i < STAGES; i++)
		if (pipe(queues[i]))
			abort();
	for (intptr_t i = 0; i < STAGES; i++)
		pthread_create(&threads[i], NULL, run_stage, (void *)i);
	for (int i = 0; i < STAGES; i++)
		pthread_join(threads[i], NULL);
}

static pthread_cond_t first_may = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t second_may;
static int is_first, turns_ms, turns_count;

static void *run_first(void *unused)
{
	(void)unused;
	for (int i = 0; i < turns_count; i++) {
		work(turns_ms);
		sem_post(&second_may);
		pthread_mutex_lock(&turn_lock);
		while (!is_first)
			pthread_cond_wait(&first_may, &turn_lock);
		is_first = 0;
		pthread_mutex_unlock(&turn_lock);
	}
	return NULL;
}

static void *run_second(void *unused)
{
	(void)unused;
	for (int i = 0; i < turns_count; i++) {
		while (sem_wait(&second_may))
			;
		work(turns_ms);
		pthread_mutex_lock(&turn_lock);
		is_first = 1;
		pthread_mutex_unlock(&turn_lock);
		pthread_cond_signal(&first_may);
	}
	return NULL;
}

static void turns(int count, int ms)
{
	pthread_t first, second;
	turns_count = count;
	turns_ms = ms;
	sem_init(&second_may, 0, 0);
	pthread_create(&first, NULL, run_first, NULL);
	pthread_create(&second, NULL, run_second, NULL);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
}

static void child(int ms)
{
	pid_t pid = fork();
	if (!pid) {
		work(ms);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int a = argc > 2 ? atoi(argv[2]) : 0, b = argc > 3 ? atoi(argv[3]) : 0;
	if (!strcmp(mode, "join")) {
		join(a, b);
	} else if (!strcmp(mode, "locks")) {
		locks(a, b);
	} else if (!strcmp(mode, "stages") && argc > 5) {
		items = a;
		for (int i = 0; i < STAGES; i++)
			stage_ms[i] = atoi(argv[3 + i]);
		stages();
	} else if (!strcmp(mode, "turns")) {
		turns(a, b);
	} else if (!strcmp(mode, "children")) {
		child(a);
		child(b);
	} else if (!strcmp(mode, "sleep")) {
		nap(a);
	} else if (!strcmp(mode, "spin")) {
		work(a);
	} else {
		return 2;
	}
	return 0;
}
