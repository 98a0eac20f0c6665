/* device.h: device work on its way into a recording: the rows of activities.def, and the ring events for devices,
 * queues, operations and activities (their fields are explained in include/sonde/device.h).
 *
 * Each process numbers its devices, queues and operations from 1, each kind separately. The thread that adds one writes
 * its event before any thread can refer to it; a consumer that reads one ring after the other may still see an activity
 * first. Times of activities are CLOCK_MONOTONIC ns; the time of the event itself is when it was written, in the ring's
 * clock.
 */
#ifndef SONDE_FORMAT_DEVICE_H
#define SONDE_FORMAT_DEVICE_H

#include <stdint.h>

#include "format/event.h"

#define SONDE_DEVICE_TID_UNKNOWN UINT32_MAX /* in an activity event: the submitting thread is unknown */
#define SONDE_DEVICE_NUMBER_MAX (1u << 20)  /* limit on the numbers of devices, queues and operations */

enum sonde_activity_where { SONDE_ACTIVITY_ON_NOTHING = 0, SONDE_ACTIVITY_ON_DEVICE, SONDE_ACTIVITY_ON_HOST };

struct sonde_activity_row {
	const char *name; /* NULL: no such kind */
	enum sonde_activity_where where;
	const char *title;
};

enum sonde_activity_kind {
#define SONDE_ACTIVITY(id, number, name, where, title) SONDE_ACTIVITY_##id = (number),
#include "format/activities.def"
#undef SONDE_ACTIVITY
	SONDE_ACTIVITY_KINDS = 23, /* all numbers are smaller */
};

static inline const struct sonde_activity_row *sonde_activity_row(uint32_t kind)
{
	static const struct sonde_activity_row rows[SONDE_ACTIVITY_KINDS] = {
#define SONDE_ACTIVITY(id, number, name, where, title) [number] = {name, SONDE_ACTIVITY_ON_##where, title},
#include "format/activities.def"
#undef SONDE_ACTIVITY
	};
	return &rows[kind < SONDE_ACTIVITY_KINDS ? kind : 0];
}

/* --- ring events: each is followed by its texts, concatenated, then padded with zeros ---------------------------- */

struct sonde_event_device {
	struct sonde_event head;
	uint32_t number, kind;
	uint32_t index; /* among the devices of its API */
	uint32_t units, clock_mhz;
	uint32_t warp, warps_unit, blocks_unit, registers_unit;
	uint16_t api_b, name_b, uuid_b, driver_b;
	uint64_t shared_unit_b, memory_b, memory_b_per_s;
	uint32_t capability, reserved;
};
_Static_assert(sizeof(struct sonde_event_device) == 96, "device event");

struct sonde_event_queue {
	struct sonde_event head;
	uint32_t number, device;
	uint64_t context, handle;
	uint32_t flags;
	uint32_t name_b;
};
_Static_assert(sizeof(struct sonde_event_queue) == 48, "queue event");

struct sonde_event_operation {
	struct sonde_event head;
	uint32_t number, kind;
	uint32_t grid[3], block[3];
	uint32_t registers, local_b;
	uint32_t static_shared_b, dynamic_shared_b, shared_unit_b;
	uint8_t from, to;
	uint16_t name_b;
	uint32_t from_device, to_device;
};
_Static_assert(sizeof(struct sonde_event_operation) == 80, "operation event");

struct sonde_event_activity {
	struct sonde_event head;
	uint32_t operation, queue;
	uint32_t tid; /* in the process's namespace; 0 = the reporting thread; or SONDE_DEVICE_TID_UNKNOWN */
	uint32_t reserved;
	uint64_t start_ns, end_ns;
	uint64_t queued_ns, submitted_ns; /* 0 = unknown */
	uint64_t correlation;             /* 0 = none */
	uint64_t size_b;
	uint64_t address;
};
_Static_assert(sizeof(struct sonde_event_activity) == 88, "activity event");

/* Activities that the reporting process lost track of: the text of the cause follows. */
struct sonde_event_activity_lost {
	struct sonde_event head;
	uint64_t count;
	uint64_t cause_b;
};
_Static_assert(sizeof(struct sonde_event_activity_lost) == 32, "lost activities event");

#endif
