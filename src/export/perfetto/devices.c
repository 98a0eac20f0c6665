/* devices.c: device activity: each device is a track (whichever processes use it), with a track of slices below it for
 * each queue; host calls to devices are on tracks below their threads, with arrows to the activity they submitted. */
#include "export/device_slices.h"
#include "export/perfetto/perfetto.h"
#include "session/device_labels.h"

/* The track of a slice, described on first use. */
static uint64_t track_of(struct sonde_perfetto *perfetto, const struct sonde_device_slice *slice)
{
	const struct sonde_queue *queue = sonde_session_queue(perfetto->session, slice->queue);
	char text[SONDE_DEVICE_LABEL_B];
	uint64_t parent;
	int is_new;
	if (queue) {
		const struct sonde_device *device = sonde_device_first(perfetto->session, queue->device);
		parent = sonde_perfetto_track(perfetto, SONDE_PERFETTO_DEVICE, device ? device->id : 0,
					      device ? 0 : queue->process, &is_new);
		if (is_new)
			sonde_perfetto_describe(perfetto, parent, 0,
						sonde_device_slices_device(perfetto->session, queue->device, text),
						NULL);
	} else {
		parent = sonde_perfetto_thread(perfetto, slice->thread);
	}
	uint64_t track = sonde_perfetto_track(perfetto, queue ? SONDE_PERFETTO_QUEUE : SONDE_PERFETTO_DEVICE_CALLS,
					      queue ? slice->queue : slice->thread, slice->lane, &is_new);
	if (is_new)
		sonde_perfetto_describe(perfetto, track, parent,
					sonde_device_slices_track(perfetto->session, slice, text), NULL);
	return track;
}

static void put_slice(struct sonde_perfetto *perfetto, const struct sonde_device_slice *slice, uint64_t track,
		      uint64_t flows)
{
	struct sonde_device_arg args[SONDE_DEVICE_ARGS_MAX];
	size_t count = sonde_device_slices_args(perfetto->session, slice, args);
	sonde_perfetto_begin(
	    perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_BEGIN,
						     .track = track,
						     .time_ns = slice->from_ns,
						     .category = slice->queue ? "device" : "GPU API call",
						     .name = sonde_device_slices_name(perfetto->session, slice)});
	sonde_perfetto_arg_text(perfetto, "kind", sonde_activity_row(slice->kind)->name);
	for (size_t i = 0; i < count; i++)
		sonde_perfetto_arg_uint(perfetto, args[i].key, args[i].value);
	if (slice->queue && slice->arrow)
		sonde_perfetto_flow(perfetto, flows + slice->arrow, 1);
	for (uint32_t i = 0; !slice->queue && i < slice->arrows; i++)
		sonde_perfetto_flow(perfetto, flows + slice->arrow + i, 0);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_close(perfetto, track, slice->to_ns, NULL);
}

int sonde_perfetto_devices(struct sonde_perfetto *perfetto)
{
	struct sonde_device_slices slices;
	int rc = sonde_device_slices_read(&slices, perfetto->session, perfetto->options);
	if (rc)
		return rc;
	uint64_t track = 0, flows = perfetto->flow_count;
	perfetto->flow_count += slices.arrow_count;
	for (size_t i = 0; i < slices.count && !perfetto->error; i++) {
		if (sonde_device_slice_begins(&slices, i))
			track = track_of(perfetto, &slices.all[i]);
		put_slice(perfetto, &slices.all[i], track, flows);
	}
	perfetto->devices_left = slices.left_out;
	sonde_device_slices_fini(&slices);
	return perfetto->error;
}
