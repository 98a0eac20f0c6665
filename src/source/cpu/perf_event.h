/* perf_event.h: the perf events that the cpu source opens: which, in what shape, and why not.
 *
 * Two sampling events on each CPU for each task followed, with periods φT and φ²T (T = 1 / rate, φ the golden ratio):
 * they add up to one sample per T of CPU time, each standing for T, and no cycle that is a rational multiple of T is in
 * lockstep with either. Jitter would have to be set anew by ioctl, which does not reach inherited events. The first of
 * the two also carries what the kernel reports beside samples (mappings, names, forks, exits, switches).
 *
 * Shape of samples: TID, TIME, [CALLCHAIN: kernel frames], REGS_USER, STACK_USER. All other records end with TID, TIME.
 */
#ifndef SONDE_SOURCE_CPU_PERF_EVENT_H
#define SONDE_SOURCE_CPU_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/cpu/perf_ring.h"
#include "source/stack/unwinder.h"

/* What is asked for; the first opening takes away what this kernel or this user may not have. */
struct sonde_perf_shape {
	uint64_t rate_hz;
	uint32_t stack_b;
	int kernel;   /* samples in the kernel, with kernel frames */
	int switches; /* context switches */
	int by_bpf;   /* not by records of these events */
	int build_id; /* build-ids with mappings */
};

/* How much CPU time passes between two samples of the first (0) or second (1) event. */
uint64_t sonde_perf_shape_period_ns(const struct sonde_perf_shape *shape, int second);

/* Opened events, to be closed when the recording ends. */
struct sonde_perf_events {
	struct sonde_perf_shape shape;
	int settled; /* the shape is what the kernel accepts */
	int *fds;
	size_t count, cap;
};

/* 0, or why this user cannot sample here, as a sentence with its cure in sonde_error_text(). */
int sonde_perf_events_probe(void);

/* Follows task `tid` and what it creates, on every CPU of `rings`; from its next exec on, or at once. -ESRCH when it
 * has ended. */
int sonde_perf_events_follow(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t tid,
			     int from_exec);
/* One sampling event more on `tid`, at once, with a period of its own; failure means that there is none. Its stack
 * copies are 8 bytes shorter: that tells its samples apart. */
void sonde_perf_events_extra(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t tid,
			     uint64_t period_ns);
void sonde_perf_events_close(struct sonde_perf_events *events);

/* A decoded SAMPLE record; unwind.kernel and unwind.stack point into the record. */
struct sonde_perf_sample {
	pid_t pid, tid;
	int in_kernel;
	int extra; /* of an event of sonde_perf_events_extra() */
	struct sonde_unwind_sample unwind;
};

/* -EBADMSG for a record that is not of the shape. */
int sonde_perf_events_decode(const struct sonde_perf_shape *shape, const struct sonde_perf_record *record,
			     struct sonde_perf_sample *out);

#endif
