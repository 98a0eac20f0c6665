/* split.c: spends 60, 30 and 10 % of its time in three functions, again and again with a fixed cycle.
 *
 *	split CYCLE_US SECONDS main|thread
 *
 * The cycle follows the clock, not the work, so that a sampler with the same period stays in lockstep with the cycle.
 * Time in which the thread did not run (two readings of the counter far apart) is not counted, so that the shares of
 * CPU time are exact on a busy machine too.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct schedule {
	double seconds;
	uint64_t cycle; /* in cycles of the counter, like all times below */
};

static uint64_t per_second;

/* Spins from `now` to `deadline`; returns how late it is by the time that the thread did not run. */
static inline __attribute__((always_inline)) uint64_t spin(uint64_t now, uint64_t deadline)
{
	uint64_t away = 0, gap = per_second / 5000;
	while (now < deadline + away) {
		uint64_t last = now;
		now = sonde_clock_cycles();
		if (now - last > gap)
			away += now - last;
	}
	return away;
}

/* The empty assembly has a name in it, since the compiler merges functions that are equal. */
#define PHASE(name)                                                                     \
	__attribute__((noinline)) static uint64_t name(uint64_t now, uint64_t deadline) \
	{                                                                               \
		__asm__ volatile("# " #name);                                           \
		return spin(now, deadline);                                             \
	}
PHASE(phase_60)
PHASE(phase_30)
PHASE(phase_10)

static uint64_t calibrate(void)
{
	uint64_t start_ns = sonde_clock_now_ns(), start = sonde_clock_cycles(), now_ns;
	while ((now_ns = sonde_clock_now_ns()) - start_ns < 50000000)
		;
	return (uint64_t)((double)(sonde_clock_cycles() - start) * 1e9 / (double)(now_ns - start_ns));
}

static void *run(void *argument)
{
	const struct schedule *schedule = argument;
	uint64_t cycle = schedule->cycle, next = sonde_clock_cycles();
	uint64_t cycles = (uint64_t)(schedule->seconds * (double)per_second) / cycle;
	for (uint64_t i = 0; i < cycles; i++) {
		next += phase_60(next, next + cycle * 6 / 10);
		next += phase_30(next + cycle * 6 / 10, next + cycle * 9 / 10);
		next += phase_10(next + cycle * 9 / 10, next + cycle);
		next += cycle;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: split CYCLE_US SECONDS main|thread\n");
		return 2;
	}
	per_second = calibrate();
	struct schedule schedule = {.cycle = strtoull(argv[1], NULL, 10) * per_second / 1000000,
				    .seconds = strtod(argv[2], NULL)};
	pthread_t thread;
	if (!strcmp(argv[3], "main"))
		run(&schedule);
	else if (pthread_create(&thread, NULL, run, &schedule) || pthread_join(thread, NULL))
		return 1;
	return 0;
}
