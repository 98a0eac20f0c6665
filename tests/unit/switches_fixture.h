/* switches_fixture.h: a recording whose second thread is switched at known times. */
#ifndef SONDE_TESTS_SWITCHES_FIXTURE_H
#define SONDE_TESTS_SWITCHES_FIXTURE_H

#include "analyze_fixture.h"

#define IN SONDE_SWITCH_IN
#define BLOCKS SONDE_SWITCH_OUT_BLOCKED
#define PREEMPTED SONDE_SWITCH_OUT_PREEMPTED
#define WOKEN ((enum sonde_switch_kind)3)

/* "prog" (1) that is never switched, and "worker" (2), both of which begin with the recording. */
static inline void pair_open(struct recording *r)
{
	simple_open(r);
	recording_thread(r, 1, 101, "worker", START);
}

/* Runs 10 ms, is blocked for 20, runs 10, waits 5 for a CPU, and runs on another until it ends: 100 ms. */
static inline void worker_switches(struct recording *r)
{
	recording_switch_on(r, START + 10 * MS, 2, BLOCKS, 0);
	recording_switch_on(r, START + 30 * MS, 2, IN, 0);
	recording_switch_on(r, START + 40 * MS, 2, PREEMPTED, 0);
	recording_switch_on(r, START + 45 * MS, 2, IN, 1);
}

#endif
