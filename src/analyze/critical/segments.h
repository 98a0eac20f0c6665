/* segments.h: segments of threads and their causes, for the code that builds the graph (critical/critical.h). */
#ifndef SONDE_ANALYZE_CRITICAL_SEGMENTS_H
#define SONDE_ANALYZE_CRITICAL_SEGMENTS_H

#include "analyze/critical/critical.h"

/* Creates a segment that is not yet part of a thread. It has no cause if `cause` names no thread, call or device
 * activity. Returns its id in `*out`. -ENOMEM, -EOVERFLOW. */
int sonde_critical_segment_new(struct sonde_critical *critical, uint32_t *out, struct sonde_critical_segment segment,
			       const struct sonde_critical_cause *cause);
/* Adds a cause to a segment that has none. -ENOMEM. */
int sonde_critical_cause_add(struct sonde_critical *critical, uint32_t id, const struct sonde_critical_cause *cause);

#endif
