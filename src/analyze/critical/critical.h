/* critical.h: what each thread did, interval after interval, and what let it go on: the graph of a recording.
 *
 * A thread's time is a chain of segments without gap and overlap. One that was blocked may have a cause: the thread
 * that let it go on, and when; or what a device did (critical/devices.h). A thread has a creator. Times are
 * CLOCK_MONOTONIC ns. The path is found backward (critical/walk.c), another run is computed forward
 * (critical/replay.c), both over the same segments. 16 bytes a segment, 24 more where it was blocked.
 */
#ifndef SONDE_ANALYZE_CRITICAL_CRITICAL_H
#define SONDE_ANALYZE_CRITICAL_CRITICAL_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"
#include "session/intervals.h"
#include "session/session.h"

struct sonde_critical_segment {
	uint64_t to_ns : 61; /* it begins where the one before ends */
	uint64_t state : 3;  /* enum sonde_interval_state */
	uint32_t previous;   /* of the same thread; 0 = none: it begins with the thread's life */
	uint32_t cause;      /* blocked: index; 0 = nothing is known */
};

struct sonde_critical_cause {
	uint64_t at_ns;
	uint32_t thread; /* that let it go on; 0 = not known */
	uint32_t object; /* of the call; 0 = none */
	uint32_t work;   /* of a device, that was waited for: then it has no thread; 0 = none */
	uint8_t kind;    /* of the call: enum sonde_wait_kind; 0 = not known */
	uint8_t is_held; /* the thread had the lock when the wait began; it gave it up some time before at_ns */
};

/* Something that a device did. By queue, then by end. */
struct sonde_critical_work {
	uint64_t start_ns, end_ns;
	uint64_t asked_ns; /* when it was asked for, 0 = not known */
	uint64_t correlation;
	uint32_t operation, queue;
	uint32_t thread;         /* that asked for it, 0 = not known */
	uint32_t before;         /* the one before it in a queue that is in order; 0 = none */
	unsigned is_after : 1;   /* it waited for that one, else for the thread that asked */
	unsigned is_unasked : 1; /* the thread is the one that waited for it, since it is not known who asked */
	unsigned is_waited_for : 1;
};

struct sonde_critical_life {
	uint64_t start_ns, end_ns, created_ns;
	uint32_t creator; /* 0 = not known */
	uint32_t last;    /* segment; 0 = none */
};

struct sonde_critical {
	struct sonde_session *session;
	struct sonde_critical_segment *segments; /* [0] is none; in the order in which they were told */
	size_t count, cap;
	struct sonde_critical_cause *causes; /* [0] is none */
	size_t cause_count, cause_cap;
	struct sonde_critical_life *lives; /* by thread id */
	uint32_t threads;                  /* the largest id */
	uint64_t from_ns, to_ns;           /* the span */
	uint32_t final;                    /* the thread whose end is the span's; 0 = there is none */
	int has_switches, has_wakeups, has_calls;
	int has_looks;                      /* some calls were found by looks from outside */
	struct sonde_critical_work *works;  /* [0] is none */
	size_t work_count;                  /* 0 where there are none */
	size_t device_waits, unended_waits; /* of threads for devices; nothing is known to have ended so many */
	size_t devices_left_out;            /* activities, more than there is room for: then there are no works */
};

/* Reads the whole recording. -ENOMEM, -EOVERFLOW: too many segments. Free with sonde_critical_fini(). */
int sonde_critical_read(struct sonde_critical *out, struct sonde_session *session,
			const struct sonde_pass_options *options);
void sonde_critical_fini(struct sonde_critical *critical);

/* When a segment of a thread begins. */
uint64_t sonde_critical_from(const struct sonde_critical *critical, uint32_t thread, uint32_t segment);

/* Whether a thread got on in it: on a CPU, or so that nothing says that it was not. */
static inline int sonde_critical_is_active(unsigned state)
{
	return state == SONDE_INTERVAL_ON_CPU || state == SONDE_INTERVAL_UNSEEN;
}

/* --- critical/causes.c: who let whom go on ------------------------------------------------------------------------ */

struct sonde_critical_causes;

int sonde_critical_causes_new(struct sonde_critical_causes **out, struct sonde_session *session);
void sonde_critical_causes_free(struct sonde_critical_causes *causes);

/* The call that a thread was blocked in from from_ns to to_ns. */
struct sonde_critical_call {
	uint64_t from_ns, to_ns;
	uint32_t thread, object, other;
	uint8_t kind;
};

/* What is known of the end of it; `thread` 0 where that is not. */
struct sonde_critical_cause sonde_critical_causes_find(const struct sonde_critical_causes *causes,
						       const struct sonde_critical_call *call);

/* Who has most likely no doubt begun a thread: the one thread that can have. 0 = not known. */
uint32_t sonde_critical_causes_creator(const struct sonde_critical_causes *causes, uint32_t thread);

/* --- critical/walk.c: the path --------------------------------------------------------------------------------------
 */

enum sonde_critical_kind {
	SONDE_CRITICAL_RUNNING = 0, /* on a CPU */
	SONDE_CRITICAL_UNSEEN,      /* no switches say whether it was */
	SONDE_CRITICAL_RUNNABLE,    /* waited for a CPU */
	SONDE_CRITICAL_WAKING,      /* could go on, and did not run yet: on the way to a CPU */
	SONDE_CRITICAL_BLOCKED,     /* not known for whom, or for nobody who was recorded */
	SONDE_CRITICAL_UNBORN,      /* before the thread, whose creator is not known */
	SONDE_CRITICAL_DEVICE,      /* a device did something that a thread waited for */
	SONDE_CRITICAL_QUEUED,      /* it had been asked for, and nothing of its queue was before it any more */
	SONDE_CRITICAL_NOTICING,    /* it was done, and the thread was on the way to a CPU */
	SONDE_CRITICAL_KINDS
};

/* A step ends where the next one begins, the last at the end of the span. */
struct sonde_critical_step {
	uint64_t from_ns;
	uint32_t thread; /* of devices: the one that waited */
	uint32_t object; /* of devices: the operation */
	uint32_t queue;  /* 0 = none: it is no device's */
	uint8_t kind;    /* enum sonde_critical_kind */
	uint8_t call;    /* of what is blocked: enum sonde_wait_kind; of a device: of activities.def; 0 = not known */
};

struct sonde_critical_path {
	struct sonde_critical_step *steps; /* in time order */
	size_t count, cap;
	uint64_t from_ns, to_ns;
	size_t handed_over; /* how often the path goes from one thread to another */
	size_t unasked;     /* how often it comes from a device, and nobody is known to have asked for what that did */
};

/* -ENOMEM. Free with sonde_critical_path_fini(). */
int sonde_critical_walk(struct sonde_critical_path *out, const struct sonde_critical *critical);
void sonde_critical_path_fini(struct sonde_critical_path *path);

static inline uint64_t sonde_critical_step_end(const struct sonde_critical_path *path, size_t i)
{
	return i + 1 < path->count ? path->steps[i + 1].from_ns : path->to_ns;
}

#endif
