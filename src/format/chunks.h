/* chunks.h: row and column structs of the columnar chunks, generated from chunks.def.
 *
 * struct sonde_samples_row is one row with a field per column; writers fill it. struct sonde_samples_columns has a
 * pointer per column to `count` values; readers iterate over them. trace/layout.h describes the same columns for code
 * that handles all chunk types alike: encoder, decoder, merge.
 */
#ifndef SONDE_FORMAT_CHUNKS_H
#define SONDE_FORMAT_CHUNKS_H

#include <stdint.h>

/* Encoding of a column; docs/FORMAT.md describes the bytes. */
enum sonde_coding {
	SONDE_CODING_TIME,  /* varint: increase over the previous value; the first: over time_min_ns */
	SONDE_CODING_PLAIN, /* varint */
	SONDE_CODING_DELTA, /* zigzag varint: difference from the previous value; the first: from 0 */
	SONDE_CODING_BYTE,  /* one byte */
	/* zigzag varint: difference from the previous value with the same id in the column to the left */
	SONDE_CODING_CHANGE,
};

/* The kind of entity that a value refers to. Ids that do not exist are read as 0. */
enum sonde_reference {
	SONDE_REFERENCE_NONE,
	SONDE_REFERENCE_TIME,     /* CLOCK_MONOTONIC ns of the recording */
	SONDE_REFERENCE_DURATION, /* ns from the time in the first column; the end is a time, too */
	SONDE_REFERENCE_BEFORE,   /* ns before the time in the first column, + 1; 0 = unknown */
	SONDE_REFERENCE_THREAD,
	SONDE_REFERENCE_NODE,
	SONDE_REFERENCE_SERIES,
	SONDE_REFERENCE_OBJECT,
	SONDE_REFERENCE_OPERATION,
	SONDE_REFERENCE_QUEUE,
	SONDE_REFERENCES,
};

#define SONDE_COLUMNS(TYPE, chunk) struct sonde_##chunk##_row {
#define SONDE_COLUMN(chunk, name, type, ...) type name;
#define SONDE_COLUMNS_END(chunk) \
	}                        \
	;
#include "format/chunks.def"

#define SONDE_COLUMNS(TYPE, chunk) struct sonde_##chunk##_columns {
#define SONDE_COLUMN(chunk, name, type, ...) const type *name;
#define SONDE_COLUMNS_END(chunk) \
	}                        \
	;
#include "format/chunks.def"

#endif
