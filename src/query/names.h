/* names.h: names of ids and kinds, and numbers derived from ids, for columns of tables.def. NULL or "" = none. */
#ifndef SONDE_QUERY_NAMES_H
#define SONDE_QUERY_NAMES_H

#include <stdint.h>

#include "session/session.h"

#define SONDE_QUERY_NAMES(X)    \
	X(process_name)         \
	X(thread_name)          \
	X(site_name)            \
	X(site_kind)            \
	X(module_name)          \
	X(function_name)        \
	X(function_module)      \
	X(frame_function_name)  \
	X(frame_file)           \
	X(object_name)          \
	X(object_kind)          \
	X(device_kind)          \
	X(device_name_of_queue) \
	X(kind_of_operation)    \
	X(memory_kind)          \
	X(operation_kind)       \
	X(operation_name)       \
	X(series_name)          \
	X(series_kind)          \
	X(heap_kind)            \
	X(leak_kind)            \
	X(snapshot_reason)      \
	X(source_state)         \
	X(stack_status)         \
	X(switch_kind)          \
	X(wait_kind)            \
	X(wait_group)           \
	X(event_kind)           \
	X(thread_state)

#define SONDE_QUERY_DECLARE(name) const char *sonde_query_##name(const struct sonde_session *session, uint64_t value);
SONDE_QUERY_NAMES(SONDE_QUERY_DECLARE)
#undef SONDE_QUERY_DECLARE

/* Numbers derived from a value; −1 = none. */
#define SONDE_QUERY_NUMBERS(X) \
	X(process_of_thread)   \
	X(device_of_queue)     \
	X(is_sample)           \
	X(frame_address)       \
	X(frame_module)        \
	X(frame_function)      \
	X(frame_line)

#define SONDE_QUERY_DECLARE(name) int64_t sonde_query_##name(const struct sonde_session *session, uint64_t value);
SONDE_QUERY_NUMBERS(SONDE_QUERY_DECLARE)
#undef SONDE_QUERY_DECLARE

#endif
