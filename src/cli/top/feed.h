/* feed.h: the source of the figures of `sonde top`: recordings of the process in unnamed files, each opened as a
 * session while it grows. */
#ifndef SONDE_CLI_TOP_FEED_H
#define SONDE_CLI_TOP_FEED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/launch.h"
#include "session/session.h"

struct sonde_top_target {
	pid_t pid;
	uint64_t every_ns; /* length of an interval */
	uint64_t rate_hz;
	int no_perf;
	/* the command, held until recording has started, so that none of its children is missed; NULL = the process is
	 * running */
	struct sonde_launch *held;
};

/* Records one interval (or less, if the process exits) in the calling process, and opens the complete recording as a
 * session. `ended`: the process exited. -ENOENT, -EACCES: the held command cannot be run. */
int sonde_top_feed_once(const struct sonde_top_target *target, struct sonde_session **out, int *ended);

struct sonde_top_feed;

/* Starts recording in a separate process, which ends when this process ends. Errors as above. */
int sonde_top_feed_open(struct sonde_top_feed **out, const struct sonde_top_target *target);
void sonde_top_feed_close(struct sonde_top_feed *feed);

/* Gets the interval since the last call. 1: it is in the session, which does not change until the next call; 0: there
 * is nothing new yet; -ESRCH: the process has exited; or another negative errno. */
int sonde_top_feed_next(struct sonde_top_feed *feed, struct sonde_session **out, uint64_t *from_ns, uint64_t *to_ns);

/* Changes the length of the intervals. */
void sonde_top_feed_every(struct sonde_top_feed *feed, uint64_t every_ns);

#endif
