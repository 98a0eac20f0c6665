/* states.h: what threads did with their time: on a CPU, waiting for one, or blocked.
 *
 * The four parts of a thread's life add up to it. Two sources tell: context switches, which say on a CPU from off it to
 * the ns, and with wake-ups also from when it could go on; and readings of what the scheduler counts, which say how
 * much of the time off it a thread waited for a CPU after it was woken where no wake-up is known, and all of it where
 * there are no switches.
 */
#ifndef SONDE_ANALYZE_WAIT_STATES_H
#define SONDE_ANALYZE_WAIT_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "session/intervals.h"
#include "session/session.h"

enum sonde_states_by {
	SONDE_STATES_NONE = 0, /* nothing was seen: all of its life is unseen */
	SONDE_STATES_SWITCHES,
	SONDE_STATES_READINGS,
};

struct sonde_states_row {
	enum sonde_states_by by;
	uint64_t life_ns; /* within the part of the recording that was asked for */
	uint64_t on_cpu_ns, runnable_ns, blocked_ns, unseen_ns;
	uint64_t
	    off_cpu_ns; /* blocked_ns and what readings took from it: the blocked intervals; 0 = by readings alone */
	uint64_t unsure_ns; /* the part of blocked_ns in which it may have waited for a CPU: no reading covers it */
	uint64_t clock_ns;  /* the scheduler's count while readings say so, and on_cpu_ns then; 0 = no readings */
	uint64_t clocked_ns;
	int counts_switches; /* whether the next two are known */
	uint64_t voluntary, involuntary;
	int counts_moves; /* and these */
	uint64_t migrations, wakeups;
};

struct sonde_states {
	struct sonde_states_row *rows; /* by thread id; sonde_session_thread_count() + 1 */
	size_t count;
	int has_switches, has_readings, has_wakeups; /* anywhere in the recording */
	uint32_t peak;                               /* the most threads that lived at a moment of the part */
};

/* Who else wants the intervals, as sonde_intervals_walk() gives them: of the whole recording. */
struct sonde_states_also {
	int (*take)(void *context, const struct sonde_interval *interval);
	void *context;
};

/* Of [from_ns, to_ns), 0 = the recording's; `also` may be NULL. Reads the file: readings first, then switches in order.
 * Chunks that cannot be read are left out; what they would have said is unseen. -ENOMEM. Free with sonde_states_fini().
 */
int sonde_states_read(struct sonde_states *out, struct sonde_session *session, uint64_t from_ns, uint64_t to_ns,
		      const struct sonde_states_also *also);
void sonde_states_fini(struct sonde_states *states);

/* Adds up a row; `by` and what is known are those of all. */
void sonde_states_add(struct sonde_states_row *to, const struct sonde_states_row *from);

#endif
