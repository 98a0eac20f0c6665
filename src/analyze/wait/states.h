/* states.h: how threads spent their time: on a CPU, waiting for one, or blocked.
 *
 * A thread's lifetime is the sum of four parts: on a CPU, runnable, blocked and unseen. There are two sources. Context
 * switches separate on and off CPU to the ns, and together with wake-ups also tell when the thread became runnable.
 * Readings of the scheduler's counters tell how much of the time off CPU a thread waited for a CPU: after unrecorded
 * wake-ups, or, if there are no switches, in total.
 */
#ifndef SONDE_ANALYZE_WAIT_STATES_H
#define SONDE_ANALYZE_WAIT_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "session/intervals.h"
#include "session/session.h"

enum sonde_states_by {
	SONDE_STATES_NONE = 0, /* nothing was recorded: all of its life is unseen */
	SONDE_STATES_SWITCHES,
	SONDE_STATES_READINGS,
};

struct sonde_states_row {
	enum sonde_states_by by;
	uint64_t life_ns; /* within the selected part of the recording */
	uint64_t on_cpu_ns, runnable_ns, blocked_ns, unseen_ns;
	uint64_t
	    /* length of the blocked intervals: blocked_ns plus the time that readings reclassified; 0 = from readings
	     * only */
	    off_cpu_ns;
	uint64_t unsure_ns; /* the part of blocked_ns that no reading covers, in which it may have waited for a CPU */
	/* the scheduler's counter while readings are used, and on_cpu_ns during that time; 0 = no readings */
	uint64_t clock_ns;
	uint64_t clocked_ns;
	int counts_switches; /* `voluntary` and `involuntary` are known */
	uint64_t voluntary, involuntary;
	int counts_moves; /* `migrations` and `wakeups` are known */
	uint64_t migrations, wakeups;
};

struct sonde_states {
	struct sonde_states_row *rows; /* by thread id; sonde_session_thread_count() + 1 */
	size_t count;
	int has_switches, has_readings, has_wakeups; /* anywhere in the recording */
	/* maximum number of threads alive at the same time within the part */
	uint32_t peak;
};

/* Also receives the intervals of the whole recording, as from sonde_intervals_walk(). */
struct sonde_states_also {
	int (*take)(void *context, const struct sonde_interval *interval);
	void *context;
};

/* For [from_ns, to_ns), 0 = the recording's bounds; `also` may be NULL. Reads the recording: readings first, then
 * switches in order. Unreadable chunks are skipped, and their time counts as unseen. -ENOMEM. Free with
 * sonde_states_fini(). */
int sonde_states_read(struct sonde_states *out, struct sonde_session *session, uint64_t from_ns, uint64_t to_ns,
		      const struct sonde_states_also *also);
void sonde_states_fini(struct sonde_states *states);

/* Adds a row to a total, whose `by` and known flags combine those of all rows. */
void sonde_states_add(struct sonde_states_row *to, const struct sonde_states_row *from);

#endif
