/* device_slices.h: device work and the host calls for it, for formats with a track for each device queue and for each
 * thread's device calls: slices that do not overlap within a lane, and arrows from a call to the work that it
 * submitted.
 *
 * The selected time cuts slices; selected threads are those that submitted the work. At most SONDE_DEVICE_SLICES_MAX
 * slices are kept, in the number of lanes below; omitted ones are counted.
 */
#ifndef SONDE_EXPORT_DEVICE_SLICES_H
#define SONDE_EXPORT_DEVICE_SLICES_H

#include "export/format.h"
#include "session/session.h"

enum { SONDE_DEVICE_LANES_MAX = 64 };
#define SONDE_DEVICE_SLICES_MAX ((size_t)8 << 20) /* of 80 bytes each */

struct sonde_device_slice {
	uint64_t from_ns, to_ns;
	uint64_t delay_ns; /* from submission to start, + 1; 0 = not known */
	uint64_t correlation, size_b, address;
	uint32_t operation, queue, thread; /* ids; queue 0: on the host */
	uint32_t lane;                     /* of its queue, or of its thread's calls */
	uint32_t kind;                     /* of activities.def */
	/* For a call: its arrows have consecutive numbers; for device work: its own arrow. From 1; 0 = none. */
	uint32_t arrow, arrows;
};

struct sonde_device_slices {
	struct sonde_device_slice *all; /* sorted by queue (on the host by thread), lane, time */
	size_t count, cap;
	uint64_t left_out;
	/* For arrows: the call of each, by number − 1. */
	uint32_t *calls;
	size_t arrow_count;
};

/* 0, or a negative errno. */
int sonde_device_slices_read(struct sonde_device_slices *out, struct sonde_session *session,
			     const struct sonde_format_options *options);
void sonde_device_slices_fini(struct sonde_device_slices *slices);

/* True if a slice is the first of its track. */
static inline int sonde_device_slice_begins(const struct sonde_device_slices *slices, size_t i)
{
	const struct sonde_device_slice *slice = &slices->all[i];
	return !i || slice[-1].queue != slice->queue || slice[-1].lane != slice->lane ||
	       (!slice->queue && slice[-1].thread != slice->thread);
}

#define SONDE_DEVICE_LABEL_B 160

/* "OpenCL toy 0"; "first", "queue 7"; labels as in device_labels.h, cut to the given size. */
const char *sonde_device_slices_device(const struct sonde_session *session, uint32_t device,
				       char out[SONDE_DEVICE_LABEL_B]);
const char *sonde_device_slices_queue(const struct sonde_session *session, const struct sonde_device_slice *slice,
				      char out[SONDE_DEVICE_LABEL_B]);
/* The same below a device that several processes use: a queue of a process whose number the device does not have
 * names its process: "queue 7 of worker (102)". */
const char *sonde_device_slices_track(const struct sonde_session *session, const struct sonde_device_slice *slice,
				      char out[SONDE_DEVICE_LABEL_B]);
/* The operation's name, or the name of its kind. */
const char *sonde_device_slices_name(const struct sonde_session *session, const struct sonde_device_slice *slice);

/* The details of a slice as numbers; returns how many there are. */
struct sonde_device_arg {
	const char *key;
	uint64_t value;
};
enum { SONDE_DEVICE_ARGS_MAX = 16 };
size_t sonde_device_slices_args(const struct sonde_session *session, const struct sonde_device_slice *slice,
				struct sonde_device_arg out[SONDE_DEVICE_ARGS_MAX]);

#endif
