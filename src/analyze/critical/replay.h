/* replay.h: how long a run would have taken if something in it had been faster. */
#ifndef SONDE_ANALYZE_CRITICAL_REPLAY_H
#define SONDE_ANALYZE_CRITICAL_REPLAY_H

#include "analyze/critical/critical.h"

enum sonde_critical_of {
	SONDE_CRITICAL_OF_ZONE = 0, /* while it is open, what lies inside it too */
	SONDE_CRITICAL_OF_FUNCTION, /* while it is on the stack, by samples */
	SONDE_CRITICAL_OF_LOCK,     /* while it is held, but for who had it before the first waited */
	SONDE_CRITICAL_OF_THREAD,
	SONDE_CRITICAL_OF_KERNEL, /* of devices, in all queues */
	SONDE_CRITICAL_OF_COPY,
	SONDE_CRITICAL_OFS
};

/* What runs `speed` times as fast. */
struct sonde_critical_scale {
	enum sonde_critical_of of;
	char name[256];
	double speed; /* > 0; INFINITY: it takes no time */
};

/* "zone=X,speed=2", "lock=X,speed=inf". -EINVAL with a sentence. */
int sonde_critical_scale_parse(struct sonde_critical_scale *out, const char *text);
const char *sonde_critical_of_name(enum sonde_critical_of of);

struct sonde_critical_outcome {
	uint64_t span_ns; /* of the run with all scales */
	int is_found;     /* each of the scales is of something in the recording */
	uint64_t assumed; /* holds of locks that nobody waited for: taken to be as long as others */
};

/* The same segments once more, forward: a segment begins when the one before it ends, and where it waited for another
 * thread ends as long after that thread's moment as it did. What waited for nobody keeps its length; what waited for a
 * CPU within what is scaled is scaled with it, since that is shared by time. What a device does begins as long after
 * what it waited for, and not before the one before it in its queue has ended and it has been asked for. With no
 * scales, or all of speed 1, the span is the recorded one. Each reading of the file is one more; -ENOMEM. */
int sonde_critical_replay(struct sonde_critical_outcome *out, const struct sonde_critical *critical,
			  const struct sonde_critical_scale *scales, size_t count);

/* --- critical/scaled.c: when threads were in what is scaled ---------------------------------------------------------
 */

/* Of one thread, apart from each other, in time order. */
struct sonde_critical_part {
	uint64_t from_ns, to_ns;
	double saved_before_ns; /* had it got on in all of the parts before this one */
	double saves;           /* of each ns of it: 0 … 1, below 0 where it becomes slower */
};

struct sonde_critical_scaled {
	struct sonde_critical_part *parts;
	size_t *begin; /* by thread id, one more */
	double *takes; /* by operation of devices: of its time; NULL = all of it */
	int is_found;
	uint64_t assumed; /* holds that were not recorded (critical/holds.h) */
};

int sonde_critical_scaled_read(struct sonde_critical_scaled *out, const struct sonde_critical *critical,
			       const struct sonde_critical_scale *scales, size_t count);
void sonde_critical_scaled_fini(struct sonde_critical_scaled *scaled);

/* How much of its time what a device does takes. */
double sonde_critical_scaled_takes(const struct sonde_critical_scaled *scaled, uint32_t operation);

/* How much shorter a time would be in which a thread gets on, or waits for a CPU, in ns. */
double sonde_critical_scaled_saved(const struct sonde_critical_scaled *scaled, uint32_t thread, uint64_t from_ns,
				   uint64_t to_ns);

#endif
