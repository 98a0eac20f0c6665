/* program.h: what one process records with libsonde (zones, spans, counters, pools, devices), into the recording. One
 * thread. Ids of sites and threads become the recording's; what is asked by the process itself (sonde_zone_stats_of()
 * and its like) is answered from the same records. Everything is hostile; fold/drain.h has checked it.
 */
#ifndef SONDE_SOURCE_ZONE_PROGRAM_H
#define SONDE_SOURCE_ZONE_PROGRAM_H

#include <sys/types.h>

#include "source/source.h"
#include "source/target/listener.h"

/* Fills in who takes the records of a process that has connected; freed by out->end(). -ENOMEM. */
int sonde_program_new(const struct sonde_source_context *context, struct sonde_pool *pool, pid_t pid,
		      struct sonde_program_sink *out);

#endif
