/* recording_inside.h: shared by recording.c and recording_heap.c: columns of chunks, and records. */
#ifndef SONDE_TESTS_RECORDING_INSIDE_H
#define SONDE_TESTS_RECORDING_INSIDE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/varint.h"
#include "recording.h"
#include "util/buf.h"
#include "util/error.h"

enum { COLUMNS_MAX = 10, BODY_MAX_B = 64 << 20 };

/* For all heaps: what is not written yet, and their memory. */
void recording_heaps_write(struct recording *recording);
void recording_heaps_free(struct recording *recording);
void recording_activities_write(struct recording *recording);

static inline void must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "recording: %s: %s\n", what, sonde_error_text());
	abort();
}

static inline void *grown(void *rows, size_t count, size_t *cap, size_t size_b)
{
	if (count < *cap)
		return rows;
	*cap = *cap ? *cap * 2 : 64;
	rows = realloc(rows, *cap * size_b);
	must(rows ? 0 : -1, "out of memory");
	return rows;
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

struct columns {
	struct sonde_buf column[COLUMNS_MAX];
	uint32_t count;
};

static inline void columns_init(struct columns *columns, uint32_t count)
{
	columns->count = count;
	for (uint32_t i = 0; i < count; i++)
		sonde_buf_init(&columns->column[i], BODY_MAX_B);
}

static inline void put_delta(struct sonde_buf *column, uint64_t value, uint64_t *last)
{
	must(sonde_buf_varint(column, value - *last), "column");
	*last = value;
}

static inline void put_zigzag(struct sonde_buf *column, uint64_t value, uint64_t *last)
{
	must(sonde_buf_varint(column, sonde_varint_zigzag((int64_t)(value - *last))), "column");
	*last = value;
}

/* Writes the chunk with its column directory and frees the columns. */
static inline void columns_write(struct recording *recording, struct sonde_chunk *chunk, struct columns *columns)
{
	struct sonde_buf body;
	sonde_buf_init(&body, BODY_MAX_B);
	for (uint32_t i = 0; i < columns->count; i++) {
		uint32_t size_b = (uint32_t)columns->column[i].len_b;
		must(sonde_buf_append(&body, &size_b, sizeof size_b), "directory");
	}
	for (uint32_t i = 0; i < columns->count; i++) {
		must(sonde_buf_append(&body, columns->column[i].data, columns->column[i].len_b), "body");
		sonde_buf_fini(&columns->column[i]);
	}
	chunk->body = body.data;
	chunk->body_b = (uint32_t)body.len_b;
	must(sonde_writer_chunk(recording->writer, chunk), "chunk");
	sonde_buf_fini(&body);
}

static inline void meta(struct recording *recording, const void *record, size_t record_b, const void *more,
			size_t more_b)
{
	must(sonde_writer_meta(recording->writer, record, record_b, more, more_b), "meta");
}

#endif
