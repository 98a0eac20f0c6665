/* devices.c: device activity as markers of the firefox format: each queue of a device is a thread below the process
 * that owns the queue; host calls to devices are markers of their threads.
 *
 * Markers may overlap, so a queue needs no lanes. The format has no arrows: a marker names the submitting thread and
 * the time, and shares a correlation with the call.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/device_slices.h"
#include "export/firefox/rows.h"

#define QUEUE_TID_LEAST (1u << 28) /* tids are below 2^22 */

/* --- markers ------------------------------------------------------------------------------------------------------ */

/* "64 × 2": trailing dimensions of 1 are left out; nothing if not recorded. */
static void put_sizes(struct sonde_json *json, const char *key, const uint32_t sizes[3])
{
	char text[48];
	if (!sizes[0])
		return;
	int len = snprintf(text, sizeof text, "%" PRIu32, sizes[0]);
	if (sizes[1] > 1 || sizes[2] > 1)
		len += snprintf(text + len, sizeof text - (size_t)len, " × %" PRIu32, sizes[1] ? sizes[1] : 1);
	if (sizes[2] > 1)
		snprintf(text + len, sizeof text - (size_t)len, " × %" PRIu32, sizes[2]);
	sonde_json_put_text(json, key, text);
}

static void put_number(struct sonde_json *json, const char *key, uint64_t value)
{
	if (value)
		sonde_json_put_uint(json, key, value);
}

static void put_slice(struct sonde_firefox *firefox, const struct sonde_device_slice *slice)
{
	const struct sonde_operation *operation = sonde_session_operation(firefox->session, slice->operation);
	const struct sonde_thread *asker = sonde_session_thread(firefox->session, slice->thread);
	uint32_t group = slice->queue ? sonde_firefox_queue_group(firefox, slice->queue) : slice->thread;
	struct sonde_firefox_marker marker;
	sonde_firefox_begin(&marker, firefox, group, sonde_device_slices_name(firefox->session, slice), "device");
	sonde_json_put_text(&marker.json, "kind", sonde_activity_row(slice->kind)->name);
	if (slice->delay_ns) {
		sonde_json_key(&marker.json, "delay");
		sonde_firefox_ms(&marker.json, slice->delay_ns - 1);
	}
	if (slice->queue)
		put_number(&marker.json, "asked_by", asker ? asker->tid : 0);
	put_number(&marker.json, "correlation", slice->correlation);
	put_number(&marker.json, "bytes", slice->size_b);
	put_sizes(&marker.json, "grid", operation->grid);
	put_sizes(&marker.json, "block", operation->block);
	put_number(&marker.json, "registers", operation->registers);
	put_number(&marker.json, "local", operation->local_b);
	put_number(&marker.json, "shared", (uint64_t)operation->static_shared_b + operation->dynamic_shared_b);
	sonde_firefox_end(&marker, SONDE_FIREFOX_DEVICE, slice->from_ns, slice->to_ns);
}

int sonde_firefox_devices(struct sonde_firefox *firefox)
{
	struct sonde_device_slices slices;
	int rc = sonde_device_slices_read(&slices, firefox->session, firefox->options);
	if (rc)
		return rc;
	for (size_t i = 0; i < slices.count && !firefox->error; i++)
		if (slices.all[i].queue || sonde_firefox_has(firefox, slices.all[i].thread))
			put_slice(firefox, &slices.all[i]);
	firefox->devices_left = slices.left_out;
	sonde_device_slices_fini(&slices);
	return firefox->error;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

int sonde_firefox_queues(struct sonde_firefox *firefox)
{
	const struct sonde_session *session = firefox->session;
	for (uint32_t id = 1; id <= sonde_session_queue_count(session) && !firefox->error; id++) {
		const struct sonde_queue *queue = sonde_session_queue(session, id);
		uint32_t group = sonde_firefox_queue_group(firefox, id);
		char device[SONDE_DEVICE_LABEL_B], of[SONDE_DEVICE_LABEL_B], name[2 * SONDE_DEVICE_LABEL_B + 8];
		if (!firefox->markers.rows || !firefox->markers.counts[group])
			continue;
		snprintf(name, sizeof name, "%s of %s",
			 sonde_device_slices_queue(session, &(struct sonde_device_slice){.queue = id}, of),
			 sonde_device_slices_device(session, queue->device, device));
		sonde_firefox_thread(
		    firefox, &(struct sonde_thread){
				 .id = group, .process = queue->process, .tid = QUEUE_TID_LEAST + id, .name = name});
	}
	return firefox->error;
}
