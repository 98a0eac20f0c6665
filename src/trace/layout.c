/* layout.c: the tables generated from format/chunks.def. */
#include "trace/layout.h"

#include <string.h>

#define LAYOUT(row, name, type, coding, reference, group) \
	{#name, sizeof(type), SONDE_CODING_##coding, SONDE_REFERENCE_##reference, group, offsetof(struct row, name)},

static const struct sonde_column_layout samples[] = {
#define SONDE_SAMPLES(name, type, coding, reference, group, ...) \
	LAYOUT(sonde_samples_row, name, type, coding, reference, group)
#include "format/chunks.def"
};

static const struct sonde_column_layout switches[] = {
#define SONDE_SWITCHES(name, type, coding, reference, group, ...) \
	LAYOUT(sonde_switches_row, name, type, coding, reference, group)
#include "format/chunks.def"
};

static const struct sonde_column_layout series[] = {
#define SONDE_SERIES(name, type, coding, reference, group, ...) \
	LAYOUT(sonde_series_row, name, type, coding, reference, group)
#include "format/chunks.def"
};

static const struct sonde_column_layout waits[] = {
#define SONDE_WAITS(name, type, coding, reference, group, ...) \
	LAYOUT(sonde_waits_row, name, type, coding, reference, group)
#include "format/chunks.def"
};

static const struct sonde_column_layout activities[] = {
#define SONDE_ACTIVITIES(name, type, coding, reference, group, ...) \
	LAYOUT(sonde_activities_row, name, type, coding, reference, group)
#include "format/chunks.def"
};

static const struct sonde_column_layout call_stacks[] = {
#define SONDE_CALL_STACKS(name, type, coding, reference, group, ...) \
	LAYOUT(sonde_call_stacks_row, name, type, coding, reference, group)
#include "format/chunks.def"
};

#define CHUNK(columns)                                        \
	{                                                     \
		columns, sizeof(columns) / sizeof(*(columns)) \
	}

static const struct sonde_chunk_layout layouts[SONDE_CHUNK_TYPES] = {
    [SONDE_CHUNK_SAMPLES] = CHUNK(samples),       [SONDE_CHUNK_SWITCHES] = CHUNK(switches),
    [SONDE_CHUNK_SERIES] = CHUNK(series),         [SONDE_CHUNK_WAITS] = CHUNK(waits),
    [SONDE_CHUNK_ACTIVITIES] = CHUNK(activities), [SONDE_CHUNK_CALL_STACKS] = CHUNK(call_stacks),
};

/* Generic code treats the columns structs as arrays of pointers. */
#define CHECK_POINTERS(chunk)                                                                                       \
	_Static_assert(sizeof(struct sonde_##chunk##_columns) == sizeof(chunk) / sizeof(*(chunk)) * sizeof(void *), \
		       "a pointer a column");                                                                       \
	_Static_assert(sizeof(chunk) / sizeof(*(chunk)) <= SONDE_COLUMNS_MAX, "columns of a chunk")
CHECK_POINTERS(samples);
CHECK_POINTERS(switches);
CHECK_POINTERS(series);
CHECK_POINTERS(waits);
CHECK_POINTERS(activities);
CHECK_POINTERS(call_stacks);

const struct sonde_chunk_layout *sonde_chunk_layout(enum sonde_chunk_type type)
{
	return (unsigned)type < SONDE_CHUNK_TYPES && layouts[type].count ? &layouts[type] : NULL;
}

static uint64_t get(const void *at, uint8_t width_b)
{
	uint64_t wide;
	uint32_t id;
	if (width_b == 1)
		return *(const uint8_t *)at;
	if (width_b == 4) {
		memcpy(&id, at, sizeof id);
		return id;
	}
	memcpy(&wide, at, sizeof wide);
	return wide;
}

uint64_t sonde_row_get(const void *row, const struct sonde_column_layout *column)
{
	return get((const uint8_t *)row + column->row_at, column->width_b);
}

void sonde_row_set(void *row, const struct sonde_column_layout *column, uint64_t value)
{
	uint8_t *at = (uint8_t *)row + column->row_at, byte = (uint8_t)value;
	uint32_t id = (uint32_t)value;
	if (column->width_b == 1)
		*at = byte;
	else if (column->width_b == 4)
		memcpy(at, &id, sizeof id);
	else
		memcpy(at, &value, sizeof value);
}

uint64_t sonde_column_get(const void *values, const struct sonde_column_layout *column, size_t i)
{
	return get((const uint8_t *)values + i * column->width_b, column->width_b);
}
