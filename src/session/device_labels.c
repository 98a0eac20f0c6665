/* device_labels.c: labels of devices and their queues (device_labels.h). */
#include "session/device_labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAMESAKES_MAX = 256 }; /* maximum number of devices to compare names with */

const struct sonde_device *sonde_device_first(const struct sonde_session *session, uint32_t device)
{
	const struct sonde_device *row = sonde_session_device(session, device);
	return row ? sonde_session_device(session, row->same) : NULL;
}

/* True if another device has the same name and number: one of another process that is not known to be the same device.
 * With too many devices to compare, always true. */
static int has_namesake(const struct sonde_session *session, const struct sonde_device *device)
{
	size_t count = sonde_session_device_count(session);
	for (uint32_t id = 1; id <= count && count <= NAMESAKES_MAX; id++) {
		const struct sonde_device *other = sonde_session_device(session, id);
		if (other->same == id && id != device->id && other->index == device->index &&
		    !strcmp(other->name, device->name) && !strcmp(other->api, device->api))
			return 1;
	}
	return count > NAMESAKES_MAX;
}

/* Appends " of app (4711)"; nothing for process 0. */
static void put_process(char *out, size_t out_b, const struct sonde_process *process)
{
	size_t used = strlen(out);
	if (process)
		snprintf(out + used, out_b - used, " of %s (%" PRIu32 ")", process->name, process->pid);
}

const char *sonde_device_label_put(const struct sonde_session *session, uint32_t device, char *out, size_t out_b)
{
	const struct sonde_device *row = sonde_device_first(session, device);
	*out = '\0';
	if (!row)
		return out;
	snprintf(out, out_b, "%s%s%s %" PRIu32, row->api, *row->api ? " " : "", *row->name ? row->name : "device",
		 row->index);
	put_process(out, out_b, has_namesake(session, row) ? sonde_session_process(session, row->process) : NULL);
	return out;
}

const char *sonde_queue_name_put(const struct sonde_session *session, uint32_t queue, char *out, size_t out_b)
{
	const struct sonde_queue *row = sonde_session_queue(session, queue);
	*out = '\0';
	if (row && *row->name)
		snprintf(out, out_b, "%s", row->name);
	else if (row)
		snprintf(out, out_b, "queue %" PRIu64, row->handle);
	return out;
}

const char *sonde_queue_label_put(const struct sonde_session *session, uint32_t queue, char *out, size_t out_b)
{
	const struct sonde_queue *row = sonde_session_queue(session, queue);
	const struct sonde_device *device = row ? sonde_device_first(session, row->device) : NULL;
	sonde_queue_name_put(session, queue, out, out_b);
	if (device && device->process != row->process)
		put_process(out, out_b, sonde_session_process(session, row->process));
	return out;
}
