/* rss.h: what processes had in memory over time: the points of memory.rss, or of another metric of processes. */
#ifndef SONDE_ANALYZE_HEAP_RSS_H
#define SONDE_ANALYZE_HEAP_RSS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/statistics/stats.h"
#include "format/metric.h"
#include "session/session.h"

struct sonde_rss_point {
	uint64_t time_ns, size_b;
};

struct sonde_rss_series {
	struct sonde_rss_point *points; /* by time, after sonde_rss_sort() */
	size_t count, cap;
};

struct sonde_rss {
	struct sonde_rss_series *series; /* by process id */
	size_t count;                    /* ids + 1 */
	enum sonde_metric metric;
	const struct sonde_session *session;
};

/* -ENOMEM, as all here that return int. */
int sonde_rss_init(struct sonde_rss *rss, const struct sonde_session *session);
void sonde_rss_fini(struct sonde_rss *rss);
/* Takes what it wants of a batch of SERIES; others it ignores. */
int sonde_rss_feed(struct sonde_rss *rss, const struct sonde_batch *batch);
int sonde_rss_merge(struct sonde_rss *rss, const struct sonde_rss *other);
/* When all is fed. */
void sonde_rss_sort(struct sonde_rss *rss);

/* All of it at once, for who is not fed SERIES anyway: init, feed and sort. Chunks that cannot be read are left out. */
int sonde_rss_read(struct sonde_rss *out, struct sonde_session *session);
int sonde_rss_read_of(struct sonde_rss *out, struct sonde_session *session, enum sonde_metric metric);

/* The last point not later than a moment; NULL where there is none. */
const struct sonde_rss_point *sonde_rss_at(const struct sonde_rss_series *series, uint64_t time_ns);
/* The first point later than a moment; series->count when there is none. */
size_t sonde_rss_after(const struct sonde_rss_series *series, uint64_t time_ns);
/* The larger of the points before and after a moment, as far as they are near: what was allocated just then is touched
 * a little later, and may be gone soon. 0 when there is none. */
uint64_t sonde_rss_around(const struct sonde_rss *rss, uint32_t process, uint64_t time_ns, uint64_t within_ns);

/* From one point to the next, in ns. */
struct sonde_rss_pace {
	struct sonde_moments between;
	uint64_t longest_ns;
};

void sonde_rss_pace_add(struct sonde_rss_pace *pace, const struct sonde_rss_series *series);

#endif
