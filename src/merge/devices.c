/* devices.c: devices, their queues, what they do and when (out.h). */
#include <string.h>

#include "merge/out.h"
#include "source/activities.h"
#include "source/call_stacks.h"

/* --- tables ------------------------------------------------------------------------------------------------------ */

int sonde_merge_device(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t id)
{
	const struct sonde_device *row = sonde_session_device(input->session, id);
	struct sonde_meta_device record = {
	    .head.type = SONDE_META_DEVICE,
	    .id = id + input->devices,
	    .process = sonde_merge_process(input, row->process),
	    .kind = row->kind,
	    .index = row->index,
	    .api = sonde_merge_text(out, row->api),
	    .name = sonde_merge_text(out, row->name),
	    .uuid = sonde_merge_text(out, row->uuid),
	    .driver = sonde_merge_text(out, row->driver),
	    .units = row->units,
	    .clock_mhz = row->clock_mhz,
	    .warp = row->warp,
	    .warps_unit = row->warps_unit,
	    .blocks_unit = row->blocks_unit,
	    .registers_unit = row->registers_unit,
	    .shared_unit_b = row->shared_unit_b,
	    .memory_b = row->memory_b,
	    .memory_b_per_s = row->memory_b_per_s,
	    .capability = row->capability,
	};
	return sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

int sonde_merge_queue(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t id)
{
	const struct sonde_queue *row = sonde_session_queue(input->session, id);
	struct sonde_meta_queue record = {
	    .head.type = SONDE_META_QUEUE,
	    .id = id + input->queues,
	    .process = sonde_merge_process(input, row->process),
	    .device = sonde_merge_id(row->device, sonde_session_device_count(input->session), input->devices),
	    .flags = row->flags,
	    .context = row->context,
	    .handle = row->handle,
	    .name = sonde_merge_text(out, row->name),
	};
	return sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

int sonde_merge_operation(struct sonde_merge_out *out, const struct sonde_merge_input *input, uint32_t id)
{
	const struct sonde_operation *row = sonde_session_operation(input->session, id);
	size_t devices = sonde_session_device_count(input->session);
	struct sonde_meta_operation record = {
	    .head.type = SONDE_META_OPERATION,
	    .id = id + input->operations,
	    .process = sonde_merge_process(input, row->process),
	    .kind = row->kind,
	    .name = sonde_merge_text(out, row->name),
	    .registers = row->registers,
	    .local_b = row->local_b,
	    .static_shared_b = row->static_shared_b,
	    .dynamic_shared_b = row->dynamic_shared_b,
	    .shared_unit_b = row->shared_unit_b,
	    .from = row->from,
	    .to = row->to,
	    .from_device = sonde_merge_id(row->from_device, devices, input->devices),
	    .to_device = sonde_merge_id(row->to_device, devices, input->devices),
	};
	memcpy(record.grid, row->grid, sizeof record.grid);
	memcpy(record.block, row->block, sizeof record.block);
	return sonde_writer_meta(out->writer, &record, sizeof record, NULL, 0);
}

/* --- activities -------------------------------------------------------------------------------------------------- */

/* When something was that lies so long before `start_ns`, + 1; 0 = not known. */
static uint64_t time_of(uint64_t start_ns, uint64_t before_ns)
{
	return before_ns ? start_ns - (before_ns - 1) : 0;
}

int sonde_merge_activities(struct sonde_merge_out *out, const struct sonde_merge_input *input,
			   const struct sonde_batch *batch)
{
	struct sonde_activities into;
	size_t operations = sonde_session_operation_count(input->session);
	size_t queues = sonde_session_queue_count(input->session);
	sonde_activities_init(&into);
	for (size_t i = 0; i < batch->count; i++) {
		uint64_t start_ns = sonde_merge_time(input, batch->start_ns[i]);
		struct sonde_timed row = {
		    .start_ns = start_ns,
		    .dur_ns = batch->dur_ns[i],
		    .queued_ns = time_of(start_ns, batch->queued_ns[i]),
		    .submitted_ns = time_of(start_ns, batch->submitted_ns[i]),
		    .correlation = batch->correlation[i],
		    .size_b = batch->size_b[i],
		    .address = batch->address[i],
		    .operation = sonde_merge_id(batch->operation[i], operations, input->operations),
		    .queue = sonde_merge_id(batch->queue[i], queues, input->queues),
		    .thread = sonde_merge_thread(input, batch->thread_of[i]),
		};
		(void)sonde_activities_put(&into, &row); /* of one chunk: they find room in one */
	}
	int error = sonde_activities_flush(&into, out->writer);
	sonde_activities_fini(&into);
	return error;
}

int sonde_merge_call_stacks(struct sonde_merge_out *out, const struct sonde_merge_input *input,
			    const struct sonde_batch *batch)
{
	struct sonde_call_rows into;
	sonde_call_rows_init(&into);
	for (size_t i = 0; i < batch->count; i++) {
		struct sonde_call_row row = {
		    .time_ns = sonde_merge_time(input, batch->time_ns[i]),
		    .correlation = batch->correlation[i],
		    .thread = sonde_merge_thread(input, batch->thread_of[i]),
		    .stack = sonde_merge_node(input, batch->stack[i]),
		    .status = batch->status[i],
		};
		(void)sonde_call_rows_put(&into, &row); /* of one chunk: they find room in one */
	}
	int error = sonde_call_rows_flush(&into, out->writer);
	sonde_call_rows_fini(&into);
	return error;
}
