/* names.c: names of ids and enum values. */
#include "query/names.h"

#include <stddef.h>

#include "analyze/cpu/by_function.h"
#include "analyze/device/times.h"
#include "analyze/device/memory_kinds.h"
#include "format/metric.h"
#include "session/intervals.h"
#include "sonde/device.h"

#define COUNT(words) (sizeof(words) / sizeof *(words))

/* Returns the name of an enum value. */
static const char *word(const char *const *words, size_t count, uint64_t value)
{
	return value < count ? words[value] : NULL;
}

/* Defines a function that returns the name of a table's row, by id. */
#define NAME_OF(function, table, member)                                                           \
	const char *sonde_query_##function(const struct sonde_session *session, uint64_t value)    \
	{                                                                                          \
		const struct sonde_##table *row = sonde_session_##table(session, (uint32_t)value); \
		return row ? row->member : NULL;                                                   \
	}

/* Defines a function that returns the name of an enum value, from a list. */
#define WORD_OF(function, ...)                                                                  \
	const char *sonde_query_##function(const struct sonde_session *session, uint64_t value) \
	{                                                                                       \
		static const char *const words[] = {__VA_ARGS__};                               \
		(void)session;                                                                  \
		return word(words, COUNT(words), value);                                        \
	}

NAME_OF(process_name, process, name)
NAME_OF(thread_name, thread, name)
NAME_OF(site_name, site, name)
NAME_OF(module_name, module, name)
NAME_OF(object_name, object, name)
NAME_OF(series_name, series, name)
NAME_OF(operation_name, operation, name)

WORD_OF(site_kind, [SONDE_SITE_ZONE] = "zone", [SONDE_SITE_COUNTER] = "counter", [SONDE_SITE_GAUGE] = "gauge",
	[SONDE_SITE_HISTOGRAM] = "histogram", [SONDE_SITE_SPAN] = "span", [SONDE_SITE_INSTANT] = "instant",
	[SONDE_SITE_ITERATION] = "iteration", [SONDE_SITE_COUNT] = "count", [SONDE_SITE_POOL] = "pool")

WORD_OF(object_kind, [SONDE_OBJECT_LOCK] = "lock", [SONDE_OBJECT_FILE] = "file", [SONDE_OBJECT_SOCKET] = "socket",
	[SONDE_OBJECT_PIPE] = "pipe", [SONDE_OBJECT_OTHER] = "other")
WORD_OF(device_kind, [SONDE_DEVICE_OTHER] = "other", [SONDE_DEVICE_GPU] = "GPU", [SONDE_DEVICE_CPU] = "processor",
	[SONDE_DEVICE_ACCELERATOR] = "accelerator")
WORD_OF(series_kind, [SONDE_METRIC_GAUGE] = "gauge", [SONDE_METRIC_TOTAL] = "total")
WORD_OF(heap_kind, [SONDE_HEAP_MALLOC] = "malloc", [SONDE_HEAP_MAPPING] = "mapping", [SONDE_HEAP_POOL] = "pool")
WORD_OF(leak_kind, [SONDE_HEAP_UNREACHABLE] = "unreachable", [SONDE_HEAP_REACHABLE] = "reachable",
	[SONDE_HEAP_NOT_KNOWN] = "not known", [SONDE_HEAP_INDIRECT] = "indirect")
WORD_OF(snapshot_reason, [SONDE_SNAPSHOT_API] = "program", [SONDE_SNAPSHOT_COMMAND] = "command",
	[SONDE_SNAPSHOT_SIGNAL] = "signal", [SONDE_SNAPSHOT_INTERVAL] = "interval", [SONDE_SNAPSHOT_END] = "end")
WORD_OF(source_state, [SONDE_SOURCE_ON] = "on", [SONDE_SOURCE_LIMITED] = "limited",
	[SONDE_SOURCE_UNAVAILABLE] = "unavailable", [SONDE_SOURCE_OFF] = "off")
WORD_OF(switch_kind, [SONDE_SWITCH_IN] = "in", [SONDE_SWITCH_OUT_BLOCKED] = "blocked",
	[SONDE_SWITCH_OUT_PREEMPTED] = "preempted")
WORD_OF(event_kind, [SONDE_EVENT_COUNTER] = "counter", [SONDE_EVENT_GAUGE] = "gauge",
	[SONDE_EVENT_ITERATION] = "iteration", [SONDE_EVENT_COUNT] = "count")

