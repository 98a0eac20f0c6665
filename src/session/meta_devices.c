/* meta_devices.c: adds the records of devices, their queues and operations (meta.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "session/meta.h"
#include "session/state.h"
#include "sonde/device.h"
#include "util/error.h"

int sonde_meta_add_device(struct sonde_session *session, const struct sonde_meta_device *from)
{
	static const struct sonde_device blank = {.api = "", .name = "", .uuid = "", .driver = ""};
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->devices, from->id, &blank);
	if (!rc)
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
		    .memory_b_per_s = from->memory_b_per_s,
		    .capability = from->capability,
		    .same = from->id,
		};
	return rc;
}

int sonde_meta_add_queue(struct sonde_session *session, const struct sonde_meta_queue *from)
{
	static const struct sonde_queue blank = {.name = ""};
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->queues, from->id, &blank);
	if (!rc)
		*(struct sonde_queue *)row = (struct sonde_queue){
		    .id = from->id,
		    .process = from->process,
		    .device = from->device,
		    .flags = from->flags,
		    .context = from->context,
		    .handle = from->handle,
		    .name = sonde_session_string(session, from->name),
		};
	return rc;
}

int sonde_meta_add_operation(struct sonde_session *session, const struct sonde_meta_operation *from)
{
	static const struct sonde_operation blank = {.name = ""};
	void *row = NULL;
	int rc = sonde_meta_row(&row, session, &session->operations, from->id, &blank);
	if (rc)
		return rc;
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
	    .from_device = from->from_device,
	    .to_device = from->to_device,
	};
	memcpy(operation->grid, from->grid, sizeof operation->grid);
	memcpy(operation->block, from->block, sizeof operation->block);
	return 0;
}

/* --- devices that several processes use ----------------------------------------------------------------------------
 *
 * A row is a device as seen by one process. Rows are the same device if their UUID, API, name and part are equal. For
 * GPUs the index is ignored, because it depends on which GPUs a process may see. For other devices it must match, too,
 * since CPU drivers may give all of their devices one UUID.
 */

struct seen {
	struct sonde_device *device;
	const struct sonde_part *part;
};

static int by_device(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	int by = strcmp(a->device->uuid, b->device->uuid);
	by = by ? by : strcmp(a->device->api, b->device->api);
	by = by ? by : strcmp(a->device->name, b->device->name);
	by = by ? by : sonde_order(a->part->first_process, b->part->first_process);
	by = by ? by : sonde_order(a->device->kind, b->device->kind);
	return by || a->device->kind == SONDE_DEVICE_GPU ? by : sonde_order(a->device->index, b->device->index);
}

static int by_device_and_id(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	int by = by_device(left, right);
	return by ? by : sonde_order(a->device->id, b->device->id);
}

int sonde_meta_devices_settle(struct sonde_session *session)
{
	size_t all = session->devices.count, count = 0;
	struct seen *seen = calloc(all + 1, sizeof *seen);
	if (!seen)
		return sonde_error(ENOMEM, "out of memory for %zu devices", all);
	for (size_t i = 0; i < all; i++) {
		struct sonde_device *device = sonde_rows_at(&session->devices, i);
		device->same = device->id;
		if (*device->uuid)
			seen[count++] = (struct seen){device, sonde_session_part_of(session, device->process)};
	}
	qsort(seen, count, sizeof *seen, by_device_and_id);
	for (size_t i = 1; i < count; i++)
		if (by_device(&seen[i - 1], &seen[i]) == 0)
			seen[i].device->same = seen[i - 1].device->same;
	free(seen);
	return 0;
}
