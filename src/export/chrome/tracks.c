/* tracks.c: writes the stream of tracks (tracks/tracks.h) as trace events: slices as complete events (X), instants i,
 * counters C, and a flow as an arrow (s, f).
 *
 * A track that must not be merged with its thread's, because its slices would not nest with zones and calls, becomes a
 * thread of the viewer with a number above the kernel's. A counter belongs to its process. A device is shown as one
 * process of the viewer, even if several processes use it; its queues are numbered from 1, since it has no other
 * tracks.
 *
 * A link is stored in the two slices that it connects, as "bind_id" with "flow_out" or "flow_in", as in Chromium's own
 * traces; Chromium's and Perfetto's viewers draw it. There may be millions of links: separate events (s, f), as for
 * other arrows, would take a third of the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "export/chrome/event.h"
#include "util/error.h"

/* Numbers of devices and of tracks start here, above all pids, which are below 2^22. */
enum { DEVICE_LEAST = 1 << 23 };
enum { QUEUES_LEAST = 1, OTHERS_LEAST = 1 << 27, CALLS_LEAST = 1 << 28, PATH_LEAST = 1 << 29, STATES_LEAST = 1 << 30 };

static const struct place {
	uint32_t least;
	uint8_t is_by_thread; /* numbered `least` + thread id; otherwise in order of appearance */
	uint8_t is_first;     /* shown above all other tracks */
	uint8_t is_brief;     /* the title does not repeat the thread's name */
} places[SONDE_TRACK_KINDS] = {[SONDE_TRACK_STATES] = {STATES_LEAST, 1, 0, 0},
			       [SONDE_TRACK_DEVICES] = {CALLS_LEAST, 0, 0, 1},
			       [SONDE_TRACK_PATH] = {PATH_LEAST, 0, 1, 0}};

static struct sonde_chrome_event event_of(const struct sonde_track_event *event, uint32_t number)
{
	int is_slice = event->form == SONDE_TRACK_SLICE, has_name = *event->name && event->form != SONDE_TRACK_COUNTER;
	return (struct sonde_chrome_event){.name = has_name ? event->name : event->what,
					   .category = event->category,
					   .thread = is_slice ? event->track.thread : event->thread,
					   .process = event->track.process,
					   .track = number,
					   .pid = event->track.queue ? DEVICE_LEAST + event->track.device : 0,
					   .time_ns = event->from_ns};
}

static void put_name(struct sonde_chrome *chrome, const struct sonde_track *track, struct sonde_chrome_event event)
{
	const struct sonde_thread *thread = sonde_session_thread(chrome->session, track->thread);
	char title[300];
	if (track->queue)
		sonde_chrome_metadata(chrome, "process_name", event, track->device_title);
	if (thread && !places[track->kind].is_brief)
		snprintf(title, sizeof title, "%.255s (%u): %s", thread->name, thread->tid, track->title);
	else
		snprintf(title, sizeof title, "%s", track->title);
	sonde_chrome_metadata(chrome, "thread_name", event, title);
	if (!places[track->kind].is_first)
		return;
	event.phase = "M";
	event.name = "thread_sort_index";
	event.category = "__metadata";
	event.time_ns = chrome->base_ns;
	sonde_chrome_begin(chrome, &event);
	sonde_chrome_args(chrome);
	sonde_json_key(&chrome->json, "sort_index");
	sonde_json_raw(&chrome->json, "-1");
	sonde_chrome_end(chrome);
}

/* Returns the number of a track, and writes the track's name on first use. 0 = out of memory. */
static uint32_t look_up(struct sonde_chrome *chrome, const struct sonde_track_event *event)
{
	const struct sonde_track *track = &event->track;
	const struct place *place = &places[track->kind];
	uint64_t key =
	    sonde_hash_pair((uint64_t)track->process << 32 | track->thread, (uint64_t)track->sub << 8 | track->kind);
	key = track->queue ? sonde_hash_pair(key, track->queue) : key;
	uint32_t number = sonde_map_find(&chrome->numbers, key, NULL, NULL);
	if (number)
		return number;
	number = track->queue ? QUEUES_LEAST + chrome->queue_count++
		 : place->is_by_thread
		     ? place->least + track->thread
		     : (place->least ? place->least : OTHERS_LEAST) + chrome->track_counts[track->kind]++;
	if (sonde_map_add(&chrome->numbers, key, number))
		return 0;
	put_name(chrome, track, event_of(event, number));
	return number;
}

