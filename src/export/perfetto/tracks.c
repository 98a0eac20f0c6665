/* tracks.c: the stream of tracks (tracks/tracks.h) as tracks below those of threads and processes: slices, instants and
 * counters. A flow begins at an instant on the track of the thread that it comes from.
 *
 * Kernels' own events of switches say more than is known here (who ran instead), so states are slices.
 */
#include "tracks/tracks.h"

#include "export/perfetto/perfetto.h"

static uint64_t parent_of(struct sonde_perfetto *perfetto, const struct sonde_track *track)
{
	return track->thread ? sonde_perfetto_thread(perfetto, track->thread)
			     : sonde_perfetto_process(perfetto, track->process);
}

/* Described when it is the first time. */
static uint64_t track_of(struct sonde_perfetto *perfetto, const struct sonde_track *track)
{
	int is_new;
	uint64_t parent = parent_of(perfetto, track);
	uint64_t number = sonde_perfetto_track(perfetto, SONDE_PERFETTO_TRACKS + track->kind,
					       (uint64_t)track->process << 32 | track->thread, track->sub, &is_new);
	if (is_new)
		sonde_perfetto_describe(perfetto, number, parent, track->title, NULL);
	return number;
}

static void put_arg(struct sonde_perfetto *perfetto, const struct sonde_track_arg *arg)
{
	if (arg->type == SONDE_TRACK_TEXT)
		sonde_perfetto_arg_text(perfetto, arg->key, arg->text);
	else if (arg->type == SONDE_TRACK_REAL)
		sonde_perfetto_arg_real(perfetto, arg->key, arg->real);
	else if (arg->type == SONDE_TRACK_INT)
		sonde_perfetto_arg_int(perfetto, arg->key, (int64_t)arg->number);
	else
		sonde_perfetto_arg_uint(perfetto, arg->key, arg->number);
}

/* Where a flow begins; its number. */
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
		put_arg(perfetto, &event->args[i]);
	if (flow)
		sonde_perfetto_flow(perfetto, flow, 1);
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

static struct sonde_tracks_options options_of(const struct sonde_perfetto *perfetto, uint32_t kinds)
{
	const struct sonde_format_options *options = perfetto->options;
	return (struct sonde_tracks_options){.kinds = kinds,
					     .from_ns = options->from_ns,
					     .to_ns = options->to_ns,
					     .thread = options->thread,
					     .report = options->report};
}

static int put_all(struct sonde_perfetto *perfetto, struct sonde_tracks *tracks)
{
	const struct sonde_track_event *event;
	int rc = 0;
	while (!perfetto->error && (rc = sonde_tracks_next(tracks, &event)) > 0)
		if (event->form == SONDE_TRACK_COUNTER)
			put_point(perfetto, event);
		else
			put_slice(perfetto, event);
	return perfetto->error ? perfetto->error : rc;
}

int sonde_perfetto_events(struct sonde_perfetto *perfetto, const struct sonde_batch *batch)
{
	const struct sonde_tracks_options options = options_of(perfetto, SONDE_TRACKS_OF(SONDE_TRACK_EVENTS));
	int error = perfetto->events ? 0 : sonde_tracks_open(&perfetto->events, perfetto->session, &options);
	if (error)
		return error;
	sonde_tracks_feed(perfetto->events, batch);
	return put_all(perfetto, perfetto->events);
}

int sonde_perfetto_tracks(struct sonde_perfetto *perfetto, uint32_t kinds)
{
	const struct sonde_tracks_options options = options_of(perfetto, kinds);
	struct sonde_tracks *tracks;
	int error = sonde_tracks_open(&tracks, perfetto->session, &options);
	if (error)
		return error;
	error = put_all(perfetto, tracks);
	for (int kind = 0; kind < SONDE_TRACK_KINDS; kind++)
		if (kinds & SONDE_TRACKS_OF(kind))
			perfetto->left[kind] = *sonde_tracks_left(tracks, (enum sonde_track_kind)kind);
	sonde_tracks_close(tracks);
	return error;
}
