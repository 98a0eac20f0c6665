/* columns_read.h: decodes columnar chunk bodies, a column at a time.
 *
 * One-byte values, the most frequent, take the first branch; where lengths mix (times), eight bytes are loaded at once
 * and squeezed together without a branch on the length. Everything is bounded by the column's end.
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

/* Splits a body into the `count` columns known here; a newer minor version may have added more behind them. */
int sonde_columns_split(struct sonde_column *columns, size_t count, const struct sonde_chunk_data *data);

static inline size_t sonde_column_b(const struct sonde_column *column)
{
	return (size_t)(column->end - column->at);
}

/* 0 when nothing is left. */
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

/* Each takes the next `count` values, or fails with -EBADMSG. Sums begin anew with each call, at `base` or 0. */

/* Deltas that add up to `base`. */
int sonde_column_times(struct sonde_column *column, size_t count, uint64_t base, uint64_t *out);

/* Plain values; those above `max` become 0. */
int sonde_column_ids(struct sonde_column *column, size_t count, uint32_t max, uint32_t *out);

/* Zigzag deltas; ids above `max` become 0. */
int sonde_column_id_deltas(struct sonde_column *column, size_t count, uint32_t max, uint32_t *out);
int sonde_column_deltas(struct sonde_column *column, size_t count, uint64_t *out);

#endif
