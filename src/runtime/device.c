/* device.c: records the devices that the program reports: their properties, operations and activities (sonde/device.h).
 *
 * Ids are assigned here, and the defining event is sent before the id is returned, so every reference follows its
 * definition. A forked child continues with its parent's numbers; ids that it has not defined itself are unknown in its
 * recording.
 */
#include <stdatomic.h>
#include <string.h>

#include "format/device.h"
#include "runtime/runtime.h"
#include "sonde/device.h"

#define TEXT_MAX_B 255u
#define NAME_MAX_B 4095u

#define SONDE_ACTIVITY(id, number, name, where, title) \
	_Static_assert(SONDE_OPERATION_##id == (number), "kinds of operations are the rows of activities.def");
#include "format/activities.def"
#undef SONDE_ACTIVITY

_Static_assert(SONDE_TID_UNKNOWN == SONDE_DEVICE_TID_UNKNOWN, "threads that are not known");

static _Atomic uint32_t devices, queues, operations; /* numbers assigned so far */

/* A forked child initialises itself here, as at any other event. */
static int is_on(void)
{
	struct sonde_process *process = sonde_process_get();
	return process && sonde_process_pool(process) && sonde_is_on();
}

/* Assigns the next number; 0 = there are too many, or nothing is being recorded. */
static uint32_t number_of(_Atomic uint32_t *given)
{
	if (!is_on() || atomic_load(given) >= SONDE_DEVICE_NUMBER_MAX)
		return 0;
	return atomic_fetch_add(given, 1) + 1;
}

static uint16_t append(char *out, size_t *len_b, const char *text)
{
	size_t text_b = text ? strnlen(text, TEXT_MAX_B) : 0;
	if (text_b)
		memcpy(out + *len_b, text, text_b);
	*len_b += text_b;
	return (uint16_t)text_b;
}

uint32_t sonde_device_add(const struct sonde_device_info *info)
{
	char texts[4 * TEXT_MAX_B];
	size_t texts_b = 0;
	uint32_t number = info ? number_of(&devices) : 0;
	if (!number)
		return 0;
	struct sonde_event_device event = {
	    .head.type = SONDE_EVENT_DEVICE,
	    .number = number,
	    .kind = info->kind,
	    .index = info->index,
	    .units = info->units,
	    .clock_mhz = info->clock_mhz,
	    .warp = info->warp,
	    .warps_unit = info->warps_unit,
	    .blocks_unit = info->blocks_unit,
	    .registers_unit = info->registers_unit,
	    .shared_unit_b = info->shared_unit_b,
	    .memory_b = info->memory_b,
	    .memory_b_per_s = info->memory_b_per_s,
	    .capability = info->capability,
	};
	event.api_b = append(texts, &texts_b, info->api);
	event.name_b = append(texts, &texts_b, info->name);
	event.uuid_b = append(texts, &texts_b, info->uuid);
	event.driver_b = append(texts, &texts_b, info->driver);
	return sonde_event_send(&event.head, sizeof(event), texts, texts_b) == SONDE_OK ? number : 0;
}

uint32_t sonde_queue_add(const struct sonde_queue_info *info)
{
	uint32_t number = info ? number_of(&queues) : 0;
	if (!number)
		return 0;
	size_t name_b = info->name ? strnlen(info->name, TEXT_MAX_B) : 0;
	struct sonde_event_queue event = {
	    .head.type = SONDE_EVENT_QUEUE,
	    .number = number,
	    .device = info->device,
	    .context = info->context,
	    .handle = info->handle,
	    .flags = info->flags,
	    .name_b = (uint32_t)name_b,
	};
	return sonde_event_send(&event.head, sizeof(event), info->name ? info->name : "", name_b) == SONDE_OK ? number
													      : 0;
}

uint32_t sonde_operation_add(const struct sonde_operation_info *info)
{
	int is_known = info && sonde_activity_row(info->kind)->name;
	uint32_t number = is_known ? number_of(&operations) : 0;
	if (!number)
		return 0;
	size_t name_b = info->name ? strnlen(info->name, NAME_MAX_B) : 0;
	struct sonde_event_operation event = {
	    .head.type = SONDE_EVENT_OPERATION,
	    .number = number,
	    .kind = info->kind,
	    .registers = info->registers,
	    .local_b = info->local_b,
	    .static_shared_b = info->static_shared_b,
	    .dynamic_shared_b = info->dynamic_shared_b,
	    .shared_unit_b = info->shared_unit_b,
	    .from = info->from,
	    .to = info->to,
	    .from_device = info->from_device,
	    .to_device = info->to_device,
	    .name_b = (uint16_t)name_b,
	};
	memcpy(event.grid, info->grid, sizeof(event.grid));
	memcpy(event.block, info->block, sizeof(event.block));
	return sonde_event_send(&event.head, sizeof(event), info->name ? info->name : "", name_b) == SONDE_OK ? number
													      : 0;
}

int sonde_activity_add(const struct sonde_activity *activity)
{
	if (!activity || !activity->operation || activity->end_ns < activity->start_ns)
		return SONDE_ERR_ARGUMENT;
	struct sonde_event_activity event = {
	    .head.type = SONDE_EVENT_ACTIVITY,
	    .operation = activity->operation,
	    .queue = activity->queue,
	    .tid = activity->tid,
	    .start_ns = activity->start_ns,
	    .end_ns = activity->end_ns,
	    .queued_ns = activity->queued_ns,
	    .submitted_ns = activity->submitted_ns,
	    .correlation = activity->correlation,
	    .size_b = activity->size_b,
	    .address = activity->address,
	};
	return sonde_event_send(&event.head, sizeof(event), "", 0);
}

int sonde_activity_lost(const char *cause, uint64_t count)
{
	if (!cause || !*cause)
		return SONDE_ERR_ARGUMENT;
	struct sonde_event_activity_lost event = {
	    .head.type = SONDE_EVENT_ACTIVITY_LOST, .count = count, .cause_b = strnlen(cause, TEXT_MAX_B)};
	return sonde_event_send(&event.head, sizeof(event), cause, event.cause_b);
}
