/* encode.h: a columnar chunk being filled, row by row, as format/chunks.def declares it.
 *
 *     struct sonde_encoder encoder;
 *     sonde_encoder_init(&encoder, SONDE_CHUNK_WAITS, SONDE_ENCODER_ROWS);
 *     if (sonde_encoder_waits(&encoder, &(struct sonde_waits_row){.start_ns = …}))
 *             error = sonde_encoder_flush(&encoder, writer);
 *     …
 *     error = sonde_encoder_flush(&encoder, writer);
 *     sonde_encoder_fini(&encoder);
 *
 * One thread. What the rows name (stacks, strings) is written before the flush.
 */
#ifndef SONDE_TRACE_ENCODE_H
#define SONDE_TRACE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/columns_write.h"
#include "trace/layout.h"
#include "trace/writer.h"

/* Rows of a full chunk: of those that come by the thousand a second, and of others. */
enum { SONDE_ENCODER_ROWS_MANY = 65536, SONDE_ENCODER_ROWS = 16384 };

struct sonde_encoder {
	enum sonde_chunk_type type;
	uint32_t rows_max;
	const struct sonde_chunk_layout *layout;
	struct sonde_columns columns;
	uint64_t last[SONDE_COLUMNS_MAX];    /* value before, in this chunk */
	uint64_t nonzero[SONDE_COLUMNS_MAX]; /* all values of this chunk, ored */
	uint64_t *changed;                   /* by id: value before, of a column of changes */
	size_t changed_cap;
};

/* `type` has a layout; a chunk of `rows_max` rows is full. */
void sonde_encoder_init(struct sonde_encoder *encoder, enum sonde_chunk_type type, uint32_t rows_max);
/* Rows that were not flushed are lost. */
void sonde_encoder_fini(struct sonde_encoder *encoder);

/* Adds a row; `row` is the row struct of the encoder's type. A time of a column that never falls takes the value before
 * where it is earlier. 1: the chunk is full. No memory: the flush fails. */
int sonde_encoder_put(struct sonde_encoder *encoder, const void *row);

/* How many rows wait to be written. */
static inline uint32_t sonde_encoder_rows(const struct sonde_encoder *encoder)
{
	return encoder->columns.rows;
}

/* The largest time of the chunk so far; 0 without rows. */
static inline uint64_t sonde_encoder_until_ns(const struct sonde_encoder *encoder)
{
	return encoder->columns.rows ? encoder->columns.time_max_ns : 0;
}

/* Writes the chunk, without trailing groups of columns in which all is 0, and begins the next one. Nothing is written
 * without rows. 0, or the writer's error. */
int sonde_encoder_flush(struct sonde_encoder *encoder, struct sonde_writer *writer);

/* sonde_encoder_samples(encoder, row) and so on: sonde_encoder_put() with the row's type checked. */
#define SONDE_ENCODER_PUT(chunk)                                                                                      \
	static inline int sonde_encoder_##chunk(struct sonde_encoder *encoder, const struct sonde_##chunk##_row *row) \
	{                                                                                                             \
		return sonde_encoder_put(encoder, row);                                                               \
	}
SONDE_ENCODER_PUT(samples)
SONDE_ENCODER_PUT(switches)
SONDE_ENCODER_PUT(series)
SONDE_ENCODER_PUT(waits)
SONDE_ENCODER_PUT(activities)
SONDE_ENCODER_PUT(call_stacks)

#endif
