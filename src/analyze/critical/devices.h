/* devices.h: device activities as part of the graph of a recording (critical/critical.h).
 *
 * A thread that waited for a device has a blocked segment from the call until it was active again; the cause is the
 * activity that ended last. An activity has the thread and time of its submission, and a predecessor in its queue: it
 * could start neither before its submission nor before its predecessor had ended.
 */
#ifndef SONDE_ANALYZE_CRITICAL_DEVICES_H
#define SONDE_ANALYZE_CRITICAL_DEVICES_H

#include "analyze/critical/critical.h"

#define SONDE_CRITICAL_WORKS_MAX ((size_t)4 << 20) /* limit for activities, and for waits */

/* A call that waits for a device. */
struct sonde_critical_device_wait {
	uint64_t from_ns, to_ns, correlation;
	uint32_t thread, process, queue; /* queue 0 = unknown */
	uint32_t work;                   /* the activity that ended it; 0 = unknown */
	/* a copying call: waits only for activities with its own correlation, if there are any */
	uint32_t is_copy;
};

/* Fills `works` of the graph for the span, and inserts waits for devices into the segments. Call it once, after all
 * segments and the span are complete. -ENOMEM, -EOVERFLOW. */
int sonde_critical_devices_read(struct sonde_critical *critical);

/* --- critical/device_waits.c -------------------------------------------------------------------------------------- */

/* Inserts the waits whose `work` is known into the segments of their threads; sorts `waits`. */
int sonde_critical_device_waits_put(struct sonde_critical *critical, struct sonde_critical_device_wait *waits,
				    size_t count);

#endif
