/* analyze_fixture.h: shared by the tests of passes: a recording of their own, and one that is easy to fill. */
#ifndef SONDE_TESTS_ANALYZE_FIXTURE_H
#define SONDE_TESTS_ANALYZE_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "recording.h"

#define MS 1000000ull
#define START RECORDING_START_NS

static char path[64];

/* For cmocka, before all tests and after them. */
static inline int path_make(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "/tmp/sonde-test-analyze-%d.sonde", (int)getpid());
	return 0;
}

static inline int path_remove(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static inline void assert_near(double value, double expected, double tolerance)
{
	if (fabs(value - expected) > tolerance)
		fail_msg("%g is not within %g of %g", value, tolerance, expected);
}

/* One process "prog" with one thread and one module: ids 1. */
static inline void simple_open(struct recording *recording)
{
	recording_open(recording, path);
	recording_process(recording, 100, 0, "prog", START);
	recording_thread(recording, 1, 100, "prog", START);
	recording_module(recording, "/usr/bin/prog", 0);
}

/* `count` samples of 1 ms of that thread, each 1 ms after the one before. */
static inline void samples_add(struct recording *recording, uint32_t stack, int count, uint8_t status)
{
	static uint64_t time_ns = START;
	for (int i = 0; i < count; i++) {
		time_ns += MS;
		recording_sample(recording, (struct recording_sample){time_ns, 1, stack, MS, status});
	}
}

#endif
