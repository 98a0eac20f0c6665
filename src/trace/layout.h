/* layout.h: the columns of each chunk type (format/chunks.def), for code that handles all types alike. */
#ifndef SONDE_TRACE_LAYOUT_H
#define SONDE_TRACE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "format/chunks.h"
#include "format/record.h"

#define SONDE_COLUMNS_MAX 10 /* most columns of any chunk type */

struct sonde_column_layout {
	const char *name;
	uint8_t width_b;   /* width of a decoded value: 1, 4 or 8 */
	uint8_t coding;    /* enum sonde_coding */
	uint8_t reference; /* enum sonde_reference */
	uint8_t group;     /* 0 = always present */
	uint16_t row_at;   /* offset in the row struct */
};

/* Column i is the i-th pointer of the columns struct. */
struct sonde_chunk_layout {
	const struct sonde_column_layout *columns;
	size_t count;
};

/* The layout of a chunk type; NULL if its body has an encoding of its own (ZONES, HEAP, STACKS) or no columns. */
const struct sonde_chunk_layout *sonde_chunk_layout(enum sonde_chunk_type type);

/* Reads and writes a field of a row struct. */
uint64_t sonde_row_get(const void *row, const struct sonde_column_layout *column);
void sonde_row_set(void *row, const struct sonde_column_layout *column, uint64_t value);

/* Value `i` of a decoded column. */
uint64_t sonde_column_get(const void *values, const struct sonde_column_layout *column, size_t i);

#endif
