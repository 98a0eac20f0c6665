/* layout.c: the tables generated from format/chunks.def. */
#include "trace/layout.h"

#include <string.h>

/* For each chunk type, an array of its columns. Generic code treats the columns structs as arrays of pointers. */
#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define SONDE_COLUMNS(TYPE, chunk) static const struct sonde_column_layout chunk[] = {
#define SONDE_COLUMN(chunk, name, type, coding, reference, group, ...) \
	{#name,                                                        \
	 sizeof(type),                                                 \
	 SONDE_CODING_##coding,                                        \
	 SONDE_REFERENCE_##reference,                                  \
	 group,                                                        \
	 offsetof(struct sonde_##chunk##_row, name)},
#define SONDE_COLUMNS_END(chunk)                                                                                       \
	}                                                                                                              \
	;                                                                                                              \
	_Static_assert(sizeof(struct sonde_##chunk##_columns) == COUNT(chunk) * sizeof(void *), "a pointer a column"); \
	_Static_assert(COUNT(chunk) <= SONDE_COLUMNS_MAX, "columns of a chunk");
#include "format/chunks.def"

static const struct sonde_chunk_layout layouts[SONDE_CHUNK_TYPES] = {
#define SONDE_COLUMNS(TYPE, chunk) [SONDE_CHUNK_##TYPE] = {chunk, COUNT(chunk)},
#include "format/chunks.def"
};

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
