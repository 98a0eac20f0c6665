/* zones.h: the source of everything that targets send by themselves: zones, metrics, spans, in-process CPU samples.
 *
 * Listens on a socket in the abstract namespace whose name nobody can guess and only processes of our user may use,
 * gives each process a pool (source/pool.h) and drains it. sonde_source_zones is its row in sources.def.
 */
#ifndef SONDE_SOURCE_ZONES_H
#define SONDE_SOURCE_ZONES_H

#include <stdint.h>
#include <sys/types.h>

#include "format/event.h"
#include "format/link.h"
#include "source/source.h"

extern const struct sonde_source sonde_source_zones;

/* Another source's part in it: told of processes whose CPU timers connect (SONDE_LINK_CPU), and of their samples. */
struct sonde_zones_listener {
	void *context;
	void (*opened)(void *context, pid_t pid); /* before its pool is made; may be NULL */
	void (*sample)(void *context, pid_t pid, pid_t tid, uint32_t thread,
		       const struct sonde_event_cpu_sample *sample);
	void (*closed)(void *context, pid_t pid); /* may be NULL */
	/* A process ended that never connected; may be NULL. */
	void (*farewell)(void *context, pid_t pid, const struct sonde_link_farewell *farewell);
};

/* One a process (which makes one recording at a time); set before the source is opened, NULL = none. Borrowed. */
void sonde_zones_listen(const struct sonde_zones_listener *listener);

/* The socket's name, for tests and for launching by other means. */
const char *sonde_zones_name(const struct sonde_source_run *run);
/* Processes that have connected so far. */
uint64_t sonde_zones_connected(const struct sonde_source_run *run);

#endif
