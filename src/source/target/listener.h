/* listener.h: the callbacks by which a source learns of processes that connect to the channel (target/channel.h).
 *
 * A listener belongs to one client (enum sonde_link_client): the object inside the process that connects. Several
 * sources may listen for one client. All of them are notified of processes and get their data; but a question of a
 * process is answered only by the first listener that has a function for it. Every function may be NULL. All are called
 * in the recorder's thread.
 */
#ifndef SONDE_SOURCE_TARGET_LISTENER_H
#define SONDE_SOURCE_TARGET_LISTENER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fold/drain.h"
#include "format/event.h"
#include "format/link.h"

struct sonde_pool;

#define SONDE_PROGRAM_ZONES_MAX \
	1024u /* maximum number of zones per call: processing them stays within the nearest cache */

struct sonde_pool_thread {
	uint64_t serial; /* consecutive number of the thread within the process */
	uint32_t id;     /* id in the recording */
};

/* Drains the rings of a process that waits for the answer to a question. */
struct sonde_channel_drainer {
	void *context;
	void (*drain)(void *context, pid_t pid);
	int asker; /* the socket of the process: see sonde_channel_is_waiting() */
};

/* Receives the records that one process makes with libsonde, as decoded by fold/drain.h. No function may be NULL. */
struct sonde_program_sink {
	void *context; /* of that process */
	void (*site)(void *context, const struct sonde_drain_site *site);
	void (*zones)(void *context, struct sonde_drain_thread *thread, const uint32_t *sites, const uint64_t *times_ns,
		      size_t count, int gap);
	void (*event)(void *context, struct sonde_drain_thread *thread, const struct sonde_event *event);
	void (*counter)(void *context, struct sonde_drain_thread *thread, uint32_t site, uint64_t total);
	void (*histogram)(void *context, struct sonde_drain_thread *thread, uint32_t site, const uint64_t *hits,
			  uint64_t sum, uint64_t min, uint64_t max);
	void (*lost)(void *context, uint64_t count); /* lost events, for any cause */
	void (*thread_end)(void *context, struct sonde_drain_thread *thread);
	/* All rings have been read once more; reading started at `before_ns`. */
	void (*drained)(void *context, uint64_t before_ns);
	/* Answer questions of the process from its rings so far. answer() returns the size of the answer; blocks()
	 * returns 0 or a negative errno. */
	size_t (*answer)(void *context, const struct sonde_link_query *query, struct sonde_link_answer *out);
	int (*blocks)(void *context, const char *name, struct sonde_link_blocks *out);
	/* Called after the last record: writes the rest and frees the context. */
	void (*end)(void *context);
};

struct sonde_channel_listener {
	void *context;
	const char *source; /* whose records are missing if a process is not recorded; NULL = another listener's */

	/* A process connects; its pool comes next. `flags`: enum sonde_link_flag, `clock`: enum sonde_ring_clock. */
	void (*flags)(void *context, pid_t pid, uint32_t flags);
	void (*opened)(void *context, pid_t pid, uint32_t clock);
	void (*closed)(void *context, pid_t pid);
	/* Fills in the sink for its libsonde records. 0 or a negative errno. */
	int (*program)(void *context, struct sonde_pool *pool, pid_t pid, struct sonde_program_sink *out);

	/* The contents of a process's rings. `thread`: id in the recording. */
	void (*sample)(void *context, pid_t pid, pid_t tid, uint32_t thread,
		       const struct sonde_event_cpu_sample *sample);
	void (*call)(void *context, pid_t pid, uint32_t thread, const struct sonde_event_call_stack *call);
	/* Words of a thread's HEAP chunks. When the thread has ended: `words` NULL, count 0. */
	void (*heap)(void *context, pid_t pid, const struct sonde_pool_thread *thread, const uint64_t *words,
		     size_t count);

	/* A process that never connected has ended. */
	void (*farewell)(void *context, pid_t pid, const struct sonde_link_farewell *farewell);
	/* A process continues without being recorded. */
	void (*left)(void *context, pid_t pid, const struct sonde_link_leave *leave);

	/* Questions of a process, which waits for the answer. */

	/* The process requests a table (next function). Its rings are drained first, because their events refer to the
	 * previous mappings. */
	void (*passed)(void *context, pid_t pid, const struct sonde_channel_drainer *drainer);
	/* Fills in the mapping of an address. Returns a descriptor to send along, which is then closed, or −1. */
	int (*table)(void *context, pid_t pid, uint64_t address, struct sonde_link_table *out);
	/* The process is about to exit: scans its memory for leaks. 0 or a negative errno. */
	int (*scan)(void *context, pid_t pid, const struct sonde_link_scan *question,
		    const struct sonde_channel_drainer *drainer);
	/* Fills in the live blocks of a heap of the process (heap/process.h). 0 or −ENOENT. */
	int (*blocks)(void *context, pid_t pid, const char *name, const struct sonde_channel_drainer *drainer,
		      struct sonde_link_blocks *out);

	/* Queries of other sources (sonde_channel_covers() and related functions). */
	int (*covers)(void *context, pid_t pid);
	int (*covered)(void *context, uint32_t process);
	int (*unreachable)(void *context, uint32_t process);
};

/* The listeners of one client. */
#define SONDE_LISTENERS_MAX 4u

struct sonde_listeners {
	const struct sonde_channel_listener *rows[SONDE_LISTENERS_MAX]; /* borrowed */
	size_t count;
};

/* Calls a function of all listeners that have it. */
#define SONDE_LISTENERS_CALL(listeners, function, ...)                                                       \
	do {                                                                                                 \
		for (size_t listeners_i = 0; listeners_i < (listeners)->count; listeners_i++) {              \
			const struct sonde_channel_listener *listeners_row = (listeners)->rows[listeners_i]; \
			if (listeners_row->function)                                                         \
				listeners_row->function(listeners_row->context, __VA_ARGS__);                \
		}                                                                                            \
	} while (0)

#endif
