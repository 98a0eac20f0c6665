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

/* What a value refers to. Ids that do not exist are read as 0. */
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

#define SONDE_ROW_FIELD(name, type, ...) type name;
#define SONDE_COLUMN_FIELD(name, type, ...) const type *name;

#define SONDE_SAMPLES SONDE_ROW_FIELD
struct sonde_samples_row {
#include "format/chunks.def"
};
#define SONDE_SAMPLES SONDE_COLUMN_FIELD
struct sonde_samples_columns {
#include "format/chunks.def"
};

#define SONDE_SWITCHES SONDE_ROW_FIELD
struct sonde_switches_row {
#include "format/chunks.def"
};
#define SONDE_SWITCHES SONDE_COLUMN_FIELD
struct sonde_switches_columns {
#include "format/chunks.def"
};

#define SONDE_SERIES SONDE_ROW_FIELD
struct sonde_series_row {
#include "format/chunks.def"
};
#define SONDE_SERIES SONDE_COLUMN_FIELD
struct sonde_series_columns {
#include "format/chunks.def"
};

#define SONDE_WAITS SONDE_ROW_FIELD
struct sonde_waits_row {
#include "format/chunks.def"
};
#define SONDE_WAITS SONDE_COLUMN_FIELD
struct sonde_waits_columns {
#include "format/chunks.def"
};

#define SONDE_ACTIVITIES SONDE_ROW_FIELD
struct sonde_activities_row {
#include "format/chunks.def"
};
#define SONDE_ACTIVITIES SONDE_COLUMN_FIELD
struct sonde_activities_columns {
#include "format/chunks.def"
};

#define SONDE_CALL_STACKS SONDE_ROW_FIELD
struct sonde_call_stacks_row {
#include "format/chunks.def"
};
#define SONDE_CALL_STACKS SONDE_COLUMN_FIELD
struct sonde_call_stacks_columns {
#include "format/chunks.def"
};

#endif
