/* activities.c: the columns of ACTIVITIES chunks (activities.h). */
#include "session/activities.h"

#include <errno.h>

#include "session/columns.h"
#include "session/state.h"

enum { START, TIME, OPERATION, QUEUE, THREAD, QUEUED, SUBMITTED, CORRELATION, SIZE, ADDRESS, COLUMNS };

static int take(struct sonde_column *column, size_t count, uint64_t *out)
{
	for (size_t i = 0; i < count; i++)
		if (sonde_column_next(column, &out[i]))
			return -EBADMSG;
	return 0;
}

/* Times that cannot be: an end behind all time, or a wait that began before it. */
static int check_times(const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->dur_ns[i] > UINT64_MAX - batch->start_ns[i] ||
		    (batch->queued_ns[i] && batch->queued_ns[i] - 1 > batch->start_ns[i]) ||
		    (batch->submitted_ns[i] && batch->submitted_ns[i] - 1 > batch->start_ns[i]))
			return -EBADMSG;
	return 0;
}

int sonde_activities_decode(struct sonde_batch *batch, const struct sonde_chunk_data *data,
			    const struct sonde_session *session, void *memory)
{
	struct sonde_column columns[COLUMNS];
	size_t count = data->head->count;
	if (sonde_columns_split(columns, COLUMNS, data) || count > sonde_column_b(&columns[START]))
		return -EBADMSG;
	uint64_t *starts = memory, *lengths = starts + count, *queued = lengths + count, *submitted = queued + count;
	uint64_t *correlations = submitted + count, *sizes = correlations + count, *addresses = sizes + count;
	uint32_t *operations = (uint32_t *)(addresses + count), *queues = operations + count;
	uint32_t *threads = queues + count;
	if (sonde_column_deltas(&columns[START], count, starts) || take(&columns[TIME], count, lengths) ||
	    sonde_column_id_deltas(&columns[OPERATION], count, (uint32_t)session->operations.count, operations) ||
	    sonde_column_ids(&columns[QUEUE], count, (uint32_t)session->queues.count, queues) ||
	    sonde_column_ids(&columns[THREAD], count, (uint32_t)session->threads.count, threads) ||
	    take(&columns[QUEUED], count, queued) || take(&columns[SUBMITTED], count, submitted) ||
	    sonde_column_deltas(&columns[CORRELATION], count, correlations) || take(&columns[SIZE], count, sizes) ||
	    sonde_column_deltas(&columns[ADDRESS], count, addresses))
		return -EBADMSG;
	for (size_t i = 0; i < COLUMNS; i++)
		if (sonde_column_end(&columns[i]))
			return -EBADMSG;
	batch->count = count;
	batch->start_ns = starts;
	batch->dur_ns = lengths;
	batch->operation = operations;
	batch->queue = queues;
	batch->thread_of = threads;
	batch->queued_ns = queued;
	batch->submitted_ns = submitted;
	batch->correlation = correlations;
	batch->size_b = sizes;
	batch->address = addresses;
	return check_times(batch);
}
