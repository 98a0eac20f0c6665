/* meta_devices.c: the records of devices, their queues, and what they do (meta.h). */
#include <string.h>

#include "session/meta.h"
#include "session/state.h"

int sonde_meta_add_device(struct sonde_session *session, const struct sonde_meta_device *from)
{
	static const struct sonde_device blank = {.api = "", .name = "", .uuid = "", .driver = ""};
	void *row = NULL;
	int error = sonde_meta_row(&row, session, &session->devices, from->id, &blank);
	if (!error)
		*(struct sonde_device *)row = (struct sonde_device){
		    .id = from->id,
		    .process = from->process,
		    .kind = from->kind,
		    .index = from->index,
		    .api = sonde_session_string(session, from->api),
		    .name = sonde_session_string(session, from->name),
		    .uuid = sonde_session_string(session, from->uuid),
		    .driver = sonde_session_string(session, from->driver),
		    .units = from->units,
		    .clock_mhz = from->clock_mhz,
		    .warp = from->warp,
		    .warps_unit = from->warps_unit,
		    .blocks_unit = from->blocks_unit,
		    .registers_unit = from->registers_unit,
		    .shared_unit_b = from->shared_unit_b,
		    .memory_b = from->memory_b,
		};
	return error;
}

int sonde_meta_add_queue(struct sonde_session *session, const struct sonde_meta_queue *from)
{
	static const struct sonde_queue blank = {.name = ""};
	void *row = NULL;
	int error = sonde_meta_row(&row, session, &session->queues, from->id, &blank);
	if (!error)
		*(struct sonde_queue *)row = (struct sonde_queue){
		    .id = from->id,
		    .process = from->process,
		    .device = from->device,
		    .flags = from->flags,
		    .context = from->context,
		    .handle = from->handle,
		    .name = sonde_session_string(session, from->name),
		};
	return error;
}

int sonde_meta_add_operation(struct sonde_session *session, const struct sonde_meta_operation *from)
{
	static const struct sonde_operation blank = {.name = ""};
	void *row = NULL;
	int error = sonde_meta_row(&row, session, &session->operations, from->id, &blank);
	if (error)
		return error;
	struct sonde_operation *operation = row;
	*operation = (struct sonde_operation){
	    .id = from->id,
	    .process = from->process,
	    .kind = sonde_activity_row(from->kind)->name ? from->kind : 0,
	    .name = sonde_session_string(session, from->name),
	    .registers = from->registers,
	    .local_b = from->local_b,
	    .static_shared_b = from->static_shared_b,
	    .dynamic_shared_b = from->dynamic_shared_b,
	    .shared_unit_b = from->shared_unit_b,
	    .from = from->from,
	    .to = from->to,
	};
	memcpy(operation->grid, from->grid, sizeof operation->grid);
	memcpy(operation->block, from->block, sizeof operation->block);
	return 0;
}
