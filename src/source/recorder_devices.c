/* recorder_devices.c: devices, their queues, what they do and when (recorder.h). */
#include "source/activities.h"
#include "source/call_stacks.h"
#include "source/recorder_state.h"

uint32_t sonde_recorder_device(struct sonde_recorder *recorder, struct sonde_meta_device *record)
{
	record->head.type = SONDE_META_DEVICE;
	record->id = ++recorder->devices;
	sonde_writer_meta(recorder->writer, record, sizeof *record, NULL, 0);
	return record->id;
}

uint32_t sonde_recorder_queue(struct sonde_recorder *recorder, struct sonde_meta_queue *record)
{
	record->head.type = SONDE_META_QUEUE;
	record->id = ++recorder->queues;
	sonde_writer_meta(recorder->writer, record, sizeof *record, NULL, 0);
	return record->id;
}

uint32_t sonde_recorder_operation(struct sonde_recorder *recorder, struct sonde_meta_operation *record)
{
	record->head.type = SONDE_META_OPERATION;
	record->id = ++recorder->operations;
	sonde_writer_meta(recorder->writer, record, sizeof *record, NULL, 0);
	return record->id;
}

uint32_t sonde_recorder_devices(const struct sonde_recorder *recorder)
{
	return recorder->devices;
}

void sonde_recorder_activity(struct sonde_recorder *recorder, const struct sonde_timed *row)
{
	if (sonde_activities_put(&recorder->activities, row))
		sonde_recorder_keep_error(recorder, sonde_activities_flush(&recorder->activities, recorder->writer));
}

/* What the rows name is written before. */
int sonde_recorder_calls_flush(struct sonde_recorder *recorder)
{
	sonde_recorder_keep_error(recorder, sonde_trie_flush(&recorder->stacks));
	return sonde_call_rows_flush(&recorder->calls, recorder->writer);
}

void sonde_recorder_call(struct sonde_recorder *recorder, const struct sonde_call_row *row)
{
	if (sonde_call_rows_put(&recorder->calls, row))
		sonde_recorder_keep_error(recorder, sonde_recorder_calls_flush(recorder));
}
