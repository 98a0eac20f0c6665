/* activities.h: an ACTIVITIES chunk being filled: what devices did, and the host for them, of all processes. One
 * thread.
 */
#ifndef SONDE_SOURCE_ACTIVITIES_H
#define SONDE_SOURCE_ACTIVITIES_H

#include <stdint.h>

#include "source/columns.h"
#include "trace/writer.h"

/* One that was measured. Ids are the recording's. */
struct sonde_timed {
	uint64_t start_ns, dur_ns;
	uint64_t queued_ns,
	    submitted_ns;     /* when it was asked for, and handed over: not after its start; 0 = not known */
	uint64_t correlation; /* 0 = none */
	uint64_t size_b, address;
	uint32_t operation;
	uint32_t queue;  /* 0 = on the host */
	uint32_t thread; /* 0 = not known */
};

struct sonde_activities {
	struct sonde_columns columns;
	struct sonde_timed last; /* of the chunk */
};

void sonde_activities_init(struct sonde_activities *activities);
/* Without what was not written yet. */
void sonde_activities_fini(struct sonde_activities *activities);
/* In any order of time. 1: the chunk is full. */
int sonde_activities_put(struct sonde_activities *activities, const struct sonde_timed *row);
/* 0, or the writer's error. */
int sonde_activities_flush(struct sonde_activities *activities, struct sonde_writer *writer);

#endif
