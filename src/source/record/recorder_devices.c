/* recorder_devices.c: records of devices, their queues, their operations and activities (record/recorder.h). */
#include "source/record/recorder_state.h"

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

void sonde_recorder_activity(struct sonde_recorder *recorder, const struct sonde_activities_row *row)
{
	if (sonde_encoder_activities(&recorder->activities, row))
		sonde_recorder_rows(recorder, &recorder->activities);
}

void sonde_recorder_call(struct sonde_recorder *recorder, const struct sonde_call_stacks_row *row)
{
	if (sonde_encoder_call_stacks(&recorder->calls, row))
		sonde_recorder_rows(recorder, &recorder->calls);
}
