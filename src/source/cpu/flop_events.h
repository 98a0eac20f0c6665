/* flop_events.h: which counters of a processor count FLOP, what a count is worth, and whether it counts at all. */
#ifndef SONDE_SOURCE_CPU_FLOP_EVENTS_H
#define SONDE_SOURCE_CPU_FLOP_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_FLOP_EVENTS_MAX 5u

struct sonde_flop_event {
	uint64_t config; /* of a raw perf event: event select, and umask << 8 */
	double flop;     /* that one count stands for */
};

struct sonde_flop_events {
	const char *name; /* of the processor */
	struct sonde_flop_event event[SONDE_FLOP_EVENTS_MAX];
	size_t count;
};

/* What the kernel tells of one event, and of how long it had a counter. */
struct sonde_flop_reading {
	uint64_t count, enabled_ns, running_ns;
};

/* 0; -ENOENT where the processor shows no counters, or of cores of two kinds only some count; -EOPNOTSUPP where nobody
 * told us its events, or the kernel is too old to read them; with a sentence. `root` is put before /proc and /sys. */
int sonde_flop_events_find(struct sonde_flop_events *out, const char *root, char *why, size_t why_b);

/* FLOP of all readings, one an event; what had a counter only for a part of the time is extrapolated. `least_share`:
 * the smallest such part, 1 = nothing was extrapolated. −1 where an event that was enabled never had one: nothing is
 * known.
 */
double sonde_flop_events_sum(const struct sonde_flop_events *events, const struct sonde_flop_reading *readings,
			     double *least_share);

/* Whether what was counted of work that is known is near enough to it to be believed: 1 %. */
int sonde_flop_events_believable(double counted, double known);

#endif
