/* devices.c: device activity: each device is a process of the viewer (whichever processes use it), each queue a track,
 * with complete events. Host calls to devices are on tracks next to their threads, with arrows to the activity they
 * submitted.
 *
 * An arrow is part of its two slices, by "bind_id" with "flow_out" or "flow_in", as in Chromium's own traces; its
 * viewer and Perfetto's draw it. Separate events (s, f), as for other arrows, would take a third of the file. The ids
 * of these processes, and of the tracks of calls, are above the kernel's and distinct from those of other tracks.
 * Queues are numbered from 1, since a device's process has no other tracks. There may be millions of slices, so
 * whatever repeats in each is kept short.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/chrome/event.h"
#include "export/device_slices.h"
#include "session/device_labels.h"

#define DEVICE_LEAST (1u << 23) /* pids are below 2^22 */
#define CALLS_LEAST (1u << 28)  /* below the critical path's 2^29 */

/* Process and track numbers of a slice. */
static struct sonde_chrome_moment moment_of(const struct sonde_chrome *chrome, const struct sonde_device_slice *slice,
					    uint32_t track)
{
	const struct sonde_queue *queue = sonde_session_queue(chrome->session, slice->queue);
	const struct sonde_device *device = queue ? sonde_device_first(chrome->session, queue->device) : NULL;
	return (struct sonde_chrome_moment){.thread = queue ? 0 : slice->thread,
					    .track = track,
					    .pid = queue ? DEVICE_LEAST + (device ? device->id : 0) : 0,
					    .time_ns = slice->from_ns};
}

/* Writes a grid or a block as three numbers, if recorded. */
static void put_sizes(struct sonde_json *json, const char *key, const uint32_t sizes[3])
{
	if (!sizes[0])
		return;
	sonde_json_key(json, key);
	sonde_json_array(json);
	for (int i = 0; i < 3; i++)
		sonde_json_uint(json, sizes[i] ? sizes[i] : 1);
	sonde_json_end(json);
}

/* True for the six scalar arguments that make up the two sizes. */
static int is_size(const char *key)
{
	return !strncmp(key, "grid_", 5) || !strncmp(key, "block_", 6);
}

/* The activities that a call submitted have the call's number. */
static void put_arrow(struct sonde_chrome *chrome, const struct sonde_device_slices *slices,
		      const struct sonde_device_slice *slice)
{
	char id[24];
	if (!slice->arrow)
		return;
	uint32_t number = slice->queue ? slices->all[slices->calls[slice->arrow - 1]].arrow : slice->arrow;
	snprintf(id, sizeof id, "0x%" PRIx32, number);
	sonde_json_put_text(&chrome->json, "bind_id", id);
	sonde_json_key(&chrome->json, slice->queue ? "flow_in" : "flow_out");
	sonde_json_bool(&chrome->json, 1);
}

static void put_slice(struct sonde_chrome *chrome, const struct sonde_device_slices *slices,
		      const struct sonde_device_slice *slice, const struct sonde_chrome_moment *at)
{
	struct sonde_device_arg args[SONDE_DEVICE_ARGS_MAX];
	const struct sonde_chrome_event event = {.phase = "X",
						 .name = sonde_device_slices_name(chrome->session, slice),
						 .category = slice->queue ? "device" : "GPU API call",
						 .thread = at->thread,
						 .track = at->track,
						 .pid = at->pid,
						 .time_ns = slice->from_ns};
	const struct sonde_operation *operation = sonde_session_operation(chrome->session, slice->operation);
	size_t count = sonde_device_slices_args(chrome->session, slice, args);
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", slice->to_ns - slice->from_ns);
	put_arrow(chrome, slices, slice);
	sonde_chrome_args(chrome);
	sonde_json_put_text(&chrome->json, "kind", sonde_activity_row(slice->kind)->name);
	for (size_t i = 0; i < count; i++)
		if (!is_size(args[i].key))
			sonde_json_put_uint(&chrome->json, args[i].key, args[i].value);
	put_sizes(&chrome->json, "grid", operation->grid);
	put_sizes(&chrome->json, "block", operation->block);
	sonde_chrome_end(chrome);
}

static void put_track(struct sonde_chrome *chrome, const struct sonde_device_slice *slice,
		      const struct sonde_chrome_moment *at)
{
	char text[SONDE_DEVICE_LABEL_B];
	const struct sonde_chrome_event event = {.thread = at->thread, .track = at->track, .pid = at->pid};
	const struct sonde_queue *queue = sonde_session_queue(chrome->session, slice->queue);
	if (queue)
		sonde_chrome_metadata(chrome, "process_name", event,
				      sonde_device_slices_device(chrome->session, queue->device, text));
	sonde_chrome_metadata(chrome, "thread_name", event, sonde_device_slices_track(chrome->session, slice, text));
}

int sonde_chrome_devices(struct sonde_chrome *chrome)
{
	struct sonde_device_slices slices;
	int rc = sonde_device_slices_read(&slices, chrome->session, chrome->options);
	uint32_t calls = CALLS_LEAST - 1, queues = 0;
	for (size_t i = 0; !rc && i < slices.count; i++) {
		uint32_t *track = slices.all[i].queue ? &queues : &calls;
		*track += (uint32_t)sonde_device_slice_begins(&slices, i);
		const struct sonde_chrome_moment at = moment_of(chrome, &slices.all[i], *track);
		if (sonde_device_slice_begins(&slices, i))
			put_track(chrome, &slices.all[i], &at);
		put_slice(chrome, &slices, &slices.all[i], &at);
	}
	if (!rc) {
		chrome->device_slices = slices.count;
		chrome->device_slices_left_out = slices.left_out;
	}
	sonde_device_slices_fini(&slices);
	return rc;
}
