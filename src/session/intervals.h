/* intervals.h: the scheduling state of each thread as intervals: on a CPU, waiting for one, blocked, or unknown.
 *
 * The intervals of a thread come in time order, each when it ends, and cover the thread's lifetime without gaps or
 * overlaps. Intervals of different threads are interleaved. Memory grows only with the number of threads.
 */
#ifndef SONDE_SESSION_INTERVALS_H
#define SONDE_SESSION_INTERVALS_H

#include <stdint.h>

#include "session/session.h"

enum sonde_interval_state {
	SONDE_INTERVAL_UNSEEN = 0, /* unknown */
	SONDE_INTERVAL_ON_CPU,
	SONDE_INTERVAL_RUNNABLE, /* waits for a CPU */
	SONDE_INTERVAL_BLOCKED,
	SONDE_INTERVAL_STATES
};

struct sonde_interval {
	uint64_t from_ns, to_ns; /* of length 0 if two switches have the same time */
	uint32_t thread;
	uint32_t cpu;      /* CPU it runs on, or ran on last, + 1; 0 = unknown */
	uint8_t state;     /* enum sonde_interval_state */
	uint8_t begun;     /* enum sonde_switch_kind that started it, + 1; 0 = start of the thread */
	uint32_t by;       /* on a CPU: the thread that woke or created it; 0 = unknown */
	uint64_t woken_ns; /* time of that wakeup or creation */
	/* Blocked: the wakeup time is unknown, so the end of the interval, or all of it, may be waiting for a CPU. */
	uint8_t unsure;
};

/* "running", "runnable", "blocked", "unseen" */
const char *sonde_interval_name(enum sonde_interval_state state);

/* The part of a thread's lifetime that lies within the recording. */
void sonde_interval_life(const struct sonde_session *session, const struct sonde_thread *thread, uint64_t *out_from_ns,
			 uint64_t *out_to_ns);

struct sonde_intervals {
	int has_switches, has_wakeups; /* anywhere in the recording */
};

/* Calls `take` for each interval of every thread until it returns a nonzero value, which is then the result. A thread
 * that never switched has a single unseen interval. Time covered by unreadable chunks is unseen. */
int sonde_intervals_walk(struct sonde_intervals *out, struct sonde_session *session,
			 int (*take)(void *context, const struct sonde_interval *interval), void *context);

/* Iterates over the same intervals. */
struct sonde_intervals_cursor;
int sonde_intervals_open(struct sonde_intervals_cursor **out, struct sonde_session *session);
/* Returns 1 and an interval valid until the next call, 0 at the end, or a negative errno. */
int sonde_intervals_next(struct sonde_intervals_cursor *cursor, const struct sonde_interval **out);
void sonde_intervals_close(struct sonde_intervals_cursor *cursor); /* accepts NULL */

#endif
