/* pools.h: pools of a process that records itself (sonde_alloc()): heaps in its file, and query results.
 *
 * The caller maps sonde_pools_b() bytes of zeroed memory, mostly never touched. One thread at a time.
 */
#ifndef SONDE_RUNTIME_POOLS_H
#define SONDE_RUNTIME_POOLS_H

#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/link.h"
#include "runtime/file.h"

struct sonde_pools;

enum sonde_pools_lost {
	SONDE_POOLS_LOST_NAMES,  /* events of excess pools */
	SONDE_POOLS_LOST_SITES,  /* events of excess combinations of pool and thread */
	SONDE_POOLS_LOST_MEMORY, /* out of memory */
	SONDE_POOLS_LOST_COUNT
};

size_t sonde_pools_b(void);
struct sonde_pools *sonde_pools_init(void *memory, struct sonde_file *file);
/* Names a pool: `site` is the process's number for it. */
void sonde_pools_name(struct sonde_pools *pools, uint32_t site, const char *name);
/* Adds an event of a thread (by its file id). Events wait until the next run, which sorts them. */
void sonde_pools_add(struct sonde_pools *pools, uint32_t thread, const struct sonde_event_block *event);
/* Makes the live heap at this time exact: no chunk spans it. */
void sonde_pools_snapshot(struct sonde_pools *pools, uint64_t time_ns);
/* Writes the events up to a time that was in the past when the rings were read; UINT64_MAX: all events. */
void sonde_pools_run(struct sonde_pools *pools, uint64_t until_ns);
/* Time of the latest event added; 0 = none. */
uint64_t sonde_pools_latest_ns(const struct sonde_pools *pools);
/* Answers a query (format/link.h) from the events written so far. */
void sonde_pools_answer(const struct sonde_pools *pools, const char *name, struct sonde_link_blocks *out);
/* Number of events lost for a reason since the last call. */
uint64_t sonde_pools_lost(struct sonde_pools *pools, enum sonde_pools_lost reason);
/* Ends the recording: writes pending events and live blocks, and unmaps memory beyond sonde_pools_b(); query results
 * stay. */
void sonde_pools_close(struct sonde_pools *pools);

#endif
