/* device_labels.h: labels of devices and their queues, identical in sections, on the timeline and in exports. */
#ifndef SONDE_SESSION_DEVICE_LABELS_H
#define SONDE_SESSION_DEVICE_LABELS_H

#include "session/session.h"

enum { SONDE_DEVICE_LABEL_MAX_B = 16384 }; /* capacity for the longest recorded names */

/* The first row of the physical device, which several processes may use; its name and number represent the device
 * everywhere. NULL = unknown. */
const struct sonde_device *sonde_device_first(const struct sonde_session *session, uint32_t device);

/* Formats "OpenCL pocl-cpu 0", the same for all rows of one device. If another device would get the same label, the
 * process is appended: "OpenCL pocl-cpu 0 of app (4711)". "" if unknown. Truncated to out_b; returns `out`. */
const char *sonde_device_label_put(const struct sonde_session *session, uint32_t device, char *out, size_t out_b);

/* "first", "queue 7"; "" if unknown. */
const char *sonde_queue_name_put(const struct sonde_session *session, uint32_t queue, char *out, size_t out_b);
/* The same, with the process appended if another device has the same number: "queue 7 of worker (102)". */
const char *sonde_queue_label_put(const struct sonde_session *session, uint32_t queue, char *out, size_t out_b);

#endif
