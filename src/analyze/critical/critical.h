/* critical.h: the graph of a recording: what each thread did over time, and what unblocked it.
 *
 * A thread's lifetime is a chain of segments without gaps or overlaps. A blocked segment may have a cause: the thread
 * that unblocked it, and when; or an activity of a device (critical/devices.h). A thread has a creator. Times are
 * CLOCK_MONOTONIC in ns. The path is found backward (critical/walk.c), and a hypothetical run is computed forward
 * (critical/replay.c), both over the same segments. A segment takes 16 bytes, and a blocked one 24 more.
 */
#ifndef SONDE_ANALYZE_CRITICAL_CRITICAL_H
#define SONDE_ANALYZE_CRITICAL_CRITICAL_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/labels.h"
#include "analyze/pass.h"
#include "session/intervals.h"
#include "session/session.h"

struct sonde_critical_segment {
	uint64_t to_ns : 61; /* end; its start is the previous one's end */
	uint64_t state : 3;  /* enum sonde_interval_state */
	uint32_t previous;   /* previous segment of the same thread; 0 = none: this one begins with the thread */
	uint32_t cause;      /* if blocked: index in `causes`; 0 = unknown */
};

struct sonde_critical_cause {
	uint64_t at_ns;
	uint32_t thread; /* the thread that unblocked it; 0 = unknown */
	uint32_t object; /* object of the call; 0 = none */
	uint32_t work;   /* the device activity waited for, instead of a thread; 0 = none */
	uint8_t kind;    /* kind of the call: enum sonde_wait_kind; 0 = unknown */
	uint8_t is_held; /* the thread held the lock when the wait began, and released it before at_ns */
};

/* An activity of a device. Sorted by queue, then by end. */
struct sonde_critical_work {
	uint64_t start_ns, end_ns;
	uint64_t requested_ns; /* when it was submitted; 0 = unknown */
	uint64_t correlation;
	uint32_t operation, queue;
	uint32_t thread;         /* thread that submitted it; 0 = unknown */
	uint32_t before;         /* its predecessor in an in-order queue; 0 = none */
	unsigned is_after : 1;   /* it waited for its predecessor, otherwise for its submission */
	unsigned is_unasked : 1; /* submitter unknown: `thread` is the one that waited for it */
	unsigned is_waited_for : 1;
};

struct sonde_critical_life {
	uint64_t start_ns, end_ns, created_ns;
	uint32_t creator; /* 0 = unknown */
	uint32_t last;    /* last segment; 0 = none */
};

struct sonde_critical {
	struct sonde_session *session;
	struct sonde_critical_segment *segments; /* [0] is unused; in order of creation */
	size_t count, cap;
	struct sonde_critical_cause *causes; /* [0] is unused */
	size_t cause_count, cause_cap;
	struct sonde_critical_life *lives; /* by thread id */
	uint32_t threads;                  /* largest id */
	uint64_t from_ns, to_ns;           /* span of the path */
	uint32_t final;                    /* the thread whose end ends the span; 0 = none */
	int has_switches, has_wakeups, has_calls;
	int has_looks;                      /* some calls were found by sampling threads from outside */
	struct sonde_critical_work *works;  /* [0] is unused */
	size_t work_count;                  /* 0 if there are none */
	size_t device_waits, unended_waits; /* numbers of waits for devices, and of waits without a known cause */
	size_t devices_left_out;            /* number of activities if too many to keep: then `works` is empty */
};

/* Reads the whole recording. -ENOMEM, -EOVERFLOW (too many segments). Free with sonde_critical_fini(). */
int sonde_critical_read(struct sonde_critical *out, struct sonde_session *session,
			const struct sonde_pass_options *options);
void sonde_critical_fini(struct sonde_critical *critical);

/* Start of a segment of a thread. */
uint64_t sonde_critical_from(const struct sonde_critical *critical, uint32_t thread, uint32_t segment);

/* True if the thread was active: on a CPU, or not known to be off-CPU. */
static inline int sonde_critical_is_active(unsigned state)
{
	return state == SONDE_INTERVAL_ON_CPU || state == SONDE_INTERVAL_UNSEEN;
}

/* --- critical/causes.c: which thread unblocked which -------------------------------------------------------------- */

struct sonde_critical_causes;

int sonde_critical_causes_new(struct sonde_critical_causes **out, struct sonde_session *session);
void sonde_critical_causes_free(struct sonde_critical_causes *causes);

/* A call in which a thread was blocked from from_ns to to_ns. */
struct sonde_critical_call {
	uint64_t from_ns, to_ns;
	uint32_t thread, object, other;
	uint8_t kind;
};

/* The cause of the end of a call; `thread` 0 if unknown. */
struct sonde_critical_cause sonde_critical_causes_find(const struct sonde_critical_causes *causes,
						       const struct sonde_critical_call *call);

/* The creator of a thread, if exactly one thread can have created it; 0 = unknown. */
uint32_t sonde_critical_causes_creator(const struct sonde_critical_causes *causes, uint32_t thread);

/* --- critical/walk.c: the path ------------------------------------------------------------------------------------ */

/* A step ends where the next one begins, the last one at the end of the span. */
struct sonde_critical_step {
	uint64_t from_ns;
	uint32_t thread; /* for device steps: the waiting thread */
	uint32_t object; /* for device steps: the operation */
	uint32_t queue;  /* 0 = not a device step */
	uint8_t kind;    /* enum sonde_critical_kind */
	uint8_t call;    /* if blocked: enum sonde_wait_kind; for device steps: of activities.def; 0 = unknown */
};

struct sonde_critical_path {
	struct sonde_critical_step *steps; /* in time order */
	size_t count, cap;
	uint64_t from_ns, to_ns;
	size_t handed_over; /* number of transitions from one thread to another */
	size_t unasked;     /* number of transitions from a device activity whose submitter is unknown */
};

/* -ENOMEM. Free with sonde_critical_path_fini(). */
int sonde_critical_walk(struct sonde_critical_path *out, const struct sonde_critical *critical);
void sonde_critical_path_fini(struct sonde_critical_path *path);

static inline uint64_t sonde_critical_step_end(const struct sonde_critical_path *path, size_t i)
{
	return i + 1 < path->count ? path->steps[i + 1].from_ns : path->to_ns;
}

#endif
