/* span_pairs.h: the begins and ends of asynchronous spans, paired up. */
#ifndef SONDE_ANALYZE_ZONE_SPAN_PAIRS_H
#define SONDE_ANALYZE_ZONE_SPAN_PAIRS_H

#include "analyze/marks.h"

#define SONDE_SPAN_OPEN UINT64_MAX /* instead of a duration: it has no end */

/* Gives every span once, by its begin, until `take` returns what is not 0, which is returned. `marks` are begins and
 * ends, which are sorted here. `unmatched`: ends without a begin. -ENOMEM with a sentence. */
int sonde_span_pairs(struct sonde_marks *marks,
		     int (*take)(void *context, const struct sonde_mark *begin, uint64_t dur_ns), void *context,
		     uint64_t *unmatched);

#endif
