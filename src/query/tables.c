/* tables.c: builds the tables in memory from tables.def. */
#include "query/made.h"
#include "query/names.h"
#include "query/rows.h"
#include "query/table.h"

/* Defines functions that return a row of the session by its number from 0. */
#define BY_ID(row, ...)                                                                                    \
	__attribute__((unused)) static const void *row##_at(const struct sonde_session *session, size_t i) \
	{                                                                                                  \
		return sonde_session_##row(session, (uint32_t)i + 1);                                      \
	}
#define BY_INDEX(row, ...)                                                         \
	static const void *row##_at(const struct sonde_session *session, size_t i) \
	{                                                                          \
		return sonde_session_##row(session, i);                            \
	}
#define SONDE_ROWS_BY_ID BY_ID
#define SONDE_ROWS BY_INDEX
#include "session/tables.def"
BY_ID(function)
BY_ID(node)

static size_t one(const struct sonde_session *session)
{
	(void)session;
	return 1;
}

static const void *run_at(const struct sonde_session *session, size_t i)
{
	(void)i;
	return sonde_session_run(session);
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

#define ZERO_NULL SONDE_QUERY_ZERO_NULL
#define OF_BATCH SONDE_QUERY_OF_BATCH
#define MINUS_ONE SONDE_QUERY_MINUS_ONE
#define SPARSE SONDE_QUERY_SPARSE
#define PASSING SONDE_QUERY_PASSING
#define IN(member) offsetof(struct sonde_batch, member)
#define OF(row, member) offsetof(struct row_##row, member)

/* --- columns stored in chunks, from format/chunks.def: constants and texts of each, named CHUNK_COLUMN_… ---------- */

enum {
	STORED_uint8_t = SONDE_QUERY_U8,
	STORED_uint16_t = SONDE_QUERY_U16,
	STORED_uint32_t = SONDE_QUERY_U32,
	STORED_uint64_t = SONDE_QUERY_U64,
	STORED_int32_t = SONDE_QUERY_I32,
	STORED_int64_t = SONDE_QUERY_I64,
	STORED_double = SONDE_QUERY_REAL,
};

#define IS_TIME(reference) (SONDE_REFERENCE_##reference == SONDE_REFERENCE_TIME)
#define SQL(column, flags, meaning) #column, flags, meaning
#define NO_SQL "", 0, ""
#define STORED(chunk, id, type, reference, unit, ...) STORED_TEXTS(chunk, id, type, reference, unit, __VA_ARGS__)
#define STORED_TEXTS(chunk, id, type, reference, unit, name, flags, meaning)                          \
	enum {                                                                                        \
		chunk##_##id##_type = IS_TIME(reference) ? (int)SONDE_QUERY_TIME : STORED_##type,     \
		chunk##_##id##_key = IS_TIME(reference) ? SONDE_QUERY_KEY_START : SONDE_QUERY_NO_KEY, \
		chunk##_##id##_flags = (flags),                                                       \
	};                                                                                            \
	__attribute__((unused)) static const char chunk##_##id##_name[] = name;                       \
	__attribute__((unused)) static const char chunk##_##id##_unit[] = unit;                       \
	__attribute__((unused)) static const char chunk##_##id##_meaning[] = meaning;

#define SONDE_COLUMN(chunk, id, type, coding, ref, group, unit, since, text, sql) \
	STORED(chunk, id, type, ref, unit, sql)
#include "format/chunks.def"

#define SONDE_STORED(chunk, id)                              \
	{.name = chunk##_##id##_name,                        \
	 .type = (enum sonde_query_type)chunk##_##id##_type, \
	 .key = (enum sonde_query_key)chunk##_##id##_key,    \
	 .flags = chunk##_##id##_flags,                      \
	 .at = IN(chunk.id),                                 \
	 .unit = chunk##_##id##_unit,                        \
	 .meaning = chunk##_##id##_meaning},

/* --- columns stored in META records, from format/records.def: the same, named RECORD_FIELD_… ---------------------- */

#define KIND_NONE(type) STORED_##type
#define KIND_RESERVED(type) STORED_##type
#define KIND_TIME(type) SONDE_QUERY_TIME
#define KIND_STRING(type) SONDE_QUERY_TEXT /* rows of a session contain texts, not ids of strings */
#define KIND_PROCESS(type) STORED_##type
#define KIND_THREAD(type) STORED_##type
#define KIND_MODULE(type) STORED_##type
#define KIND_SITE(type) STORED_##type
#define KIND_NODE(type) STORED_##type
#define KIND_HEAP(type) STORED_##type
#define KIND_HEAP_SITE(type) STORED_##type
#define KIND_SERIES(type) STORED_##type
#define KIND_OBJECT(type) STORED_##type
#define KIND_DEVICE(type) STORED_##type
#define KIND_QUEUE(type) STORED_##type
#define KIND_OPERATION(type) STORED_##type

#define FIELD(R, at, type, id, dims, reference, unit, since, text, sql) \
	FIELD_TEXTS(R, id, type, KIND_##reference(type), unit, sql)
#define FIELD_TEXTS(...) FIELD_CONSTANTS(__VA_ARGS__)
#define FIELD_CONSTANTS(R, id, type, kind, unit, name, flags, meaning)                          \
	enum {                                                                                  \
		R##_##id##_type = (kind),                                                       \
		R##_##id##_flags = (flags),                                                     \
		R##_##id##_b = (int)(kind) == SONDE_QUERY_TEXT ? sizeof(char *) : sizeof(type), \
	};                                                                                      \
	__attribute__((unused)) static const char R##_##id##_name[] = name;                     \
	__attribute__((unused)) static const char R##_##id##_unit[] = unit;                     \
	__attribute__((unused)) static const char R##_##id##_meaning[] = meaning;
#define RECORD(number, NAME, ...) SONDE_##NAME##_FIELDS(FIELD, NAME)
SONDE_META_RECORDS(RECORD)

/* Causes a compile error if the row's member is not as wide as the record's field. */
#define SAME_WIDTH(row, record, id) \
	(0 * sizeof(char[sizeof(((struct row_##row *)0)->id) == (size_t)record##_##id##_b ? 1 : -1]))

#define SONDE_FIELD(row, record, id, has_key)                 \
	{.name = record##_##id##_name,                        \
	 .type = (enum sonde_query_type)record##_##id##_type, \
	 .key = SONDE_QUERY_KEY_##has_key,                    \
	 .flags = record##_##id##_flags,                      \
	 .at = OF(row, id) + SAME_WIDTH(row, record, id),     \
	 .unit = record##_##id##_unit,                        \
	 .meaning = record##_##id##_meaning},

/* Definitions of the macros used by tables.def. */
#define row_site sonde_site
#define row_process sonde_process
#define row_thread sonde_thread
#define row_zone_stat sonde_query_zone_stat
#define row_module sonde_module
#define row_function sonde_function
#define row_node sonde_node
#define row_object sonde_object
#define row_device sonde_device
#define row_queue sonde_queue
#define row_operation sonde_operation
#define row_series sonde_series
#define row_heap sonde_heap
#define row_heap_remainder sonde_heap_remainder
#define row_snapshot sonde_snapshot
#define row_histogram sonde_histogram
#define row_lost sonde_lost
#define row_cost sonde_cost
#define row_source sonde_source_row
#define row_function_stat sonde_query_function_stat
#define row_frame sonde_query_frame
#define row_span sonde_query_span
#define row_event sonde_query_event
#define row_heap_stat sonde_query_heap_stat
#define row_finding sonde_query_finding
#define row_finding_note sonde_query_finding_note
#define row_info sonde_query_info
#define row_state sonde_query_state
#define row_run sonde_run

#define SONDE_QUERY_KEY_NO SONDE_QUERY_NO_KEY
#define SONDE_TABLE(table, ...) static const struct sonde_query_column table##_columns[] = {
#define SONDE_TABLE_END \
	}               \
	;
#define SONDE_COLUMN(id, kind, has_key, has_flags, place, has_unit, means) \
	{.name = #id,                                                      \
	 .type = SONDE_QUERY_##kind,                                       \
	 .key = SONDE_QUERY_KEY_##has_key,                                 \
	 .flags = (has_flags),                                             \
	 .at = (place),                                                    \
	 .unit = (has_unit),                                               \
	 .meaning = (means)},
#define SONDE_SUM(id, kind, has_key, place, added, has_unit, means) \
	{.name = #id,                                               \
	 .type = SONDE_QUERY_##kind,                                \
	 .key = SONDE_QUERY_KEY_##has_key,                          \
	 .at = (place),                                             \
	 .plus = (added),                                           \
	 .unit = (has_unit),                                        \
	 .meaning = (means)},
#define SONDE_BIT(id, kind, place, bits, means) \
	{.name = #id, .type = SONDE_QUERY_##kind, .mask = (bits), .at = (place), .unit = "", .meaning = (means)},
#define SONDE_NAME(id, kind, has_flags, place, function, means) \
	{.name = #id,                                           \
	 .type = SONDE_QUERY_##kind,                            \
	 .flags = (has_flags),                                  \
	 .at = (place),                                         \
	 .text = sonde_query_##function,                        \
	 .unit = "",                                            \
	 .meaning = (means)},
#define SONDE_OTHER(id, kind, place, function, means) \
	{.name = #id,                                 \
	 .type = SONDE_QUERY_##kind,                  \
	 .at = (place),                               \
	 .number = sonde_query_##function,            \
	 .unit = "",                                  \
	 .meaning = (means)},
#define SONDE_WHEN(id, kind, place, bytes, bits, is_set, has_unit, means) \
	{.name = #id,                                                     \
	 .type = SONDE_QUERY_##kind,                                      \
	 .at = (place),                                                   \
	 .when_at = (bytes),                                              \
	 .when_mask = (bits),                                             \
	 .when_set = (is_set),                                            \
	 .unit = (has_unit),                                              \
	 .meaning = (means)},
#include "query/tables.def"
#undef SONDE_TABLE
#undef SONDE_TABLE_END
#undef SONDE_COLUMN
#undef SONDE_STORED
#undef SONDE_FIELD
#undef SONDE_SUM
#undef SONDE_BIT
#undef SONDE_NAME
#undef SONDE_OTHER
#undef SONDE_WHEN

/* --- tables ------------------------------------------------------------------------------------------------------- */

#define ROWS(row) .walk = &sonde_query_walk_rows, .count = sonde_session_##row##_count, .at = row##_at
#define MADE(row, function) \
	.walk = &sonde_query_walk_made, .row_b = sizeof(struct row_##row), .make = sonde_query_make_##function
#define LISTED(row) ROWS(row)
#define ONE(row) .walk = &sonde_query_walk_rows, .count = one, .at = row##_at
#define FRAMES .walk = &sonde_query_walk_frames, .count = sonde_session_node_count, .row_b = sizeof(struct row_frame)
#define EVENTS(kinds)                                                                           \
	.walk = &sonde_query_walk_events, .types = 1u << SONDE_CHUNK_EVENTS, .events = (kinds), \
	.row_b = sizeof(struct row_event)
#define BATCHES(type) .walk = &sonde_query_walk_batches, .types = 1u << SONDE_CHUNK_##type

#define SONDE_TABLE(table, means, ...)                                     \
	{.name = #table,                                                   \
	 .meaning = (means),                                               \
	 .columns = table##_columns,                                       \
	 .column_count = sizeof table##_columns / sizeof *table##_columns, \
	 __VA_ARGS__},
#define SONDE_TABLE_END
#define SONDE_COLUMN(...)
#define SONDE_STORED(...)
#define SONDE_FIELD(...)
#define SONDE_SUM(...)
#define SONDE_BIT(...)
#define SONDE_NAME(...)
#define SONDE_OTHER(...)
#define SONDE_WHEN(...)

const struct sonde_query_table sonde_query_tables[] = {
#include "query/tables.def"
};
const size_t sonde_query_table_count = sizeof sonde_query_tables / sizeof *sonde_query_tables;
