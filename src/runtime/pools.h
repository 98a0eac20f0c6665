/* pools.h: what a self-recording process says of its pools (sonde_alloc()): heaps of its file, and answers.
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
	SONDE_POOLS_LOST_NAMES,  /* events of pools that were too many */
	SONDE_POOLS_LOST_SITES,  /* of pools and threads that were too many */
	SONDE_POOLS_LOST_MEMORY, /* for which there was no memory */
	SONDE_POOLS_LOST_COUNT
};

size_t sonde_pools_b(void);
struct sonde_pools *sonde_pools_init(void *memory, struct sonde_file *file);
/* The name of a pool: `site` is the process's number of it. */
void sonde_pools_name(struct sonde_pools *pools, uint32_t site, const char *name);
/* An event of a thread, the file's id of it. They wait until the next run, which puts them in order. */
void sonde_pools_add(struct sonde_pools *pools, uint32_t thread, const struct sonde_event_block *event);
/* What was alive at this time can be told exactly: no chunk goes across it. */
void sonde_pools_snapshot(struct sonde_pools *pools, uint64_t time_ns);
/* Writes what happened up to a time that had passed before the rings were read; UINT64_MAX: everything. */
void sonde_pools_run(struct sonde_pools *pools, uint64_t until_ns);
/* Of the latest event that was added; 0 = there was none. */
uint64_t sonde_pools_latest_ns(const struct sonde_pools *pools);
/* As link.h says, of what was written. */
void sonde_pools_answer(const struct sonde_pools *pools, const char *name, struct sonde_link_blocks *out);
/* Events that were left out, for a reason, since this was asked last. */
uint64_t sonde_pools_lost(struct sonde_pools *pools, enum sonde_pools_lost reason);
/* The recording ends: writes the rest and what is still alive, and gives back what was mapped beyond sonde_pools_b();
 * answers stay. */
void sonde_pools_close(struct sonde_pools *pools);

#endif
