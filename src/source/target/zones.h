/* zones.h: the source of everything that targets send by themselves: zones, metrics, spans, in-process CPU samples.
 *
 * Listens on a socket in the abstract namespace whose name nobody can guess and only processes of our user may use, and
 * on another for those in other network namespaces (target/zones_listen.c),
 * gives each process a pool (source/target/pool.h) and drains it. sonde_source_zones is its row in sources.def.
 */
#ifndef SONDE_SOURCE_TARGET_ZONES_H
#define SONDE_SOURCE_TARGET_ZONES_H

#include <stdint.h>
#include <sys/types.h>

#include "format/event.h"
#include "format/link.h"
#include "source/target/pool.h"
#include "source/source.h"

extern const struct sonde_source sonde_source_zones;

struct sonde_zones_drainer {
	void *context;
	void (*drain)(void *context, pid_t pid);
	int asker; /* the socket of the process that waits for an answer */
};

/* Whether it still does: one that found us stopped does not. */
int sonde_zones_is_waiting(int asker);

/* Another source's part in it: told of the processes that connect as `client` (enum sonde_link_client), and of what
 * they send. Every function may be NULL. */
struct sonde_zones_listener {
	void *context;
	void (*opened)(void *context, pid_t pid, uint32_t clock); /* before its pool is made; enum sonde_ring_clock */
	void (*flags)(void *context, pid_t pid, uint32_t flags);  /* before that; enum sonde_link_flag */
	void (*sample)(void *context, pid_t pid, pid_t tid, uint32_t thread,
		       const struct sonde_event_cpu_sample *sample);
	void (*call)(void *context, pid_t pid, uint32_t thread, const struct sonde_event_call_stack *call);
	void (*heap)(void *context, pid_t pid, const struct sonde_pool_thread *thread, const uint64_t *words,
		     size_t count);
	void (*closed)(void *context, pid_t pid);
	/* A process ended that never connected. */
	void (*farewell)(void *context, pid_t pid, const struct sonde_link_farewell *farewell);
	/* It goes on without being recorded. */
	void (*left)(void *context, pid_t pid, const struct sonde_link_leave *leave);
	/* Fills in what lies at an address; returns a descriptor to send along, which is closed then, or −1. */
	int (*table)(void *context, pid_t pid, uint64_t address, struct sonde_link_table *out);
	/* before that: what it said so far, of what lay there then */
	void (*passed)(void *context, pid_t pid, const struct sonde_zones_drainer *drainer);
	/* A process waits until it was looked at; what it has published is handed out by `drain`. 0 or a negative
	 * errno.
	 */
	int (*scan)(void *context, pid_t pid, const struct sonde_link_scan *question,
		    const struct sonde_zones_drainer *drainer);
	/* What is alive of a heap of the process (heap/process.h). 0 or −ENOENT. */
	int (*blocks)(void *context, pid_t pid, const char *name, const struct sonde_zones_drainer *drainer,
		      struct sonde_link_blocks *out);
};

/* One a client and process (which makes one recording at a time); set before the source is opened, NULL = none.
 * Borrowed. */
void sonde_zones_listen(enum sonde_link_client client, const struct sonde_zones_listener *listener);
/* Cycles of targets into ns. */
const struct sonde_clockfit *sonde_zones_fit(void);

/* Our number of a thread that process `pid`, which is connected, calls `own`; 0 = not known. */
pid_t sonde_zones_tid(pid_t pid, pid_t own);

/* The name of the socket of the one that is open. */
const char *sonde_zones_socket(void);
/* The path of its second one; "" = it has none. */
const char *sonde_zones_path(void);

/* The socket's name, for tests and for launching by other means. */
const char *sonde_zones_name(const struct sonde_source_run *run);
/* Processes that have connected so far. */
uint64_t sonde_zones_connected(const struct sonde_source_run *run);

#endif
