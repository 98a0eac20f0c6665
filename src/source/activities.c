/* activities.c: a row an activity, as differences to the one before: a program has its devices do the same again and
 * again. */
#include "source/activities.h"

#include "base/varint.h"

enum { START, TIME, OPERATION, QUEUE, THREAD, QUEUED, SUBMITTED, CORRELATION, SIZE, ADDRESS, COLUMNS };
_Static_assert(COLUMNS <= SONDE_COLUMNS_MAX, "columns of a chunk");
enum { ROWS_A_CHUNK = 16384 };

void sonde_activities_init(struct sonde_activities *activities)
{
	*activities = (struct sonde_activities){0};
	sonde_columns_init(&activities->columns, COLUMNS);
}

void sonde_activities_fini(struct sonde_activities *activities)
{
	sonde_columns_fini(&activities->columns);
}

static void put_change(struct sonde_columns *columns, size_t column, uint64_t value, uint64_t before)
{
	sonde_columns_put(columns, column, sonde_varint_zigzag((int64_t)(value - before)));
}

static uint64_t before_start(const struct sonde_timed *row, uint64_t time_ns)
{
	return time_ns ? row->start_ns - time_ns + 1 : 0;
}

int sonde_activities_put(struct sonde_activities *activities, const struct sonde_timed *row)
{
	struct sonde_columns *columns = &activities->columns;
	struct sonde_timed *last = &activities->last;
	uint64_t end_ns = row->start_ns + row->dur_ns;
	if (!columns->rows) {
		*last = (struct sonde_timed){0};
		columns->time_min_ns = row->start_ns;
		columns->time_max_ns = end_ns;
	}
	if (row->start_ns < columns->time_min_ns)
		columns->time_min_ns = row->start_ns;
	if (end_ns > columns->time_max_ns)
		columns->time_max_ns = end_ns;
	put_change(columns, START, row->start_ns, last->start_ns);
	sonde_columns_put(columns, TIME, row->dur_ns);
	put_change(columns, OPERATION, row->operation, last->operation);
	sonde_columns_put(columns, QUEUE, row->queue);
	sonde_columns_put(columns, THREAD, row->thread);
	sonde_columns_put(columns, QUEUED, before_start(row, row->queued_ns));
	sonde_columns_put(columns, SUBMITTED, before_start(row, row->submitted_ns));
	put_change(columns, CORRELATION, row->correlation, last->correlation);
	sonde_columns_put(columns, SIZE, row->size_b);
	put_change(columns, ADDRESS, row->address, last->address);
	*last = *row;
	return ++columns->rows >= ROWS_A_CHUNK;
}

int sonde_activities_flush(struct sonde_activities *activities, struct sonde_writer *writer)
{
	struct sonde_columns *columns = &activities->columns;
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_ACTIVITIES,
	    .time_min_ns = columns->time_min_ns,
	    .time_max_ns = columns->time_max_ns,
	    .count = columns->rows,
	};
	return columns->rows ? sonde_columns_write(columns, writer, &chunk) : 0;
}
