/* gaps.h: times in which a device had nothing to do, and what the thread that asked for what came next did
 * then. */
#ifndef SONDE_ANALYZE_DEVICE_GAPS_H
#define SONDE_ANALYZE_DEVICE_GAPS_H

#include "analyze/device/times.h"

/* In this order: where two say something of the same time, the first one counts. */
enum sonde_gap_cause {
	SONDE_GAP_ASKED, /* it had been asked for, and had not started: the host did its part */
	SONDE_GAP_SYNC,
	SONDE_GAP_BUILD,
	SONDE_GAP_API,
	SONDE_GAP_IO,
	SONDE_GAP_WAIT,
	SONDE_GAP_RUNNING, /* samples: an estimate */
	SONDE_GAP_CAUSES
};

struct sonde_gap_span {
	uint64_t from_ns, to_ns;
	uint32_t stack; /* of RUNNING */
	uint32_t cause;
};

struct sonde_gap {
	uint64_t from_ns, to_ns;
	uint64_t queued_ns; /* when what ended it was asked for; 0 = not known */
	uint32_t device, operation, thread;
	/* What the host did. */
	struct sonde_gap_span *spans;
	size_t count, cap;
	uint64_t cause_ns[SONDE_GAP_CAUSES];
	uint32_t zone_site,
	    zone_depth;    /* the innermost zone that lasted for at least half of it; depth + 1, 0 = none */
	uint32_t function; /* with the largest part of the samples */
	int has_function;
};

struct sonde_gaps {
	struct sonde_gap *all; /* by from_ns */
	size_t count;
	uint64_t left_out; /* spans without room: their time is not known */
	int lacks;         /* chunks could not be read */
};

/* Fills what the host did, from the kept activities and the recording's waits, zones and samples. -ENOMEM. */
int sonde_gaps_explain(struct sonde_gaps *gaps, const struct sonde_device_times *times);
void sonde_gaps_fini(struct sonde_gaps *gaps);

#endif
