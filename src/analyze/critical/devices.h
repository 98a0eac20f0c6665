/* devices.h: what devices did, as part of the graph of a recording (critical/critical.h).
 *
 * A thread that waited for a device has a blocked segment from the call to the moment when it got on; its cause is what
 * the device did that ended last. That has a moment at which it was asked for, by a thread, and one before it in its
 * queue: what it could not start before.
 */
#ifndef SONDE_ANALYZE_CRITICAL_DEVICES_H
#define SONDE_ANALYZE_CRITICAL_DEVICES_H

#include "analyze/critical/critical.h"

#define SONDE_CRITICAL_WORKS_MAX ((size_t)4 << 20) /* and as many calls that wait for devices */

/* A call that waits for a device. */
struct sonde_critical_device_wait {
	uint64_t from_ns, to_ns, correlation;
	uint32_t thread, process, queue; /* queue 0 = not told */
	uint32_t work;                   /* what ended it; 0 = not known */
	uint32_t is_copy;                /* it waits for nothing but what has its correlation, if for anything */
};

/* Fills `works` of the graph, in the span, and puts into its segments what threads waited for. Once, when it has all
 * segments and its span. -ENOMEM, -EOVERFLOW. */
int sonde_critical_devices_read(struct sonde_critical *critical);

/* --- critical/device_waits.c ---------------------------------------------------------------------------------------
 */

/* Those of which `work` is known, into the segments of their threads; sorts them. */
int sonde_critical_device_waits_put(struct sonde_critical *critical, struct sonde_critical_device_wait *waits,
				    size_t count);

#endif
