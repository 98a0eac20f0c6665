/* split.c: spends 60, 30 and 10 % of its time in three functions, again and again with a fixed cycle.
 *
 *	split CYCLE_US SECONDS main|thread
 *
 * The cycle follows the clock, not the work, so that a sampler with the same period stays in lockstep with it; a
 * program that was held up joins the schedule again at a full cycle. Prints the true shares in per cent, as measured.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct schedule {
	uint64_t cycle; /* cycles of the counter */
	uint64_t seconds;
	uint64_t spent[3];
};

static uint64_t per_second;

#define PHASE(name)                                                                          \
	__attribute__((noinline)) static uint64_t name(uint64_t deadline)                    \
	{                                                                                    \
		uint64_t now;                                                                \
		__asm__ volatile("# " #name); /* the compiler would merge equal functions */ \
		while ((now = sonde_clock_cycles()) < deadline)                              \
			;                                                                    \
		return now;                                                                  \
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
	struct schedule *schedule = argument;
	uint64_t cycle = schedule->cycle, now = sonde_clock_cycles(), next = now;
	uint64_t end = now + schedule->seconds * per_second;
	while (now < end) {
		if (now > next + cycle)
			next = now;
		uint64_t a = phase_60(next + cycle * 6 / 10);
		uint64_t b = phase_30(next + cycle * 9 / 10);
		uint64_t c = phase_10(next + cycle);
		schedule->spent[0] += a - now;
		schedule->spent[1] += b - a;
		schedule->spent[2] += c - b;
		now = c;
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
				    .seconds = strtoull(argv[2], NULL, 10)};
	pthread_t thread;
	if (!strcmp(argv[3], "main"))
		run(&schedule);
	else if (pthread_create(&thread, NULL, run, &schedule) || pthread_join(thread, NULL))
		return 1;
	double all = (double)(schedule.spent[0] + schedule.spent[1] + schedule.spent[2]) / 100;
	printf("%.3f %.3f %.3f\n", (double)schedule.spent[0] / all, (double)schedule.spent[1] / all,
	       (double)schedule.spent[2] / all);
	return 0;
}
