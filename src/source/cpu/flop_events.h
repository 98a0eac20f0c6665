/* flop_events.h: which counters of a processor count FLOP, the value of a count, and whether the counters work. */
#ifndef SONDE_SOURCE_CPU_FLOP_EVENTS_H
#define SONDE_SOURCE_CPU_FLOP_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_FLOP_EVENTS_MAX 5u

struct sonde_flop_event {
	uint64_t config; /* of a raw perf event: event select | umask << 8 */
	double flop;     /* FLOP per count */
};

struct sonde_flop_events {
	const char *name; /* processor name */
	struct sonde_flop_event event[SONDE_FLOP_EVENTS_MAX];
	size_t count;
};

/* The count of one event as read from the kernel, the time for which it was enabled, and the time for which it had a
 * counter. */
struct sonde_flop_reading {
	uint64_t count, enabled_ns, running_ns;
};

/* Finds the events for this processor. Returns 0, or an error with a message in `why`: -ENOENT if the processor exposes
 * no counters, or if only one of its two kinds of cores counts FLOP; -EOPNOTSUPP if the processor's events are unknown,
 * or if the kernel is too old to read them. `root` is a prefix for /proc and /sys. */
int sonde_flop_events_find(struct sonde_flop_events *out, const char *root, char *why, size_t why_b);

/* The FLOP of all readings, one per event. A count is extrapolated if its event had a counter only part of the time;
 * `least_share` is the smallest part of the time for which an event had a counter; 1 = nothing was extrapolated.
 * Returns −1 if an enabled event never had a counter, so that the result is unknown. */
double sonde_flop_events_sum(const struct sonde_flop_events *events, const struct sonde_flop_reading *readings,
			     double *least_share);

/* True if `counted` is within 1 % of `known`, the amount of work that was done. */
int sonde_flop_events_believable(double counted, double known);

#endif
