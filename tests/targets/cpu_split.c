/* cpu_split.c: burns CPU time 60/30/10 in alpha, beta and gamma, inside a cycle of fixed length.
 *
 * cpu_split CYCLE_US SECONDS [THREADS]. A sampler in lockstep with the cycle sees another split. The cycle runs in CPU
 * time: if the thread was not running (the clock jumps), its schedule is moved by the same amount.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define JUMP_NS 20000

static uint64_t cycle_ns, run_ns;

static inline uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct schedule {
	uint64_t last_ns; /* time of the last reading of the clock */
	uint64_t ran_ns;  /* CPU time so far */
};

/* Spins until the thread has used until_ns of CPU time. */
static inline __attribute__((always_inline)) void spin(struct schedule *schedule, uint64_t until_ns)
{
	while (schedule->ran_ns < until_ns) {
		uint64_t now = now_ns(), step = now - schedule->last_ns;
		schedule->last_ns = now;
		if (step < JUMP_NS)
			schedule->ran_ns += step;
	}
}

__attribute__((noinline)) void alpha(struct schedule *schedule, uint64_t start_ns)
{
	spin(schedule, start_ns + cycle_ns * 6 / 10);
}

__attribute__((noinline)) void beta(struct schedule *schedule, uint64_t start_ns)
{
	spin(schedule, start_ns + cycle_ns * 9 / 10);
}

__attribute__((noinline)) void gamma_(struct schedule *schedule, uint64_t start_ns)
{
	spin(schedule, start_ns + cycle_ns);
}

static void *run(void *unused)
{
	struct schedule schedule = {.last_ns = now_ns()};
	for (uint64_t at = 0; at < run_ns; at += cycle_ns) {
		alpha(&schedule, at);
		beta(&schedule, at);
		gamma_(&schedule, at);
	}
	return unused;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	cycle_ns = (uint64_t)(atof(argv[1]) * 1e3);
	run_ns = (uint64_t)(atof(argv[2]) * 1e9);
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t ids[16];
	if (threads > 16 || !cycle_ns)
		return 2;
	for (int i = 1; i < threads; i++)
		pthread_create(&ids[i], NULL, run, NULL);
	run(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
