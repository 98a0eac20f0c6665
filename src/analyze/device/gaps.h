/* gaps.h: idle times of a GPU, and what the thread that requested the next work did meanwhile. */
#ifndef SONDE_ANALYZE_DEVICE_GAPS_H
#define SONDE_ANALYZE_DEVICE_GAPS_H

#include "analyze/device/times.h"

/* In order of precedence: if two causes cover the same time, the first one counts. */
enum sonde_gap_cause {
	SONDE_GAP_REQUESTED, /* the host had requested the work, but the work had not started */
	SONDE_GAP_SYNC,
	SONDE_GAP_BUILD,
	SONDE_GAP_API,
	SONDE_GAP_IO,
	SONDE_GAP_WAIT,
	SONDE_GAP_RUNNING, /* from samples: an estimate */
	SONDE_GAP_CAUSES
};

struct sonde_gap_span {
	uint64_t from_ns, to_ns;
	uint32_t stack; /* stack of the sample, if the cause is RUNNING */
	uint32_t cause;
};

struct sonde_gap {
	uint64_t from_ns, to_ns;
	uint64_t queued_ns; /* when the work that ended the gap was requested; 0 = unknown */
	uint32_t device, operation, thread;
	/* What the host did. */
	struct sonde_gap_span *spans;
	size_t count, cap;
	uint64_t cause_ns[SONDE_GAP_CAUSES];
	uint32_t zone_site,
	    zone_depth;    /* the innermost zone that covers at least half of the gap; depth + 1, 0 = none */
	uint32_t function; /* the function with the most samples */
	int has_function;
};

struct sonde_gaps {
	struct sonde_gap *all; /* sorted by from_ns */
	size_t count;
	uint64_t left_out; /* spans dropped for lack of capacity: their time is unknown */
	int is_incomplete; /* some chunks could not be read */
};

/* Determines what the host did, from the kept activities and the recording's waits, zones and samples. -ENOMEM. */
int sonde_gaps_explain(struct sonde_gaps *gaps, const struct sonde_device_times *times);
void sonde_gaps_fini(struct sonde_gaps *gaps);

#endif
