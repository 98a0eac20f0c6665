/* device_labels.h: what devices and their queues are called, the same in sections, on the timeline and in exports. */
#ifndef SONDE_SESSION_DEVICE_LABELS_H
#define SONDE_SESSION_DEVICE_LABELS_H

#include "session/session.h"

enum { SONDE_DEVICE_LABEL_MAX_B = 16384 }; /* room for the longest names that are told */

/* The first row of the same device, which several processes may use: it has its name and number everywhere. NULL = not
 * known. */
const struct sonde_device *sonde_device_first(const struct sonde_session *session, uint32_t device);

/* "OpenCL pocl-cpu 0", the same for all rows of one device, and with its process where another one would be called the
 * same: "OpenCL pocl-cpu 0 of app (4711)"; "" of one that is not known. Cut to `out_b`; returns `out`. */
const char *sonde_device_label_put(const struct sonde_session *session, uint32_t device, char *out, size_t out_b);

/* "first", "queue 7"; "" of one that is not known. */
const char *sonde_queue_name_put(const struct sonde_session *session, uint32_t queue, char *out, size_t out_b);
/* The same with its process where its device goes by the number of another one: "queue 7 of worker (102)". */
const char *sonde_queue_label_put(const struct sonde_session *session, uint32_t queue, char *out, size_t out_b);

#endif
