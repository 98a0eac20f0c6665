/* rss.h: memory of processes over time: the points of memory.rss or another per-process metric. */
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
	struct sonde_rss_point *points; /* sorted by time after sonde_rss_sort() */
	size_t count, cap;
};

struct sonde_rss {
	struct sonde_rss_series *series; /* by process id */
	size_t count;                    /* ids + 1 */
	enum sonde_metric metric;
	const struct sonde_session *session;
};

/* Functions that return int return 0 or -ENOMEM. */
int sonde_rss_init(struct sonde_rss *rss, const struct sonde_session *session);
void sonde_rss_fini(struct sonde_rss *rss);
/* Takes the relevant points of a batch of SERIES and ignores others. */
int sonde_rss_feed(struct sonde_rss *rss, const struct sonde_batch *batch);
int sonde_rss_merge(struct sonde_rss *rss, const struct sonde_rss *other);
/* Call once all batches are fed. */
void sonde_rss_sort(struct sonde_rss *rss);

/* Does init, feed and sort at once, for passes that do not read SERIES otherwise. Unreadable chunks are skipped. */
int sonde_rss_read(struct sonde_rss *out, struct sonde_session *session);
int sonde_rss_read_of(struct sonde_rss *out, struct sonde_session *session, enum sonde_metric metric);

/* The last point at or before a time; NULL if there is none. */
const struct sonde_rss_point *sonde_rss_at(const struct sonde_rss_series *series, uint64_t time_ns);
/* The larger of two values: of the last point up to time_ns and of the first point after it. A point counts only if it
 * is at most within_ns away; 0 if neither is. Both are needed because memory just allocated is touched a little later,
 * and may be freed soon. */
uint64_t sonde_rss_around(const struct sonde_rss *rss, uint32_t process, uint64_t time_ns, uint64_t within_ns);

/* Distances between consecutive points, in ns. */
struct sonde_rss_pace {
	struct sonde_moments between;
	uint64_t longest_ns;
};

void sonde_rss_pace_add(struct sonde_rss_pace *pace, const struct sonde_rss_series *series);

#endif
