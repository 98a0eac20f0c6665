/* curves.h: what was alive of each heap over time, for formats that show counters: "heap live", "mappings live", "pool
 * NAME live".
 *
 * A heap has some hundreds of points: its process's time in equal parts, each with the most that was alive in it, at
 * its middle, and what was alive at its end. A process's end is a point of 0.
 */
#ifndef SONDE_EXPORT_CURVES_H
#define SONDE_EXPORT_CURVES_H

#include <stdint.h>

#include "export/format.h"
#include "session/session.h"

struct sonde_curve {
	uint32_t heap, process; /* ids */
	const char *name;
};

/* Calls `take` for each point, heap by heap, in time order; its first error ends the walk and is returned. -ENOMEM.
 * `left`: how many heaps have chunks that could not be read, which their curves lack. */
int sonde_curves_heaps(struct sonde_session *session, const struct sonde_format_options *options,
		       int (*take)(void *context, const struct sonde_curve *curve, uint64_t time_ns, uint64_t live_b),
		       void *context, uint64_t *left);

#endif
