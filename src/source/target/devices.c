/* devices.c: maps a process's device, queue and operation numbers to ids of the recording (target/devices.h).
 *
 * Rings are read one after another, so an activity may be read before the operation or queue that it refers to, which
 * another thread reported earlier. Activities are therefore kept for one round: an operation or queue was written to
 * its ring before the activities that refer to it, so it has been read by then.
 */
#include "source/target/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "format/device_lost.h"
#include "symbol/demangle.h"
#include "util/array.h"
#include "util/error.h"

#define CAUSES_MAX 1000               /* causes of loss per process; later ones share one text */
#define AHEAD_NS UINT64_C(1000000000) /* how far a device's clock may be ahead of ours */

/* Ids of the recording by the process's numbers, from 1. */
struct numbers {
	uint32_t *ids;
	size_t capacity;
};

struct pending_activity {
	struct sonde_event_activity event;
	uint32_t thread;
};

struct sonde_devices {
	struct sonde_recorder *recorder;
	uint32_t process;
	struct numbers devices, queues, operations;
	struct numbers requests; /* 1 for each host operation that enqueues an OpenCL command */
	struct pending_activity *pending;
	size_t pending_count, pending_cap;
	size_t ready; /* number of activities already kept for a round: their references are known */
	uint64_t invalid, out_of_memory, unnamed, untimed;
	uint64_t requested, reported; /* OpenCL commands: enqueued by calls, reported with times */
	uint64_t lost_elsewhere;      /* upper limit of the commands that are missing because of another loss */
	uint32_t causes;              /* number of losses reported */
	int is_traced, is_complete, has_drops;
};

int sonde_devices_new(struct sonde_devices **out, struct sonde_recorder *recorder, uint32_t process)
{
	struct sonde_devices *devices = calloc(1, sizeof *devices);
	if (!devices)
		return sonde_error(ENOMEM, "no memory for the GPUs of a process");
	devices->recorder = recorder;
	devices->process = process;
	*out = devices;
	return 0;
}

static uint32_t id_of(const struct numbers *numbers, uint32_t number)
{
	return number < numbers->capacity ? numbers->ids[number] : 0;
}

static void set_id(struct sonde_devices *devices, struct numbers *numbers, uint32_t number, uint32_t id)
{
	if (!number || number > SONDE_DEVICE_NUMBER_MAX) {
		devices->invalid++;
		return;
	}
	if (SONDE_ARRAY_RESERVE_ZEROS(numbers->ids, numbers->capacity, (size_t)number + 1)) {
		devices->out_of_memory++;
		return;
	}
	numbers->ids[number] = id;
}

/* --- devices, queues, operations ---------------------------------------------------------------------------------- */

static uint32_t text(struct sonde_devices *devices, const char **at, size_t size_b)
{
	uint32_t id = size_b ? sonde_recorder_string(devices->recorder, *at, size_b) : 0;
	*at += size_b;
	return id;
}

static void take_device(struct sonde_devices *devices, uint32_t thread, const void *data)
{
	const struct sonde_event_device *event = data;
	(void)thread;
	const char *at = (const char *)(event + 1);
	struct sonde_meta_device record = {
	    .process = devices->process,
	    .kind = event->kind,
	    .index = event->index,
	    .units = event->units,
	    .clock_mhz = event->clock_mhz,
	    .warp = event->warp,
	    .warps_unit = event->warps_unit,
	    .blocks_unit = event->blocks_unit,
	    .registers_unit = event->registers_unit,
	    .shared_unit_b = event->shared_unit_b,
	    .memory_b = event->memory_b,
	    .memory_b_per_s = event->memory_b_per_s,
	    .capability = event->capability,
	};
	record.api = text(devices, &at, event->api_b);
	record.name = text(devices, &at, event->name_b);
	record.uuid = text(devices, &at, event->uuid_b);
	record.driver = text(devices, &at, event->driver_b);
	set_id(devices, &devices->devices, event->number, sonde_recorder_device(devices->recorder, &record));
}