static uint32_t number_of(struct sonde_chrome *chrome, const struct sonde_track_event *event)
{
	if (chrome->last_number && sonde_track_is(&chrome->last, &event->track))
		return chrome->last_number;
	chrome->last = event->track;
	return chrome->last_number = look_up(chrome, event);
}

void sonde_chrome_put_arg(struct sonde_json *json, const struct sonde_track_arg *arg)
{
	sonde_json_key(json, arg->key);
	if (arg->type == SONDE_TRACK_SIZES) {
		sonde_json_array(json);
		for (int i = 0; i < 3; i++)
			sonde_json_uint(json, arg->sizes[i] ? arg->sizes[i] : 1);
		sonde_json_end(json);
	} else if (arg->type == SONDE_TRACK_TEXT)
		sonde_json_text(json, arg->text);
	else if (arg->type == SONDE_TRACK_REAL)
		sonde_json_real(json, arg->real);
	else if (arg->type == SONDE_TRACK_INT)
		sonde_json_int(json, (int64_t)arg->number);
	else
		sonde_json_uint(json, arg->number);
}

/* Flows begin on tracks of the same kind, which are numbered by thread. */
static void put_flow(struct sonde_chrome *chrome, const struct sonde_track_event *event, uint32_t number)
{
	const struct sonde_track_flow *flow = &event->flow;
	const struct place *place = &places[event->track.kind];
	const struct sonde_chrome_moment from = {flow->thread, place->is_by_thread ? place->least + flow->thread : 0,
						 flow->from_ns, 0};
	const struct sonde_chrome_moment to = {event->track.thread, number, event->from_ns, 0};
	sonde_chrome_arrow(chrome, flow->title, ++chrome->flow_counts[event->track.kind], &from, &to);
}

/* All links from one slice have the number of the first. */
static void put_links(struct sonde_json *json, const struct sonde_track_links *links)
{
	char id[24];
	if (!links->first)
		return;
	snprintf(id, sizeof id, "0x%" PRIx32, links->first);
	sonde_json_put_text(json, "bind_id", id);
	sonde_json_put_bool(json, links->end ? "flow_in" : "flow_out", 1);
}

int sonde_chrome_track(void *context, const struct sonde_track_event *event)
{
	struct sonde_chrome *chrome = context;
	static const char *const phases[] = {
	    [SONDE_TRACK_SLICE] = "X", [SONDE_TRACK_INSTANT] = "i", [SONDE_TRACK_COUNTER] = "C"};
	const struct sonde_thread *thread = sonde_session_thread(chrome->session, event->track.thread);
	int is_slice = event->form == SONDE_TRACK_SLICE;
	if (event->track.kind == SONDE_TRACK_SERIES)
		return sonde_chrome_series(chrome, event);
	uint32_t number = is_slice ? number_of(chrome, event) : 0;
	struct sonde_chrome_event head = event_of(event, number);
	if (is_slice && !number)
		return sonde_error(ENOMEM, "out of memory for the tracks of a trace");
	head.phase = phases[event->form];
	sonde_chrome_begin(chrome, &head);
	if (is_slice)
		sonde_chrome_micros(chrome, "dur", event->to_ns - event->from_ns);
	if (event->form == SONDE_TRACK_INSTANT)
		sonde_json_put_text(&chrome->json, "s", "t");
	else if (!is_slice && thread)
		sonde_json_put_uint(&chrome->json, "id", thread->tid); /* distinguishes counters of the same name */
	put_links(&chrome->json, &event->links);
	sonde_chrome_args(chrome);
	for (size_t i = 0; i < event->arg_count; i++)
		sonde_chrome_put_arg(&chrome->json, &event->args[i]);
	sonde_chrome_end(chrome);
	chrome->slice_counts[event->track.kind] += (uint64_t)is_slice;
	if (event->flow.thread)
		put_flow(chrome, event, number);
	return 0;
}
