/* feed.h: where `sonde top` has its figures from: recordings of the process that is looked at, in files without a
 * name, each of them opened as a session while it grows. */
#ifndef SONDE_CLI_TOP_FEED_H
#define SONDE_CLI_TOP_FEED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/launch.h"
#include "session/session.h"

struct sonde_top_target {
	pid_t pid;
	uint64_t every_ns; /* an interval */
	uint64_t rate_hz;
	int no_perf;
	struct sonde_launch *held; /* let go when it is recorded, so that no child of its is missed; NULL = it runs */
};

/* One interval, or less when the process ends: a recording that is closed, of the calling process. `ended`: it did.
 * -ENOENT, -EACCES: what is held cannot be run. */
int sonde_top_feed_once(const struct sonde_top_target *target, struct sonde_session **out, int *ended);

struct sonde_top_feed;

/* Starts to record, in a process of its own, which ends with this one. Errors as above. */
int sonde_top_feed_open(struct sonde_top_feed **out, const struct sonde_top_target *target);
void sonde_top_feed_close(struct sonde_top_feed *feed);

/* What has come since the last call. 1: it is in the session, which stays as it is until the next call; 0: nothing yet;
 * -ESRCH: the process has ended; or another negative errno. */
int sonde_top_feed_next(struct sonde_top_feed *feed, struct sonde_session **out, uint64_t *from_ns, uint64_t *to_ns);

/* Another length of the intervals. */
void sonde_top_feed_every(struct sonde_top_feed *feed, uint64_t every_ns);

#endif