static void take_queue(struct sonde_devices *devices, uint32_t thread, const void *data)
{
	const struct sonde_event_queue *event = data;
	(void)thread;
	const char *at = (const char *)(event + 1);
	struct sonde_meta_queue record = {
	    .process = devices->process,
	    .device = id_of(&devices->devices, event->device),
	    .flags = event->flags,
	    .context = event->context,
	    .handle = event->handle,
	};
	record.name = text(devices, &at, event->name_b);
	set_id(devices, &devices->queues, event->number, sonde_recorder_queue(devices->recorder, &record));
}

/* Demangles the name, as for functions. */
static uint32_t kernel_name(struct sonde_devices *devices, const char *name, size_t name_b)
{
	char *mangled = name_b > 2 && !memcmp(name, "_Z", 2) ? strndup(name, name_b) : NULL;
	char *readable = mangled ? sonde_demangle(mangled) : NULL;
	uint32_t id = readable ? sonde_recorder_text(devices->recorder, readable) : text(devices, &name, name_b);
	free(readable);
	free(mangled);
	return id;
}

/* True for calls of the OpenCL layer (src/inject) that enqueue a command. Each such call that succeeds has one command
 * with the same correlation id. */
static int is_request(const struct sonde_event_operation *event)
{
	static const char begin[] = "clEnqueue";
	return sonde_activity_row(event->kind)->where == SONDE_ACTIVITY_ON_HOST && event->name_b >= sizeof begin &&
	       !memcmp(event + 1, begin, sizeof begin - 1);
}

static void take_operation(struct sonde_devices *devices, uint32_t thread, const void *data)
{
	const struct sonde_event_operation *event = data;
	(void)thread;
	struct sonde_meta_operation record = {
	    .process = devices->process,
	    .kind = event->kind,
	    .registers = event->registers,
	    .local_b = event->local_b,
	    .static_shared_b = event->static_shared_b,
	    .dynamic_shared_b = event->dynamic_shared_b,
	    .shared_unit_b = event->shared_unit_b,
	    .from = event->from,
	    .to = event->to,
	    .from_device = id_of(&devices->devices, event->from_device),
	    .to_device = id_of(&devices->devices, event->to_device),
	};
	if (!sonde_activity_row(event->kind)->name) {
		devices->invalid++;
		return;
	}
	memcpy(record.grid, event->grid, sizeof record.grid);
	memcpy(record.block, event->block, sizeof record.block);
	record.name = kernel_name(devices, (const char *)(event + 1), event->name_b);
	set_id(devices, &devices->operations, event->number, sonde_recorder_operation(devices->recorder, &record));
	if (is_request(event))
		set_id(devices, &devices->requests, event->number, 1);
}

/* --- activities -------------------------------------------------------------------------------------------------- */

/* The time from time_ns to start_ns, plus 1; 0 = unknown. */
static uint64_t time_before(uint64_t time_ns, uint64_t start_ns)
{
	if (!time_ns)
		return 0;
	return time_ns < start_ns ? start_ns - time_ns + 1 : 1;
}

static void count_command(struct sonde_devices *devices, const struct sonde_event_activity *event)
{
	if (!event->correlation)
		return;
	if (id_of(&devices->requests, event->operation))
		devices->requested++;
	else if (event->queue)
		devices->reported++;
}

static void take_activity(struct sonde_devices *devices, const struct pending_activity *pending)
{
	const struct sonde_event_activity *event = &pending->event;
	struct sonde_activities_row row = {
	    .start_ns = event->start_ns,
	    .dur_ns = event->end_ns - event->start_ns,
	    .operation = id_of(&devices->operations, event->operation),
	    .queue = id_of(&devices->queues, event->queue),
	    .thread = pending->thread,
	    .queued_ns = time_before(event->queued_ns, event->start_ns),
	    .submitted_ns = time_before(event->submitted_ns, event->start_ns),
	    .correlation = event->correlation,
	    .size_b = event->size_b,
	    .address = event->address,
	};
	if (!row.operation || (event->queue && !row.queue))
		devices->unnamed++;
	else if (!event->start_ns || event->end_ns < event->start_ns || event->end_ns > sonde_clock_now_ns() + AHEAD_NS)
		devices->untimed++;
	else
		sonde_recorder_activity(devices->recorder, &row);
	count_command(devices, event);
}

static void keep_activity(struct sonde_devices *devices, uint32_t thread, const void *data)
{
	const struct sonde_event_activity *event = data;
	if (SONDE_ARRAY_RESERVE(devices->pending, devices->pending_cap, devices->pending_count + 1)) {
		devices->out_of_memory++;
		return;
	}
	devices->pending[devices->pending_count++] = (struct pending_activity){*event, thread};
}

