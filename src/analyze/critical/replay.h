/* replay.h: predicts how long a run would have taken if parts of it had been faster. */
#ifndef SONDE_ANALYZE_CRITICAL_REPLAY_H
#define SONDE_ANALYZE_CRITICAL_REPLAY_H

#include "analyze/critical/critical.h"

enum sonde_critical_of {
	SONDE_CRITICAL_OF_ZONE = 0, /* while open, including everything nested */
	SONDE_CRITICAL_OF_FUNCTION, /* while on the stack, from samples */
	SONDE_CRITICAL_OF_LOCK,     /* while held, except by the holder before the first wait */
	SONDE_CRITICAL_OF_THREAD,
	SONDE_CRITICAL_OF_KERNEL, /* device operations, in all queues */
	SONDE_CRITICAL_OF_COPY,
	SONDE_CRITICAL_OFS
};

/* The part of the run whose speed is multiplied by `speed`. */
struct sonde_critical_scale {
	enum sonde_critical_of of;
	char name[256];
	double speed; /* > 0; INFINITY: takes no time */
};

/* Parses "zone=X,speed=2", "lock=X,speed=inf". -EINVAL with a message. */
int sonde_critical_scale_parse(struct sonde_critical_scale *out, const char *text);
const char *sonde_critical_of_name(enum sonde_critical_of of);

struct sonde_critical_outcome {
	uint64_t span_ns; /* with all scales applied */
	int is_found;     /* every scale matches something in the recording */
	uint64_t assumed; /* number of inferred holds of locks (critical/holds.h) */
};

/* Replays the segments forward. A segment begins when the previous one ends. If it waited for another thread, it ends
 * as long after that thread's event as in the recording. Waits without a known cause keep their length. Waits for a CPU
 * within scaled parts are scaled, because CPUs are time-shared. A device activity begins as long after the event that
 * it waited for as in the recording, but neither before its submission nor before its predecessor in the queue has
 * ended. Without scales, or with speed 1 for all, the span is the recorded one. Each scale requires another pass over
 * the file; -ENOMEM. */
int sonde_critical_replay(struct sonde_critical_outcome *out, const struct sonde_critical *critical,
			  const struct sonde_critical_scale *scales, size_t count);

/* --- critical/scaled.c: when threads were in scaled parts --------------------------------------------------------- */

/* Parts of one thread, without overlaps, in time order. */
struct sonde_critical_part {
	uint64_t from_ns, to_ns;
	double saved_before_ns; /* saving of all earlier parts if the thread was active in them */
	double saves;           /* saving per ns: 0 … 1; negative if the part becomes slower */
};

struct sonde_critical_scaled {
	struct sonde_critical_part *parts;
	size_t *begin; /* by thread id: index of its first part; one entry more than threads */
	double *takes; /* by device operation: factor for its time; NULL = unchanged */
	int is_found;
	uint64_t assumed; /* number of inferred holds (critical/holds.h) */
};

int sonde_critical_scaled_read(struct sonde_critical_scaled *out, const struct sonde_critical *critical,
			       const struct sonde_critical_scale *scales, size_t count);
void sonde_critical_scaled_fini(struct sonde_critical_scaled *scaled);

/* Factor for the time of a device operation. */
double sonde_critical_scaled_takes(const struct sonde_critical_scaled *scaled, uint32_t operation);

/* The ns by which a period shrinks if the thread is active or waits for a CPU in all of it. */
double sonde_critical_scaled_saved(const struct sonde_critical_scaled *scaled, uint32_t thread, uint64_t from_ns,
				   uint64_t to_ns);

#endif
