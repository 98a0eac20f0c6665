/* columns_write.c: one growing buffer per column; the buffers are concatenated when the chunk is written. */
#include "trace/columns_write.h"

#define COLUMN_MAX_B ((size_t)8 << 20)

void sonde_columns_init(struct sonde_columns *columns, size_t count)
{
	*columns = (struct sonde_columns){.count = count};
	for (size_t i = 0; i < count; i++)
		sonde_buf_init(&columns->column[i], COLUMN_MAX_B);
}

void sonde_columns_fini(struct sonde_columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		sonde_buf_fini(&columns->column[i]);
}

void sonde_columns_put(struct sonde_columns *columns, size_t column, uint64_t value)
{
	struct sonde_buf *buf = &columns->column[column];
	if (buf->cap_b - buf->len_b >= SONDE_VARINT_MAX_B && !buf->error)
		buf->len_b = (size_t)(sonde_varint_put(buf->data + buf->len_b, value) - buf->data);
	else
		sonde_buf_varint(buf, value);
}

void sonde_columns_put_byte(struct sonde_columns *columns, size_t column, uint8_t value)
{
	sonde_buf_append(&columns->column[column], &value, 1);
}

uint8_t *sonde_columns_grow(struct sonde_columns *columns, size_t column, size_t count)
{
	struct sonde_buf *buf = &columns->column[column];
	uint8_t *at = sonde_buf_extend(buf, count * SONDE_VARINT_MAX_B);
	if (at)
		buf->len_b -= count * SONDE_VARINT_MAX_B;
	return at;
}

int sonde_columns_write(struct sonde_columns *columns, struct sonde_writer *writer, struct sonde_chunk *chunk)
{
	struct sonde_buf body;
	sonde_buf_init(&body, SONDE_CHUNK_MAX_RAW_B);
	for (size_t i = 0; i < columns->count; i++) {
		uint32_t size_b = (uint32_t)columns->column[i].len_b;
		sonde_buf_append(&body, &size_b, sizeof size_b);
	}
	int rc = 0;
	for (size_t i = 0; i < columns->count; i++) {
		sonde_buf_append(&body, columns->column[i].data, columns->column[i].len_b);
		rc = rc ? rc : sonde_buf_error(&columns->column[i]);
		sonde_buf_clear(&columns->column[i]);
	}
	rc = rc ? rc : sonde_buf_error(&body);
	chunk->body = body.data;
	chunk->body_b = (uint32_t)body.len_b;
	if (!rc)
		rc = sonde_writer_chunk(writer, chunk);
	sonde_buf_fini(&body);
	columns->rows = 0;
	return rc;
}
