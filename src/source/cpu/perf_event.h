/* perf_event.h: the perf events of the cpu source: which ones, in what format, and why they cannot be opened.
 *
 * Each followed task has two sampling events on each CPU, with periods φT and φ²T (T = 1 / rate, φ the golden ratio).
 * Together, they take one sample per T of CPU time, so each sample counts as T, and neither event runs in lockstep with
 * a cycle of the program whose length is a rational multiple of T. Random periods are no alternative: they would have
 * to be set again and again by ioctl, which has no effect on inherited events. The first of the two events also
 * delivers what the kernel reports besides samples (mappings, names, forks, exits, switches).
 *
 * Format of samples: TID, TIME, [CALLCHAIN: kernel frames], REGS_USER, STACK_USER. All other records end with TID,
 * TIME.
 */
#ifndef SONDE_SOURCE_CPU_PERF_EVENT_H
#define SONDE_SOURCE_CPU_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/cpu/perf_ring.h"
#include "source/stack/unwinder.h"

/* The requested features; the first opening removes those that this kernel or user does not permit. */
struct sonde_perf_shape {
	uint64_t rate_hz;
	uint32_t stack_b;
	int kernel;   /* sample the kernel too, with kernel frames */
	int switches; /* context switches */
	int by_bpf;   /* switches come from BPF, not from records of these events */
	int build_id; /* build-ids of mappings */
};

/* The CPU time between two samples of the first (0) or second (1) event. */
uint64_t sonde_perf_shape_period_ns(const struct sonde_perf_shape *shape, int second);

/* The opened events, to be closed when the recording ends. */
struct sonde_perf_events {
	struct sonde_perf_shape shape;
	int settled; /* the kernel has accepted the shape */
	int *fds;
	size_t count, cap;
};

/* Tests whether this user can sample here. Returns 0, or a negative errno; sonde_error_text() then gives the reason and
 * the remedy. */
int sonde_perf_events_probe(void);

/* Follows task `tid` and the tasks that it creates, on every CPU of `rings`: from its next exec on if `from_exec`, else
 * at once. -ESRCH if the task has ended. */
int sonde_perf_events_follow(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t tid,
			     int from_exec);
/* Opens one more sampling event on `tid`, enabled at once, with its own period. Failure is ignored. The event's stack
 * copies are 8 bytes shorter than those of other events, by which its samples are recognised. */
void sonde_perf_events_extra(struct sonde_perf_events *events, struct sonde_perf_rings *rings, pid_t tid,
			     uint64_t period_ns);
void sonde_perf_events_close(struct sonde_perf_events *events);

/* A decoded SAMPLE record; unwind.kernel and unwind.stack point into the record. */
struct sonde_perf_sample {
	pid_t pid, tid;
	int in_kernel;
	int extra; /* from an event of sonde_perf_events_extra() */
	struct sonde_unwind_sample unwind;
};

/* -EBADMSG if a record does not have the expected format. */
int sonde_perf_events_decode(const struct sonde_perf_shape *shape, const struct sonde_perf_record *record,
			     struct sonde_perf_sample *out);

#endif
