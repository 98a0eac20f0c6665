/* tracks.c: writes the stream of tracks (tracks/tracks.h) as tracks below those of threads and processes: slices,
 * instants and counters. A flow begins at an instant event on the track of its source thread.
 *
 * States are written as slices instead of as the kernel's switch events, because a switch event has fields that are
 * unknown here (such as the next thread).
 */
#include <string.h>

#include "export/perfetto/perfetto.h"

/* Returns the parent of a track: the device of a queue, even if several processes use it; otherwise the thread or
 * process. */
static uint64_t parent_of(struct sonde_perfetto *perfetto, const struct sonde_track *track)
{
	int is_new;
	if (track->queue) {
		uint64_t device = sonde_perfetto_track(perfetto, SONDE_PERFETTO_DEVICE, track->device,
						       track->device ? 0 : track->process, &is_new);
		if (is_new)
			sonde_perfetto_describe(perfetto, device, 0, track->device_title, NULL);
		return device;
	}
	return track->thread ? sonde_perfetto_thread(perfetto, track->thread)
			     : sonde_perfetto_process(perfetto, track->process);
}

/* The track, described on first use. */
static uint64_t track_of(struct sonde_perfetto *perfetto, const struct sonde_track *track)
{
	int is_new;
	if (perfetto->last_number && sonde_track_is(&perfetto->last, track))
		return perfetto->last_number;
	uint64_t parent = parent_of(perfetto, track);
	uint64_t number = sonde_perfetto_track(perfetto, SONDE_PERFETTO_TRACKS + track->kind,
					       (uint64_t)track->process << 32 | track->thread,
					       (uint64_t)track->queue << 32 | track->sub, &is_new);
	if (is_new)
		sonde_perfetto_describe(perfetto, number, parent, track->title, NULL);
	perfetto->last = *track;
	return perfetto->last_number = number;
}

/* "grid_x", "grid_y", "grid_z", where known. */
static void put_sizes(struct sonde_perfetto *perfetto, const struct sonde_track_arg *arg)
{
	char key[32];
	size_t len_b = strlen(arg->key);
	memcpy(key, arg->key, len_b);
	memcpy(key + len_b, "_x", 3);
	for (int i = 0; i < 3; i++, key[len_b + 1]++)
		if (arg->sizes[i])
			sonde_perfetto_arg_uint(perfetto, key, arg->sizes[i]);
}

void sonde_perfetto_arg(struct sonde_perfetto *perfetto, const struct sonde_track_arg *arg)
{
	if (arg->type == SONDE_TRACK_SIZES)
		put_sizes(perfetto, arg);
	else if (arg->type == SONDE_TRACK_TEXT)
		sonde_perfetto_arg_text(perfetto, arg->key, arg->text);
	else if (arg->type == SONDE_TRACK_REAL)
		sonde_perfetto_arg_real(perfetto, arg->key, arg->real);
	else if (arg->type == SONDE_TRACK_INT)
		sonde_perfetto_arg_int(perfetto, arg->key, (int64_t)arg->number);
	else
		sonde_perfetto_arg_uint(perfetto, arg->key, arg->number);
}

/* Writes the start of a flow; returns its number. */
static uint64_t put_flow(struct sonde_perfetto *perfetto, const struct sonde_track_event *event)
{
	const struct sonde_thread *thread = sonde_session_thread(perfetto->session, event->flow.thread);
	struct sonde_track from = event->track;
	from.thread = event->flow.thread;
	from.process = thread ? thread->process : from.process;
	sonde_perfetto_begin(perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_INSTANT,
								      .track = track_of(perfetto, &from),
								      .time_ns = event->flow.from_ns,
								      .category = event->flow.title,
								      .name = event->flow.action});
	sonde_perfetto_flow(perfetto, ++perfetto->flow_count, 0);
	sonde_perfetto_end(perfetto, NULL);
	return perfetto->flow_count;
}

/* Numbers the links of a kind of track after all arrows of the kinds written before. */
static void put_links(struct sonde_perfetto *perfetto, const struct sonde_track_links *links)
{
	if (links->end)
		sonde_perfetto_flow(perfetto, perfetto->links_from + links->end, 1);
	for (uint32_t i = 0; !links->end && i < links->count; i++) {
		uint64_t number = perfetto->links_from + links->first + i;
		sonde_perfetto_flow(perfetto, number, 0);
		perfetto->flow_count = number > perfetto->flow_count ? number : perfetto->flow_count;
	}
}

static void put_slice(struct sonde_perfetto *perfetto, const struct sonde_track_event *event)
{
	int is_instant = event->form == SONDE_TRACK_INSTANT;
	uint64_t track = is_instant ? parent_of(perfetto, &event->track) : track_of(perfetto, &event->track);
	uint64_t flow = event->flow.thread ? put_flow(perfetto, event) : 0;
	sonde_perfetto_begin(
	    perfetto, &(struct sonde_perfetto_event){.type = is_instant ? SONDE_PERFETTO_INSTANT : SONDE_PERFETTO_BEGIN,
						     .track = track,
						     .time_ns = event->from_ns,
						     .category = event->category,
						     .name = *event->name ? event->name : event->what});
	for (size_t i = 0; i < event->arg_count; i++)
		sonde_perfetto_arg(perfetto, &event->args[i]);
	if (flow)
		sonde_perfetto_flow(perfetto, flow, 1);
	if (event->links.first)
		put_links(perfetto, &event->links);
	sonde_perfetto_end(perfetto, NULL);
	if (!is_instant)
		sonde_perfetto_close(perfetto, track, event->to_ns, NULL);
}

static void put_point(struct sonde_perfetto *perfetto, const struct sonde_track_event *event)
{
	const struct sonde_track *of = &event->track;
	const struct sonde_track_arg *value = event->args;
	uint64_t track =
	    sonde_perfetto_counter(perfetto, SONDE_PERFETTO_TRACKS + of->kind, (uint64_t)of->process << 32 | of->thread,
				   of->sub, parent_of(perfetto, of), event->what, of->unit);
	if (value->type == SONDE_TRACK_REAL)
		sonde_perfetto_point(perfetto, track, event->from_ns, value->real);
	else
		sonde_perfetto_point_int(perfetto, track, event->from_ns, (int64_t)value->number);
}

int sonde_perfetto_put_track(void *context, const struct sonde_track_event *event)
{
	struct sonde_perfetto *perfetto = context;
	if (event->form == SONDE_TRACK_COUNTER)
		put_point(perfetto, event);
	else
		put_slice(perfetto, event);
	return perfetto->error;
}
