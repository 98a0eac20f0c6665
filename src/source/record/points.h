/* points.h: the values of series (format/metrics.def), buffered for the next SERIES chunk.
 *
 * Sources are drained one after another and some read in threads of their own, so values may arrive out of order. The
 * rows of a chunk are sorted by time; a row that arrives after its chunk was written goes into the next one.
 */
#ifndef SONDE_SOURCE_RECORD_POINTS_H
#define SONDE_SOURCE_RECORD_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/encode.h"

struct sonde_points {
	struct sonde_encoder encoder;
	struct sonde_series_row *rows; /* of the current chunk, by time */
	uint32_t row_count;
	size_t row_cap;
	int is_short; /* out of memory: a row was lost */
};

void sonde_points_init(struct sonde_points *points);
void sonde_points_fini(struct sonde_points *points);
/* Returns true if the chunk is full or memory ran out; the caller flushes then. */
int sonde_points_put(struct sonde_points *points, uint64_t time_ns, uint32_t series, int64_t value);
int sonde_points_flush(struct sonde_points *points, struct sonde_writer *writer);

#endif
