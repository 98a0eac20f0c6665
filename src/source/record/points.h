/* points.h: numbers that are read again and again: series (format/metrics.def), and the SERIES chunk being filled.
 *
 * Sources read one after the other, some in threads of their own: what one read first may come last. A chunk is put
 * into the order of time as it is written; what comes after that is in the next one. */
#ifndef SONDE_SOURCE_RECORD_POINTS_H
#define SONDE_SOURCE_RECORD_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/encode.h"

struct sonde_points {
	struct sonde_encoder encoder;
	struct sonde_series_row *rows; /* of the chunk, by time */
	uint32_t row_count, row_cap;
	int is_short; /* of memory: a row was lost */
};

void sonde_points_init(struct sonde_points *points);
void sonde_points_fini(struct sonde_points *points);
/* Whether the chunk is full. */
int sonde_points_put(struct sonde_points *points, uint64_t time_ns, uint32_t series, int64_t value);
int sonde_points_flush(struct sonde_points *points, struct sonde_writer *writer);

#endif
