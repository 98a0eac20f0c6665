/* chrome_devices.c: what devices did: a process of the viewer a device, a track a queue, complete events; calls of the
 * host for devices on tracks beside their threads, and arrows from them to what they had a device do.
 *
 * Numbers of these processes and tracks are above those that kernels give, and apart from the other tracks'.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/chrome.h"
#include "export/device_slices.h"
#include "util/error.h"

#define DEVICE_LEAST (1u << 23) /* pids are below 2^22 */
#define QUEUE_LEAST (1u << 28)  /* below the path's 2^29 */

/* Where a slice is: numbers of the process and the track. */
static struct sonde_chrome_moment moment_of(const struct sonde_chrome *chrome, const struct sonde_device_slice *slice,
					    uint32_t track)
{
	const struct sonde_queue *queue = sonde_session_queue(chrome->session, slice->queue);
	return (struct sonde_chrome_moment){.thread = queue ? 0 : slice->thread,
					    .track = track,
					    .pid = queue ? DEVICE_LEAST + queue->device : 0,
					    .time_ns = slice->from_ns};
}

static void put_slice(struct sonde_chrome *chrome, const struct sonde_device_slice *slice,
		      const struct sonde_chrome_moment *at)
{
	struct sonde_device_arg args[SONDE_DEVICE_ARGS_MAX];
	const struct sonde_chrome_event event = {.phase = "X",
						 .name = sonde_device_slices_name(chrome->session, slice),
						 .category = slice->queue ? "device" : "device call",
						 .thread = at->thread,
						 .track = at->track,
						 .pid = at->pid,
						 .time_ns = slice->from_ns};
	size_t count = sonde_device_slices_args(chrome->session, slice, args);
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_micros(chrome, "dur", slice->to_ns - slice->from_ns);
	sonde_chrome_args(chrome);
	sonde_json_put_text(&chrome->json, "kind", sonde_activity_row(slice->kind)->name);
	for (size_t i = 0; i < count; i++)
		sonde_json_put_uint(&chrome->json, args[i].key, args[i].value);
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
	sonde_chrome_metadata(chrome, "thread_name", event, sonde_device_slices_queue(chrome->session, slice, text));
}

int sonde_chrome_devices(struct sonde_chrome *chrome)
{
	struct sonde_device_slices slices;
	int error = sonde_device_slices_read(&slices, chrome->session, chrome->options);
	uint32_t *tracks = error ? NULL : calloc(slices.count + 1, sizeof *tracks), track = QUEUE_LEAST - 1;
	for (size_t i = 0; tracks && i < slices.count; i++) {
		track += (uint32_t)sonde_device_slice_begins(&slices, i);
		tracks[i] = track;
		const struct sonde_chrome_moment at = moment_of(chrome, &slices.all[i], track);
		if (sonde_device_slice_begins(&slices, i))
			put_track(chrome, &slices.all[i], &at);
		put_slice(chrome, &slices.all[i], &at);
	}
	for (size_t i = 0; tracks && i < slices.count; i++) {
		const struct sonde_device_slice *slice = &slices.all[i];
		if (!slice->queue || !slice->arrow)
			continue;
		uint32_t call = slices.calls[slice->arrow - 1];
		const struct sonde_chrome_moment from = moment_of(chrome, &slices.all[call], tracks[call]);
		const struct sonde_chrome_moment to = moment_of(chrome, slice, tracks[i]);
		sonde_chrome_arrow(chrome, "launch", slice->arrow, &from, &to);
	}
	if (!error) {
		chrome->device_slices = slices.count;
		chrome->device_slices_left_out = slices.left_out;
	}
	if (!error && !tracks)
		error = sonde_error(ENOMEM, "out of memory for tracks of devices");
	free(tracks);
	sonde_device_slices_fini(&slices);
	return error;
}
