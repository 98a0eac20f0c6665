/* points.c: a row a value: when, of what series, and what changed since the one before in the chunk. */
#include "source/points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

enum { TIME, SERIES, VALUE, COLUMNS };
enum { ROWS_A_CHUNK = 16384 };

void sonde_points_init(struct sonde_points *points)
{
	*points = (struct sonde_points){0};
	sonde_columns_init(&points->columns, COLUMNS);
}

void sonde_points_fini(struct sonde_points *points)
{
	sonde_columns_fini(&points->columns);
	free(points->last);
}

int sonde_points_add(struct sonde_points *points)
{
	if (points->count == points->cap) {
		uint32_t cap = points->cap ? 2 * points->cap : 64;
		int64_t *last = realloc(points->last, cap * sizeof *last);
		if (!last)
			return -ENOMEM;
		points->last = last;
		points->cap = cap;
	}
	points->last[points->count++] = 0;
	return 0;
}

/* What comes late takes the time of the one before: sources read one after the other. */
int sonde_points_put(struct sonde_points *points, uint64_t time_ns, uint32_t series, int64_t value)
{
	struct sonde_columns *columns = &points->columns;
	int64_t *last = &points->last[series - 1];
	if (!columns->rows)
		columns->time_min_ns = columns->time_max_ns = time_ns;
	if (time_ns < columns->time_max_ns)
		time_ns = columns->time_max_ns;
	sonde_columns_put(columns, TIME, time_ns - columns->time_max_ns);
	sonde_columns_put(columns, SERIES, series);
	sonde_columns_put(columns, VALUE, sonde_varint_zigzag((int64_t)((uint64_t)value - (uint64_t)*last)));
	columns->time_max_ns = time_ns;
	*last = value;
	return ++columns->rows >= ROWS_A_CHUNK;
}

int sonde_points_flush(struct sonde_points *points, struct sonde_writer *writer)
{
	struct sonde_columns *columns = &points->columns;
	if (!columns->rows)
		return 0;
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_SERIES,
	    .time_min_ns = columns->time_min_ns,
	    .time_max_ns = columns->time_max_ns,
	    .count = columns->rows,
	};
	memset(points->last, 0, points->count * sizeof *points->last);
	return sonde_columns_write(columns, writer, &chunk);
}
