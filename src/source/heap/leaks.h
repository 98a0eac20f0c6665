/* leaks.h: a process is about to end: what of its heap can still be reached is written into the recording. */
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
	int asker;                          /* the socket where it waits for an answer */
	struct sonde_heap_threads *threads; /* all but the one that asks */
	struct sonde_heap_chunks *chunks;
	const struct sonde_heap_live *mappings; /* NULL = not known */
	const uint32_t *loader_sites; /* where the dynamic loader allocates: never leaks, as in LeakSanitizer */
	size_t loader_site_count;
};

/* Why nobody looked at a process that waited in vain. */
#define SONDE_HEAP_SILENT "the recorder was stopped or too busy while it waited"

/* Of each site what is unreachable, what of that indirectly, and what is reachable; or, when nobody could look, that it
 * is not known and why. 0 or a negative errno. */
int sonde_heap_leaks_tell(const struct sonde_heap_leaks *leaks);

#endif