const char *sonde_query_wait_kind(const struct sonde_session *session, uint64_t value)
{
	(void)session;
	return sonde_wait_row((uint32_t)value)->name;
}

const char *sonde_query_wait_group(const struct sonde_session *session, uint64_t value)
{
	static const char *const groups[] = {
	    [SONDE_WAIT_GROUP_LOCK] = "lock",   [SONDE_WAIT_GROUP_IO] = "io",     [SONDE_WAIT_GROUP_TIME] = "time",
	    [SONDE_WAIT_GROUP_CHILD] = "child", [SONDE_WAIT_GROUP_HELD] = "held",
	};
	(void)session;
	return word(groups, COUNT(groups), sonde_wait_row((uint32_t)value)->group);
}

const char *sonde_query_operation_kind(const struct sonde_session *session, uint64_t value)
{
	(void)session;
	return sonde_activity_row((uint32_t)value)->name;
}

const char *sonde_query_kind_of_operation(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_operation *operation = sonde_session_operation(session, (uint32_t)value);
	return operation ? sonde_activity_row(operation->kind)->name : NULL;
}

const char *sonde_query_memory_kind(const struct sonde_session *session, uint64_t value)
{
	(void)session;
	return value ? sonde_memory_word((uint32_t)value) : NULL;
}

const char *sonde_query_device_name_of_queue(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_device *device =
	    sonde_session_device(session, sonde_device_of_queue(session, (uint32_t)value));
	return device ? device->name : NULL;
}

const char *sonde_query_thread_state(const struct sonde_session *session, uint64_t value)
{
	(void)session;
	return value < SONDE_INTERVAL_STATES ? sonde_interval_name((enum sonde_interval_state)value) : NULL;
}

const char *sonde_query_stack_status(const struct sonde_session *session, uint64_t value)
{
	(void)session;
	return sonde_samples_status_text(sonde_sample_status((uint8_t)value));
}

const char *sonde_query_function_name(const struct sonde_session *session, uint64_t value)
{
	return sonde_function_name(session, (uint32_t)value);
}

const char *sonde_query_function_module(const struct sonde_session *session, uint64_t value)
{
	return sonde_function_module(session, (uint32_t)value);
}

int64_t sonde_query_process_of_thread(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_thread *thread = sonde_session_thread(session, (uint32_t)value);
	return thread && thread->process ? (int64_t)thread->process : -1;
}

int64_t sonde_query_device_of_queue(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_queue *queue = sonde_session_queue(session, (uint32_t)value);
	return queue && sonde_session_device(session, queue->device) ? (int64_t)queue->device : -1;
}

int64_t sonde_query_is_sample(const struct sonde_session *session, uint64_t value)
{
	(void)session;
	return sonde_sample_counts((uint8_t)value);
}

/* --- the innermost function of a frame ---------------------------------------------------------------------------- */

static const struct sonde_location *innermost(const struct sonde_session *session, uint64_t frame)
{
	const struct sonde_frame *row = sonde_session_frame(session, (uint32_t)frame);
	return row && row->location_count ? &row->locations[0] : NULL;
}

int64_t sonde_query_frame_address(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_frame *row = sonde_session_frame(session, (uint32_t)value);
	return row && row->address <= INT64_MAX ? (int64_t)row->address : -1;
}

int64_t sonde_query_frame_module(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_frame *row = sonde_session_frame(session, (uint32_t)value);
	return row && row->module ? (int64_t)row->module : -1;
}

int64_t sonde_query_frame_function(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_frame *row = sonde_session_frame(session, (uint32_t)value);
	uint32_t id = row && row->location_count ? sonde_function_of(session, row, 0) : 0;
	return id ? (int64_t)id : -1;
}

const char *sonde_query_frame_function_name(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_frame *row = sonde_session_frame(session, (uint32_t)value);
	return row && row->location_count ? sonde_function_name(session, sonde_function_of(session, row, 0)) : NULL;
}

const char *sonde_query_frame_file(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_location *location = innermost(session, value);
	return location ? location->file : NULL;
}

int64_t sonde_query_frame_line(const struct sonde_session *session, uint64_t value)
{
	const struct sonde_location *location = innermost(session, value);
	return location && location->line ? (int64_t)location->line : -1;
}
