/* recording_device.c: devices, their queues, operations and activities of a recording with known contents. */
#include "recording_inside.h"

#include <string.h>

enum { COLUMNS = 10 };

static uint32_t name_of(struct recording *recording, const char *text)
{
	return text && *text ? recording_string(recording, text) : 0;
}

uint32_t recording_device(struct recording *recording, uint32_t process, const char *api, const char *name,
			  struct sonde_meta_device with)
{
	with.head.type = SONDE_META_DEVICE;
	with.id = ++recording->devices;
	with.process = process;
	with.api = name_of(recording, api);
	with.name = name_of(recording, name);
	meta(recording, &with, sizeof with, NULL, 0);
	return with.id;
}

uint32_t recording_queue(struct recording *recording, uint32_t device, const char *name, uint64_t handle)
{
	return recording_queue_with(recording, device, name, handle, 0);
}

static uint32_t queue_add(struct recording *recording, struct sonde_meta_queue with, const char *name)
{
	with.head.type = SONDE_META_QUEUE;
	with.id = ++recording->queues;
	with.name = name_of(recording, name);
	meta(recording, &with, sizeof with, NULL, 0);
	return with.id;
}

uint32_t recording_queue_of(struct recording *recording, uint32_t process, uint32_t device, const char *name,
			    uint64_t handle)
{
	return queue_add(recording, (struct sonde_meta_queue){.process = process, .device = device, .handle = handle},
			 name);
}

uint32_t recording_queue_with(struct recording *recording, uint32_t device, const char *name, uint64_t handle,
			      uint32_t flags)
{
	return queue_add(recording,
			 (struct sonde_meta_queue){.process = 1, .device = device, .flags = flags, .handle = handle},
			 name);
}

uint32_t recording_operation(struct recording *recording, enum sonde_activity_kind kind, const char *name,
			     struct sonde_meta_operation with)
{
	with.head.type = SONDE_META_OPERATION;
	with.id = ++recording->operations;
	with.process = 1;
	with.kind = kind;
	with.name = name_of(recording, name);
	meta(recording, &with, sizeof with, NULL, 0);
	return with.id;
}

static uint64_t before_start(const struct recording_activity *row, uint64_t time_ns)
{
	return time_ns ? row->start_ns - time_ns + 1 : 0;
}

void recording_activities_write(struct recording *recording)
{
	if (!recording->activity_count)
		return;
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_ACTIVITIES, .count = (uint32_t)recording->activity_count, .time_min_ns = UINT64_MAX};
	struct columns columns;
	columns_init(&columns, COLUMNS);
	uint64_t start = 0, operation = 0, correlation = 0, address = 0;
	for (size_t i = 0; i < recording->activity_count; i++) {
		const struct recording_activity *row = &recording->activities[i];
		uint64_t end_ns = row->start_ns + row->dur_ns;
		put_zigzag(&columns.column[0], row->start_ns, &start);
		must(sonde_buf_varint(&columns.column[1], row->dur_ns), "time");
		put_zigzag(&columns.column[2], row->operation, &operation);
		must(sonde_buf_varint(&columns.column[3], row->queue), "queue");
		must(sonde_buf_varint(&columns.column[4], row->thread), "thread");
		must(sonde_buf_varint(&columns.column[5], before_start(row, row->queued_ns)), "queued");
		must(sonde_buf_varint(&columns.column[6], before_start(row, row->submitted_ns)), "submitted");
		put_zigzag(&columns.column[7], row->correlation, &correlation);
		must(sonde_buf_varint(&columns.column[8], row->size_b), "size");
		put_zigzag(&columns.column[9], row->address, &address);
		chunk.time_min_ns = row->start_ns < chunk.time_min_ns ? row->start_ns : chunk.time_min_ns;
		chunk.time_max_ns = end_ns > chunk.time_max_ns ? end_ns : chunk.time_max_ns;
	}
	columns_write(recording, &chunk, &columns);
	recording->activity_count = 0;
}

void recording_activity(struct recording *recording, struct recording_activity activity)
{
	recording->activities = grown(recording->activities, recording->activity_count, &recording->activity_cap,
				      sizeof *recording->activities);
	recording->activities[recording->activity_count++] = activity;
	if (recording->activity_count >= recording->chunk_rows)
		recording_activities_write(recording);
}
