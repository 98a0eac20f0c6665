/* meta_devices.c: finds the rows that are one physical device (meta.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "session/meta.h"
#include "session/state.h"
#include "sonde/device.h"
#include "util/error.h"

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
