/* wait_chunks.c: a row a call, as differences to the one before: a thread does the same again and again. */
#include "source/wait_chunks.h"

#include "base/varint.h"

enum { TIME, DURATION, THREAD, OTHER, KIND, STACK, STATUS, OBJECT, AMOUNT, COLUMNS };
_Static_assert(COLUMNS <= SONDE_COLUMNS_MAX, "columns of a chunk");
enum { ROWS_A_CHUNK = 16384 };

void sonde_wait_chunks_init(struct sonde_wait_chunks *chunks, struct sonde_recorder *recorder)
{
	*chunks = (struct sonde_wait_chunks){.recorder = recorder};
	sonde_columns_init(&chunks->columns, COLUMNS);
}

void sonde_wait_chunks_fini(struct sonde_wait_chunks *chunks)
{
	sonde_columns_fini(&chunks->columns);
}

static void put_change(struct sonde_columns *columns, size_t column, uint64_t value, uint64_t before)
{
	sonde_columns_put(columns, column, sonde_varint_zigzag((int64_t)(value - before)));
}

void sonde_wait_chunks_put(struct sonde_wait_chunks *chunks, const struct sonde_wait *wait)
{
	struct sonde_columns *columns = &chunks->columns;
	struct sonde_wait *last = &chunks->last;
	uint64_t end_ns = wait->start_ns + wait->dur_ns;
	if (!columns->rows) {
		*last = (struct sonde_wait){0};
		columns->time_min_ns = wait->start_ns;
		columns->time_max_ns = end_ns;
	}
	if (wait->start_ns < columns->time_min_ns)
		columns->time_min_ns = wait->start_ns;
	if (end_ns > columns->time_max_ns)
		columns->time_max_ns = end_ns;
	put_change(columns, TIME, wait->start_ns, last->start_ns);
	sonde_columns_put(columns, DURATION, wait->dur_ns);
	sonde_columns_put(columns, THREAD, wait->thread);
	sonde_columns_put(columns, OTHER, wait->other);
	sonde_columns_put_byte(columns, KIND, (uint8_t)wait->kind);
	put_change(columns, STACK, wait->stack, last->stack);
	sonde_columns_put_byte(columns, STATUS, wait->status);
	put_change(columns, OBJECT, wait->object, last->object);
	sonde_columns_put(columns, AMOUNT, wait->amount);
	*last = *wait;
	if (++columns->rows >= ROWS_A_CHUNK)
		sonde_wait_chunks_flush(chunks);
}

int sonde_wait_chunks_flush(struct sonde_wait_chunks *chunks)
{
	struct sonde_columns *columns = &chunks->columns;
	if (!columns->rows)
		return 0;
	struct sonde_chunk chunk = {
	    .type = SONDE_CHUNK_WAITS,
	    .time_min_ns = columns->time_min_ns,
	    .time_max_ns = columns->time_max_ns,
	    .count = columns->rows,
	};
	return sonde_recorder_chunk(chunks->recorder, columns, &chunk);
}
