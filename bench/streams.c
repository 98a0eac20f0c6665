/* streams.c: programs that make many zones.
 *
 *	streams tight|nested|machine ZONES [THREADS]
 *
 *	tight    one site, as fast as can be
 *	nested   16 sites, up to 8 deep, with random durations of 50 ns to 3 µs
 *	machine  a small interpreter at work: a zone for each call and for each library routine (machine.c)
 *
 * Prints the number of zones made by each thread (at least ZONES), the number of threads, and the wall seconds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "base/clock.h"
#include "machine.h"

enum { MAX_THREADS = 64, MAX_DEPTH = 8 };

struct stream {
	const char *name;
	uint64_t (*run)(uint64_t zones);
};

static uint64_t run_tight(uint64_t zones)
{
	for (uint64_t i = 0; i < zones; i++) {
		SONDE_BEGIN("tight");
		SONDE_END();
	}
	return zones;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void begin_one_of_16(unsigned which)
{
#define CASE(n)                            \
	case n:                            \
		SONDE_BEGIN("nested " #n); \
		break
	switch (which & 15) {
		CASE(0);
		CASE(1);
		CASE(2);
		CASE(3);
		CASE(4);
		CASE(5);
		CASE(6);
		CASE(7);
		CASE(8);
		CASE(9);
		CASE(10);
		CASE(11);
		CASE(12);
		CASE(13);
		CASE(14);
		CASE(15);
	}
#undef CASE
}

static void spin(uint64_t cycles)
{
	uint64_t start = sonde_clock_cycles();
	while (sonde_clock_cycles() - start < cycles)
		;
}

static uint64_t run_nested(uint64_t zones)
{
	uint64_t state = 1, made = 0;
	unsigned depth = 0;
	while (made < zones || depth) {
		uint64_t random = next_random(&state);
		spin(100 + (random >> 8) % ((uint64_t)64 << (random >> 4 & 7)));
		int open = depth == 0 || (depth < MAX_DEPTH && (random & 1));
		if (open && made < zones) {
			begin_one_of_16((unsigned)(random >> 20));
			depth++;
			made++;
		} else {
			SONDE_END();
			depth--;
		}
	}
	return made;
}

static const struct stream streams[] = {
    {"tight", run_tight},
    {"nested", run_nested},
    {"machine", machine_run},
};

struct job {
	const struct stream *stream;
	uint64_t zones;
};

static void *run_job(void *argument)
{
	struct job *job = argument;
	job->zones = job->stream->run(job->zones);
	return NULL;
}

static int run_threads(const struct stream *stream, uint64_t zones, unsigned threads)
{
	pthread_t thread[MAX_THREADS];
	struct job job[MAX_THREADS];
	uint64_t made = 0, start_ns = sonde_clock_now_ns();
	for (unsigned i = 0; i < threads; i++) {
		job[i] = (struct job){stream, zones};
		if (pthread_create(&thread[i], NULL, run_job, &job[i]))
			return 1;
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		made += job[i].zones;
	}
	printf("%lu %u %.6f\n", (unsigned long)made, threads, (double)(sonde_clock_now_ns() - start_ns) / 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t zones = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	for (unsigned i = 0; i < sizeof streams / sizeof *streams; i++)
		if (zones && threads && threads <= MAX_THREADS && !strcmp(argv[1], streams[i].name))
			return run_threads(&streams[i], zones, threads);
	fprintf(stderr, "usage: streams tight|nested|machine ZONES [THREADS]\n");
	return 2;
}
