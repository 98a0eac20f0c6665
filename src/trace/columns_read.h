/* columns_read.h: decodes columnar chunk bodies, one column at a time.
 *
 * One-byte values, the most frequent ones, take the first branch. For mixed lengths (times), eight bytes are loaded at
 * once and packed without a branch on the length. No read goes beyond the column's end.
 */
#ifndef SONDE_TRACE_COLUMNS_READ_H
#define SONDE_TRACE_COLUMNS_READ_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/varint.h"

struct sonde_chunk_data;

struct sonde_column {
	const uint8_t *at;
	const uint8_t *end;
};

/* Splits a body into the first `count` columns; a newer minor version may have added more after them. */
int sonde_columns_split(struct sonde_column *columns, size_t count, const struct sonde_chunk_data *data);

static inline size_t sonde_column_b(const struct sonde_column *column)
{
	return (size_t)(column->end - column->at);
}

/* 0 if the column is fully consumed. */
static inline int sonde_column_end(const struct sonde_column *column)
{
	return column->at == column->end ? 0 : -EBADMSG;
}

static inline int sonde_column_next(struct sonde_column *column, uint64_t *out)
{
	const uint8_t *at = sonde_varint_get(column->at, column->end, out);
	if (!at)
		return -EBADMSG;
	column->at = at;
	return 0;
}

/* Each function takes the next `count` values, or fails with -EBADMSG. Every call restarts its running sum, at `base`
 * or 0. */

/* Deltas, summed from `base`. */
int sonde_column_times(struct sonde_column *column, size_t count, uint64_t base, uint64_t *out);

/* Plain values; those above `max` become 0. */
int sonde_column_ids(struct sonde_column *column, size_t count, uint32_t max, uint32_t *out);

/* Zigzag deltas; ids above `max` become 0. */
int sonde_column_id_deltas(struct sonde_column *column, size_t count, uint32_t max, uint32_t *out);
int sonde_column_deltas(struct sonde_column *column, size_t count, uint64_t *out);

#endif
