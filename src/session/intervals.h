/* intervals.h: what each thread did, interval after interval: on a CPU, waiting for one, blocked, or not known.
 *
 * The intervals of a thread come in time order, each when it is over, and cover its life without gap and overlap. Those
 * of several threads are mixed. Memory grows with threads only.
 */
#ifndef SONDE_SESSION_INTERVALS_H
#define SONDE_SESSION_INTERVALS_H

#include <stdint.h>

#include "session/session.h"

enum sonde_interval_state {
	SONDE_INTERVAL_UNSEEN = 0, /* not known */
	SONDE_INTERVAL_ON_CPU,
	SONDE_INTERVAL_RUNNABLE, /* waits for a CPU */
	SONDE_INTERVAL_BLOCKED,
	SONDE_INTERVAL_STATES
};

struct sonde_interval {
	uint64_t from_ns, to_ns; /* empty where two switches have one time */
	uint32_t thread;
	uint32_t cpu;      /* that it is on, or lost, + 1; 0 = not known */
	uint8_t state;     /* enum sonde_interval_state */
	uint8_t begun;     /* by what: enum sonde_switch_kind, + 1; 0 = the thread's beginning */
	uint32_t by;       /* on a CPU: the thread that woke or created it; 0 = not known */
	uint64_t woken_ns; /* when that was */
	/* Blocked: it may have waited for a CPU in the end of it, or all of it: nothing says when it was woken. */
	uint8_t unsure;
};

/* "running", "runnable", "blocked", "unseen" */
const char *sonde_interval_name(enum sonde_interval_state state);

/* The part of a thread's life that lies in the recording. */
void sonde_interval_life(const struct sonde_session *session, const struct sonde_thread *thread, uint64_t *out_from_ns,
			 uint64_t *out_to_ns);

struct sonde_intervals {
	int has_switches, has_wakeups; /* anywhere in the recording */
};

/* Calls `take` for each interval of every thread; a thread that never switched has one, unseen. Stops at what `take`
 * returns, if it is not 0. Chunks that cannot be read are left out: what they would have said is unseen. */
int sonde_intervals_walk(struct sonde_intervals *out, struct sonde_session *session,
			 int (*take)(void *context, const struct sonde_interval *interval), void *context);

/* The same intervals one by one. */
struct sonde_intervals_cursor;
int sonde_intervals_open(struct sonde_intervals_cursor **out, struct sonde_session *session);
/* 1 and an interval, which lives until the next call; 0 at the end, or a negative errno. */
int sonde_intervals_next(struct sonde_intervals_cursor *cursor, const struct sonde_interval **out);
void sonde_intervals_close(struct sonde_intervals_cursor *cursor); /* NULL: nothing */

#endif
