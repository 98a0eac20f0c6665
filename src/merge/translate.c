/* translate.c: translates rows of columnar chunks, according to the reference type of each column
 * (format/chunks.def). */
#include "merge/out.h"

static uint64_t translate(const struct sonde_merge_input *input, const struct sonde_column_layout *column,
			  uint64_t value)
{
	const struct sonde_session *session = input->session;
	uint32_t id = (uint32_t)value;
	switch (column->reference) {
	case SONDE_REFERENCE_TIME:
		return column->coding == SONDE_CODING_TIME ? value + input->shift_ns : sonde_merge_time(input, value);
	case SONDE_REFERENCE_THREAD:
		return sonde_merge_thread(input, id);
	case SONDE_REFERENCE_NODE:
		return sonde_merge_node(input, id);
	case SONDE_REFERENCE_SERIES:
		return input->series[id];
	case SONDE_REFERENCE_OBJECT:
		return sonde_merge_id(id, sonde_session_object_count(session), input->objects);
	case SONDE_REFERENCE_OPERATION:
		return sonde_merge_id(id, sonde_session_operation_count(session), input->operations);
	case SONDE_REFERENCE_QUEUE:
		return sonde_merge_id(id, sonde_session_queue_count(session), input->queues);
	default:
		return value;
	}
}

int sonde_merge_row(struct sonde_encoder *into, const struct sonde_merge_input *input, const struct sonde_batch *batch,
		    size_t i)
{
	const void *columns[SONDE_COLUMNS_MAX];
	uint64_t row[SONDE_COLUMNS_MAX] = {0}; /* at least as large as any row struct */
	const struct sonde_chunk_layout *layout = into->layout;
	memcpy(columns, &batch->samples, layout->count * sizeof *columns);
	for (size_t k = 0; k < layout->count; k++) {
		const struct sonde_column_layout *column = &layout->columns[k];
		sonde_row_set(row, column, translate(input, column, sonde_column_get(columns[k], column, i)));
	}
	return sonde_encoder_put(into, row);
}

int sonde_merge_batch(struct sonde_merge_out *out, const struct sonde_merge_input *input,
		      const struct sonde_batch *batch)
{
	struct sonde_encoder into;
	sonde_encoder_init(&into, batch->type, UINT32_MAX); /* one chunk in, one chunk out */
	for (size_t i = 0; i < batch->count; i++)
		(void)sonde_merge_row(&into, input, batch, i);
	int rc = sonde_encoder_flush(&into, out->writer);
	sonde_encoder_fini(&into);
	return rc;
}
