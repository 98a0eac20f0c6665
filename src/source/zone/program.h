/* program.h: records the data that a process reports through libsonde (zones, spans, counters, pools, devices). One
 * thread. Ids of sites and threads are converted to the recording's; the process's own queries (sonde_stats_of() and
 * the like) are answered from the same records. All data is untrusted; fold/drain.h has validated it.
 */
#ifndef SONDE_SOURCE_ZONE_PROGRAM_H
#define SONDE_SOURCE_ZONE_PROGRAM_H

#include <sys/types.h>

#include "source/source.h"
#include "source/target/listener.h"

/* Fills in the sink for the records of a connected process. out->end() frees the sink. -ENOMEM. */
int sonde_program_new(const struct sonde_source_context *context, struct sonde_pool *pool, pid_t pid,
		      struct sonde_program_sink *out);

#endif
