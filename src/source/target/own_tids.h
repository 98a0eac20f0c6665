/* own_tids.h: maps tids of another pid namespace to tids of ours.
 *
 * A process in another pid namespace reports tids of that namespace; the kernel's reports, and everything else in the
 * recording, use the tids of our namespace. /proc/PID/task/TID/status has both (NSpid, Linux 4.1). Not thread-safe.
 */
#ifndef SONDE_SOURCE_TARGET_OWN_TIDS_H
#define SONDE_SOURCE_TARGET_OWN_TIDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/map.h"

struct sonde_own_tids {
	uint64_t read_ns;
	struct sonde_own_tid {
		pid_t own, ours;
	} * rows;
	size_t count, cap;
	struct sonde_map by_own, by_ours; /* row + 1 */
};

/* A zeroed struct is ready to use. */
void sonde_own_tids_fini(struct sonde_own_tids *tids);

/* Our tid of the thread that process `pid` calls `own`; 0 = unknown, because the thread ended before it was seen. */
pid_t sonde_own_tids_find(struct sonde_own_tids *tids, pid_t pid, pid_t own);

#endif
