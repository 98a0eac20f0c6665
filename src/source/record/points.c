/* points.c: buffers one row per value (time, series, value), sorted by time, and delta-encodes them into a chunk. */
#include "source/record/points.h"
#include "util/array.h"

#include <errno.h>
#include <stdlib.h>

enum { ROWS_A_CHUNK = SONDE_ENCODER_ROWS };

void sonde_points_init(struct sonde_points *points)
{
	*points = (struct sonde_points){0};
	sonde_encoder_init(&points->encoder, SONDE_CHUNK_SERIES, SONDE_ENCODER_ROWS);
}

void sonde_points_fini(struct sonde_points *points)
{
	sonde_encoder_fini(&points->encoder);
	free(points->rows);
}

/* Makes room for one more row. */
static int grow(struct sonde_points *points)
{
	if (SONDE_ARRAY_RESERVE(points->rows, points->row_cap, points->row_count + 1))
		return -ENOMEM;
	return 0;
}

/* Inserts a row. The search for its position starts at the end, where most rows belong. Rows of equal time keep their
 * order of arrival. */
int sonde_points_put(struct sonde_points *points, uint64_t time_ns, uint32_t series, int64_t value)
{
	if (grow(points)) {
		points->is_short = 1;
		return 1;
	}
	uint32_t at = points->row_count++;
	for (; at && points->rows[at - 1].time_ns > time_ns; at--)
		points->rows[at] = points->rows[at - 1];
	points->rows[at] = (struct sonde_series_row){time_ns, series, value};
	return points->row_count >= ROWS_A_CHUNK;
}

int sonde_points_flush(struct sonde_points *points, struct sonde_writer *writer)
{
	if (points->is_short)
		return -ENOMEM;
	for (uint32_t i = 0; i < points->row_count; i++)
		sonde_encoder_series(&points->encoder, &points->rows[i]);
	points->row_count = 0;
	return sonde_encoder_flush(&points->encoder, writer);
}
