/* segments.h: segments of threads and their causes, for who makes the graph of a recording (critical/critical.h). */
#ifndef SONDE_ANALYZE_CRITICAL_SEGMENTS_H
#define SONDE_ANALYZE_CRITICAL_SEGMENTS_H

#include "analyze/critical/critical.h"

/* A segment of no thread yet; `cause` without a thread, a call and work is none. Its id in `*out`. -ENOMEM, -EOVERFLOW.
 */
int sonde_critical_segment_new(struct sonde_critical *critical, uint32_t *out, struct sonde_critical_segment segment,
			       const struct sonde_critical_cause *cause);
/* To a segment that has none. -ENOMEM. */
int sonde_critical_cause_add(struct sonde_critical *critical, uint32_t id, const struct sonde_critical_cause *cause);

#endif
