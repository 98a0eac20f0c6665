/* points.h: numbers that are read again and again: series (format/metrics.def), and the SERIES chunk being filled. */
#ifndef SONDE_SOURCE_POINTS_H
#define SONDE_SOURCE_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "source/columns.h"
#include "trace/writer.h"

struct sonde_points {
	struct sonde_columns columns;
	int64_t *last; /* by series id − 1: the value before in this chunk */
	uint32_t count, cap;
};

void sonde_points_init(struct sonde_points *points);
void sonde_points_fini(struct sonde_points *points);
/* One series more, with the id count + 1. -ENOMEM. */
int sonde_points_add(struct sonde_points *points);
/* Whether the chunk is full. `series` is one of those that were added. */
int sonde_points_put(struct sonde_points *points, uint64_t time_ns, uint32_t series, int64_t value);
int sonde_points_flush(struct sonde_points *points, struct sonde_writer *writer);

#endif
