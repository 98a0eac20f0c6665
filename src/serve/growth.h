/* growth.h: keeps a live server's session up to date between queries, and notifies open pages.
 *
 * No query is answered while the session changes, and no answer is cached while the recording may grow. The server's
 * owner calls sonde_growth_tick() a few times a second, so that none of our threads wakes up while nothing changes.
 */
#ifndef SONDE_SERVE_GROWTH_H
#define SONDE_SERVE_GROWTH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/events.h"
#include "serve/follow.h"
#include "serve/worker.h"

struct sonde_growth {
	struct sonde_events *events;   /* NULL: the recording is complete */
	char *path;                    /* of the recording */
	struct sonde_follow follow;    /* used by the worker only, except for the atomic fields */
	uint64_t said_events, said_ns; /* number of events last sent to pages, and when; used by the worker only */
	struct sonde_worker *worker;   /* borrowed */
	struct sonde_work refresh;
	_Atomic int is_refreshing; /* a refresh is queued or running */
	uint64_t beat_ns;          /* time of the last heartbeat; used by sonde_growth_tick() */
	char end[512];             /* message about how the recording ended */
	_Atomic int is_to_end;     /* `end` has been written */
	_Atomic int is_whole;      /* the session will not change any more */
};

/* `growth` must be zeroed. 0, or -ENOMEM with a message; set `worker` before the first tick. */
int sonde_growth_init(struct sonde_growth *growth, struct sonde_session **session, int is_live);
void sonde_growth_fini(struct sonde_growth *growth);

/* Number of open pages that receive events. Any thread. */
size_t sonde_growth_pages(struct sonde_growth *growth);

/* True if the session will not change any more. Any thread. */
int sonde_growth_is_whole(const struct sonde_growth *growth);

/* In the worker: reads the data added to the recording, and notifies open pages. */
void sonde_growth_read(struct sonde_growth *growth);

/* See sonde_server_tick() and sonde_server_end(). */
size_t sonde_growth_tick(struct sonde_growth *growth);
void sonde_growth_end(struct sonde_growth *growth, const char *sentence);

#endif
