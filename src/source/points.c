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
	free(points->rows);
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

/* Room for one row more. */
static int grow(struct sonde_points *points)
{
	if (points->row_count < points->row_cap)
		return 0;
	uint32_t cap = points->row_cap ? 2 * points->row_cap : 256;
	struct sonde_points_row *rows = realloc(points->rows, cap * sizeof *rows);
	if (!rows)
		return -ENOMEM;
	points->rows = rows;
	points->row_cap = cap;
	return 0;
}

/* Mostly the last one; after those of its time. */
int sonde_points_put(struct sonde_points *points, uint64_t time_ns, uint32_t series, int64_t value)
{
	if (grow(points)) {
		points->is_short = 1;
		return 1;
	}
	uint32_t at = points->row_count++;
	for (; at && points->rows[at - 1].time_ns > time_ns; at--)
		points->rows[at] = points->rows[at - 1];
	points->rows[at] = (struct sonde_points_row){time_ns, value, series};
	return points->row_count >= ROWS_A_CHUNK;
}

static void encode(struct sonde_points *points)
{
	struct sonde_columns *columns = &points->columns;
	columns->time_min_ns = columns->time_max_ns = points->rows[0].time_ns;
	for (uint32_t i = 0; i < points->row_count; i++) {
		const struct sonde_points_row *row = &points->rows[i];
		int64_t *last = &points->last[row->series - 1];
		sonde_columns_put(columns, TIME, row->time_ns - columns->time_max_ns);
		sonde_columns_put(columns, SERIES, row->series);
		sonde_columns_put(columns, VALUE,
				  sonde_varint_zigzag((int64_t)((uint64_t)row->value - (uint64_t)*last)));
		columns->time_max_ns = row->time_ns;
		*last = row->value;
	}
	columns->rows = points->row_count;
	points->row_count = 0;
}

int sonde_points_flush(struct sonde_points *points, struct sonde_writer *writer)
{
	struct sonde_columns *columns = &points->columns;
	if (points->is_short)
		return -ENOMEM;
	if (!points->row_count)
		return 0;
	encode(points);
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_SERIES,
	    .time_min_ns = columns->time_min_ns,
	    .time_max_ns = columns->time_max_ns,
	    .count = columns->rows,
	};
	memset(points->last, 0, points->count * sizeof *points->last);
	return sonde_columns_write(columns, writer, &chunk);
}
