/* zones_known.c: zones with known numbers and durations, around work that is sampled too.
 *
 * zones_known ROUNDS: in main and in a second thread ("second", half the rounds) each round has a zone "compute" around
 * 10 units of work, with a zone "inner" around 3 of them, and a zone "rest" around 2 ms of sleep. Prints for each
 * thread its name and what "compute", "inner" and "rest" took in ns by the program's own clock, all rounds together.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/sonde.h>

#include "burn.h"

struct part {
	const char *name;
	long rounds;
	uint64_t compute_ns, inner_ns, rest_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) void compute(struct part *part)
{
	uint64_t begin_ns = now_ns();
	{
		SONDE_ZONE("compute");
		burn(7 * BURN_UNIT);
		uint64_t inner_ns = now_ns();
		{
			SONDE_ZONE("inner");
			burn(3 * BURN_UNIT);
		}
		part->inner_ns += now_ns() - inner_ns;
	}
	part->compute_ns += now_ns() - begin_ns;
}

__attribute__((noinline)) void rest(struct part *part)
{
	uint64_t begin_ns = now_ns();
	{
		SONDE_ZONE("rest");
		struct timespec dur = {0, 2000000};
		nanosleep(&dur, NULL);
	}
	part->rest_ns += now_ns() - begin_ns;
}

static void *run(void *data)
{
	struct part *part = data;
	sonde_thread_name(part->name);
	for (long i = 0; i < part->rounds; i++) {
		compute(part);
		rest(part);
		SONDE_COUNT("rounds");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 0;
	struct part parts[2] = {{.name = "first", .rounds = rounds}, {.name = "second", .rounds = rounds / 2}};
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, &parts[1]))
		return 1;
	run(&parts[0]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++)
		printf("%s %llu %llu %llu\n", parts[i].name, (unsigned long long)parts[i].compute_ns,
		       (unsigned long long)parts[i].inner_ns, (unsigned long long)parts[i].rest_ns);
	return 0;
}
