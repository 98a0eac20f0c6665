/* growth.h: a server's recording that is still being written: read between questions, and open pages told of it.
 *
 * Nothing is answered from a session that changes, and nothing is kept for later of one that will. Whoever owns the
 * server calls sonde_growth_tick() a few times a second, so that no thread of ours wakes up for a recording that is
 * complete.
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
	struct sonde_follow follow;    /* the worker's, but for what is atomic */
	uint64_t said_events, said_ns; /* what pages were told last, and when; the worker's */
	struct sonde_worker *worker;   /* borrowed */
	struct sonde_work refresh;
	_Atomic int is_refreshing; /* refresh waits or is worked on */
	uint64_t beat_ns;          /* when pages were told that we are there; of sonde_growth_tick() */
	char end[512];             /* what is to be said of the end */
	_Atomic int is_to_end;     /* `end` is complete */
	_Atomic int is_whole;      /* the session does not change any more */
};

/* `growth` is all zero. 0 or -ENOMEM with a sentence; `worker` is set before the first tick. */
int sonde_growth_init(struct sonde_growth *growth, struct sonde_session **session, int is_live);
void sonde_growth_fini(struct sonde_growth *growth);

/* How many open pages are told. Any thread. */
size_t sonde_growth_pages(struct sonde_growth *growth);

/* Whether the session does not change any more. Any thread. */
int sonde_growth_is_whole(const struct sonde_growth *growth);

/* In the worker: reads what the recording has grown by, and tells who looks. */
void sonde_growth_read(struct sonde_growth *growth);

/* sonde_server_tick() and sonde_server_end(). */
size_t sonde_growth_tick(struct sonde_growth *growth);
void sonde_growth_end(struct sonde_growth *growth, const char *sentence);

#endif
