/* columns_write.h: the columns of one chunk while they are being filled (format/record.h, Columnar bodies). */
#ifndef SONDE_TRACE_COLUMNS_WRITE_H
#define SONDE_TRACE_COLUMNS_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"
#include "trace/layout.h"
#include "trace/writer.h"
#include "util/buf.h"

struct sonde_columns {
	struct sonde_buf column[SONDE_COLUMNS_MAX];
	size_t count;
	uint32_t rows; /* counted by the caller */
	uint64_t time_min_ns, time_max_ns;
};

void sonde_columns_init(struct sonde_columns *columns, size_t count);
void sonde_columns_fini(struct sonde_columns *columns);

/* Appends a varint or a byte. Errors stick in the buffer and are returned by sonde_columns_write(). */
void sonde_columns_put(struct sonde_columns *columns, size_t column, uint64_t value);
void sonde_columns_put_byte(struct sonde_columns *columns, size_t column, uint8_t value);

/* The slow path of sonde_columns_capacity() below: called if the column has to grow. */
uint8_t *sonde_columns_grow(struct sonde_columns *columns, size_t column, size_t count);
/* Reserves space for `count` varints at the end of a column without marking it used; NULL when out of memory, a sticky
 * error. */
static inline uint8_t *sonde_columns_capacity(struct sonde_columns *columns, size_t column, size_t count)
{
	struct sonde_buf *buf = &columns->column[column];
	if (!buf->error && buf->cap_b - buf->len_b >= count * SONDE_VARINT_MAX_B)
		return buf->data + buf->len_b;
	return sonde_columns_grow(columns, column, count);
}

/* Marks the reserved space up to `end` as used. */
static inline void sonde_columns_used(struct sonde_columns *columns, size_t column, const uint8_t *end)
{
	columns->column[column].len_b = (size_t)(end - columns->column[column].data);
}

/* Writes directory and columns as the body of `chunk` and empties them. */
int sonde_columns_write(struct sonde_columns *columns, struct sonde_writer *writer, struct sonde_chunk *chunk);

#endif
