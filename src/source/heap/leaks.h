/* leaks.h: before a process exits, records which of its live heap blocks are still reachable. */
#ifndef SONDE_SOURCE_HEAP_LEAKS_H
#define SONDE_SOURCE_HEAP_LEAKS_H

#include <sys/types.h>

#include "format/link.h"
#include "source/heap/chunks.h"
#include "source/heap/freeze.h"

struct sonde_heap_leaks {
	struct sonde_recorder *recorder;
	pid_t pid;
	const struct sonde_link_scan *question;
	int asker;                          /* the socket on which the process waits for an answer */
	struct sonde_heap_threads *threads; /* all threads except the one that requested the scan */
	struct sonde_heap_chunks *chunks;
	const struct sonde_heap_live *mappings; /* NULL = unknown */
	const uint32_t *loader_sites; /* sites of the dynamic loader's allocations: never leaks, as in LeakSanitizer */
	size_t loader_site_count;
};

/* Reason given if a process waited in vain for the scan. */
#define SONDE_HEAP_SILENT "the recorder was stopped or too busy while it waited"

/* Records for each site its unreachable blocks, the part of them that only unreachable blocks point to, and its
 * reachable blocks. If the scan failed, records that reachability is unknown, and the reason. 0 or a negative errno. */
int sonde_heap_leaks_record(const struct sonde_heap_leaks *leaks);

#endif
