/* devices.c: devices, their queues and operations (out.h). */
#include <string.h>

#include "merge/out.h"

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
