/* own_tids.h: the threads of a process in a pid namespace of its own, by the numbers that they have there.
 *
 * What such a process tells of itself has its own numbers; the kernel, and everything else that is recorded, has those
 * of our namespace. /proc/PID/task/TID/status has both (NSpid, Linux 4.1). Not thread-safe.
 */
#ifndef SONDE_SOURCE_TARGET_OWN_TIDS_H
#define SONDE_SOURCE_TARGET_OWN_TIDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/map.h"

struct sonde_own_tids {
	uint64_t looked_ns;
	struct sonde_own_tid {
		pid_t own, ours;
	} * rows;
	size_t count, cap;
	struct sonde_map by_own, by_ours; /* row + 1 */
};

/* A zeroed struct is ready. */
void sonde_own_tids_fini(struct sonde_own_tids *tids);

/* Our number of a thread of process `pid` that calls itself `own`; 0 = not known: it ended before anybody looked. */
pid_t sonde_own_tids_find(struct sonde_own_tids *tids, pid_t pid, pid_t own);

#endif
