/* encode.c: encodes rows column by column (encode.h). */
#include "trace/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "util/array.h"

void sonde_encoder_init(struct sonde_encoder *encoder, enum sonde_chunk_type type, uint32_t rows_max)
{
	*encoder = (struct sonde_encoder){.type = type, .rows_max = rows_max, .layout = sonde_chunk_layout(type)};
	sonde_columns_init(&encoder->columns, encoder->layout->count);
}

void sonde_encoder_fini(struct sonde_encoder *encoder)
{
	sonde_columns_fini(&encoder->columns);
	free(encoder->changed);
}

static uint64_t zigzag(uint64_t value, uint64_t before)
{
	return sonde_varint_zigzag((int64_t)(value - before));
}

/* Slot of the previous value of an id; NULL when out of memory. */
static uint64_t *changed_of(struct sonde_encoder *encoder, uint64_t id)
{
	if (id == UINT64_MAX || SONDE_ARRAY_RESERVE_ZEROS(encoder->changed, encoder->changed_cap, id + 1))
		return NULL;
	return &encoder->changed[id];
}

static uint64_t change(struct sonde_encoder *encoder, size_t column, uint64_t value)
{
	uint64_t *before = changed_of(encoder, encoder->last[column - 1]);
	if (!before) {
		encoder->columns.column[column].error = -ENOMEM;
		return 0;
	}
	uint64_t coded = zigzag(value, *before);
	*before = value;
	return coded;
}

/* Extends the chunk's time range to the last row. */
static void cover(struct sonde_encoder *encoder)
{
	struct sonde_columns *columns = &encoder->columns;
	uint64_t start_ns = encoder->last[0], end_ns = start_ns;
	if (encoder->layout->columns[1].reference == SONDE_REFERENCE_DURATION)
		end_ns += encoder->last[1];
	if (!columns->rows || start_ns < columns->time_min_ns)
		columns->time_min_ns = start_ns;
	if (!columns->rows || end_ns > columns->time_max_ns)
		columns->time_max_ns = end_ns;
}

static void put(struct sonde_encoder *encoder, size_t column, uint64_t value)
{
	struct sonde_columns *columns = &encoder->columns;
	switch (encoder->layout->columns[column].coding) {
	case SONDE_CODING_TIME:
		value = columns->rows && value < encoder->last[column] ? encoder->last[column] : value;
		sonde_columns_put(columns, column, columns->rows ? value - encoder->last[column] : 0);
		break;
	case SONDE_CODING_PLAIN:
		sonde_columns_put(columns, column, value);
		break;
	case SONDE_CODING_DELTA:
		sonde_columns_put(columns, column, zigzag(value, encoder->last[column]));
		break;
	case SONDE_CODING_CHANGE:
		sonde_columns_put(columns, column, change(encoder, column, value));
		break;
	default:
		sonde_columns_put_byte(columns, column, (uint8_t)value);
	}
	encoder->last[column] = value;
	encoder->nonzero[column] |= value;
}

static void forget(struct sonde_encoder *encoder)
{
	memset(encoder->last, 0, sizeof encoder->last);
	memset(encoder->nonzero, 0, sizeof encoder->nonzero);
	if (encoder->changed)
		memset(encoder->changed, 0, encoder->changed_cap * sizeof *encoder->changed);
}

int sonde_encoder_put(struct sonde_encoder *encoder, const void *row)
{
	const struct sonde_chunk_layout *layout = encoder->layout;
	if (!encoder->columns.rows)
		forget(encoder);
	for (size_t i = 0; i < layout->count; i++)
		put(encoder, i, sonde_row_get(row, &layout->columns[i]));
	cover(encoder);
	return ++encoder->columns.rows >= encoder->rows_max;
}

/* Number of columns to write: up to the last group with a nonzero value. */
static size_t count_needed(const struct sonde_encoder *encoder)
{
	const struct sonde_column_layout *columns = encoder->layout->columns;
	size_t last = encoder->layout->count - 1;
	while (columns[last].group && !encoder->nonzero[last])
		last--;
	while (last + 1 < encoder->layout->count && columns[last + 1].group == columns[last].group)
		last++;
	return last + 1;
}

int sonde_encoder_flush(struct sonde_encoder *encoder, struct sonde_writer *writer)
{
	struct sonde_columns *columns = &encoder->columns;
	struct sonde_chunk chunk = {
	    .type = (uint16_t)encoder->type,
	    .time_min_ns = columns->time_min_ns,
	    .time_max_ns = columns->time_max_ns,
	    .count = columns->rows,
	};
	if (!columns->rows)
		return 0;
	columns->count = count_needed(encoder);
	int rc = sonde_columns_write(columns, writer, &chunk);
	for (size_t i = columns->count; i < encoder->layout->count; i++)
		sonde_buf_clear(&columns->column[i]);
	columns->count = encoder->layout->count;
	return rc;
}