void sonde_devices_end_round(struct sonde_devices *devices)
{
	for (size_t i = 0; i < devices->ready; i++)
		take_activity(devices, &devices->pending[i]);
	devices->pending_count -= devices->ready;
	if (devices->pending_count && devices->ready)
		memmove(devices->pending, devices->pending + devices->ready,
			devices->pending_count * sizeof *devices->pending);
	devices->ready = devices->pending_count;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static void report_loss_at(const struct sonde_devices *devices, const char *cause, uint64_t count, uint64_t time_ns)
{
	struct sonde_recorder_loss loss = {
	    .source = "gpu", .cause = cause, .process = devices->process, .count = count, .time_ns = time_ns};
	sonde_recorder_lost(devices->recorder, &loss);
}

static void report_loss(const struct sonde_devices *devices, const char *cause, uint64_t count)
{
	report_loss_at(devices, cause, count, 0);
}

static void add_lost_elsewhere(struct sonde_devices *devices, uint64_t count)
{
	devices->lost_elsewhere += count < UINT32_MAX ? count : UINT32_MAX;
}

void sonde_devices_dropped(struct sonde_devices *devices, uint64_t count)
{
	add_lost_elsewhere(devices, count);
	devices->has_drops |= count > 0;
}

static void take_lost(struct sonde_devices *devices, uint32_t thread, const void *data)
{
	const struct sonde_event_activity_lost *event = data;
	(void)thread;
	char cause[256];
	size_t cause_b = event->cause_b < sizeof cause ? event->cause_b : sizeof cause - 1;
	memcpy(cause, event + 1, cause_b);
	cause[cause_b] = '\0';
	if (!event->count) {
		devices->is_traced |= !strcmp(cause, SONDE_DEVICE_TRACED);
		devices->is_complete |= !strcmp(cause, SONDE_DEVICE_COMPLETE);
		return;
	}
	add_lost_elsewhere(devices, event->count);
	report_loss_at(devices, devices->causes++ < CAUSES_MAX ? cause : "of too many causes", event->count,
		       event->head.time);
}

/* Counts OpenCL commands that were requested but never reported. The process cannot report them itself if it was killed
 * or called _exit(). */
static void report_missing_commands(const struct sonde_devices *devices)
{
	uint64_t accounted = devices->reported + devices->lost_elsewhere + devices->invalid + devices->out_of_memory;
	if (devices->requested > accounted)
		report_loss(devices,
			    "OpenCL: requested, but the recording of the process ended before its result was read",
			    devices->requested - accounted);
}

void sonde_devices_free(struct sonde_devices *devices)
{
	if (!devices)
		return;
	devices->ready = devices->pending_count;
	sonde_devices_end_round(devices);
	report_loss(devices, "invalid GPU data", devices->invalid);
	report_loss(devices, "no memory for it", devices->out_of_memory);
	report_loss(devices, "an unknown operation or queue", devices->unnamed);
	report_loss(devices, "impossible times", devices->untimed);
	report_missing_commands(devices);
	if (devices->is_traced && !devices->is_complete && !devices->has_drops)
		report_loss(devices, "CUDA: processes that exited without flushing their last 0.2 s", 1);
	free(devices->pending);
	free(devices->devices.ids);
	free(devices->queues.ids);
	free(devices->operations.ids);
	free(devices->requests.ids);
	free(devices);
}

/* Handlers of event types; `data` is the event with its variable part. */
static void (*const handlers[])(struct sonde_devices *devices, uint32_t thread, const void *data) = {
    [SONDE_EVENT_DEVICE] = take_device,       [SONDE_EVENT_QUEUE] = take_queue,
    [SONDE_EVENT_OPERATION] = take_operation, [SONDE_EVENT_ACTIVITY] = keep_activity,
    [SONDE_EVENT_ACTIVITY_LOST] = take_lost,
};

void sonde_devices_event(struct sonde_devices *devices, uint32_t thread, const struct sonde_event *event)
{
	if (event->type < sizeof handlers / sizeof *handlers && handlers[event->type])
		handlers[event->type](devices, thread, event);
}
