/* encode.h: fills a columnar chunk row by row, as declared in format/chunks.def.
 *
 *     struct sonde_encoder encoder;
 *     sonde_encoder_init(&encoder, SONDE_CHUNK_WAITS, SONDE_ENCODER_ROWS);
 *     if (sonde_encoder_waits(&encoder, &(struct sonde_waits_row){.start_ns = …}))
 *             error = sonde_encoder_flush(&encoder, writer);
 *     …
 *     error = sonde_encoder_flush(&encoder, writer);
 *     sonde_encoder_fini(&encoder);
 *
 * For use by one thread. Whatever the rows refer to (stacks, strings) must be written before the flush.
 */
#ifndef SONDE_TRACE_ENCODE_H
#define SONDE_TRACE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/columns_write.h"
#include "trace/layout.h"
#include "trace/writer.h"

/* Rows of a full chunk: for types with thousands of rows per second, and for others. */
enum { SONDE_ENCODER_ROWS_MANY = 65536, SONDE_ENCODER_ROWS = 16384 };

struct sonde_encoder {
	enum sonde_chunk_type type;
	uint32_t rows_max;
	const struct sonde_chunk_layout *layout;
	struct sonde_columns columns;
	uint64_t last[SONDE_COLUMNS_MAX];    /* previous value in this chunk */
	uint64_t nonzero[SONDE_COLUMNS_MAX]; /* bitwise OR of all values in this chunk */
	uint64_t *changed;                   /* indexed by id: previous value, for CHANGE columns */
	size_t changed_cap;
};

/* `type` must have a layout; a chunk of `rows_max` rows is full. */
void sonde_encoder_init(struct sonde_encoder *encoder, enum sonde_chunk_type type, uint32_t rows_max);
/* Discards rows that were not flushed. */
void sonde_encoder_fini(struct sonde_encoder *encoder);

/* Adds a row; `row` is the row struct of the encoder's type. In a column that never decreases, an earlier time is
 * replaced by the previous one. Returns 1 if the chunk is full. When out of memory, the flush fails. */
int sonde_encoder_put(struct sonde_encoder *encoder, const void *row);

/* Number of rows not yet written. */
static inline uint32_t sonde_encoder_rows(const struct sonde_encoder *encoder)
{
	return encoder->columns.rows;
}

/* The latest time in the chunk so far; 0 without rows. */
static inline uint64_t sonde_encoder_until_ns(const struct sonde_encoder *encoder)
{
	return encoder->columns.rows ? encoder->columns.time_max_ns : 0;
}

/* Writes the chunk, without trailing column groups that are all 0, and starts the next one. Does nothing without rows.
 * Returns 0 or the writer's error. */
int sonde_encoder_flush(struct sonde_encoder *encoder, struct sonde_writer *writer);

/* sonde_encoder_samples(encoder, row) and so on: sonde_encoder_put() with the row's type checked. */
#define SONDE_COLUMNS(TYPE, chunk)                                                                                    \
	static inline int sonde_encoder_##chunk(struct sonde_encoder *encoder, const struct sonde_##chunk##_row *row) \
	{                                                                                                             \
		return sonde_encoder_put(encoder, row);                                                               \
	}
#include "format/chunks.def"

#endif
