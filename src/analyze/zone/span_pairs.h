/* span_pairs.h: pairs the begins and ends of asynchronous spans. */
#ifndef SONDE_ANALYZE_ZONE_SPAN_PAIRS_H
#define SONDE_ANALYZE_ZONE_SPAN_PAIRS_H

#include "analyze/marks.h"

#define SONDE_SPAN_OPEN UINT64_MAX /* in place of a duration: the span has no end */

/* Calls `take` once per span, with its begin, until it returns non-zero, which is returned. `marks` are the begins and
 * ends, which get sorted. `unmatched`: ends without a begin. -ENOMEM with a message. */
int sonde_span_pairs(struct sonde_annotations *marks,
		     int (*take)(void *context, const struct sonde_mark *begin, uint64_t dur_ns), void *context,
		     uint64_t *unmatched);

#endif
