/* path.c: the critical path: a slice per segment, named after the activity in it.
 *
 * Traces show the longest segments, if there are very many, so that the track has gaps. A viewer that zooms gets every
 * segment. Each segment names its thread.
 */
#include <errno.h>

#include "analyze/critical/graph.h"
#include "analyze/critical/longest.h"
#include "analyze/critical/names.h"
#include "session/weigh.h"
#include "tracks/tracks_state.h"
#include "util/error.h"

enum { TRACE_STEPS_MAX = 100000 };

struct path {
	const struct sonde_critical_graph *graph;
	const struct sonde_critical_path *steps; /* in the graph; NULL = there is no path */
	struct sonde_critical_longest longest;
	struct sonde_report *texts; /* names of steps live in it */
};

/* Computes the path. If neither switches nor calls were recorded, there is no meaningful path (see
 * analyze/critical/path.c). */
static int read_steps(struct path *path, const struct sonde_tracks *tracks)
{
	struct sonde_session *session = tracks->session;
	const struct sonde_pass_options part = {.selection = tracks->options.selection};
	if (!sonde_weigh_has(session, SONDE_CHUNK_SWITCHES) && !sonde_weigh_has(session, SONDE_CHUNK_WAITS))
		return 0;
	int rc = sonde_critical_graph_acquire(&path->graph, session, &part);
	if (rc < 0)
		return rc;
	const struct sonde_critical *critical = &path->graph->critical;
	if (critical->final && critical->to_ns > critical->from_ns && (critical->has_switches || critical->has_calls))
		path->steps = &path->graph->path;
	return 0;
}

static int open(struct sonde_tracks *tracks, void *context)
{
	struct path *path = context;
	int rc = read_steps(path, tracks);
	if (rc || !path->steps)
		return rc == -ENOMEM || !tracks->options.is_whole ? rc : 0;
	rc = sonde_critical_longest_find(&path->longest, path->steps,
					 tracks->options.is_whole ? path->steps->count : TRACE_STEPS_MAX);
	tracks->left[SONDE_TRACK_PATH].omitted = path->steps->count - path->longest.count;
	return rc ? rc : sonde_report_new(&path->texts);
}

/* What a trace shows of a step besides its time. */
static int describe(struct sonde_tracks *tracks, const struct path *path, const struct sonde_critical_step *step)
{
	const struct sonde_run *run = sonde_session_run(tracks->session);
	const struct sonde_thread *thread = sonde_session_thread(tracks->session, step->queue ? 0 : step->thread);
	struct sonde_track_event *event = &tracks->event;
	const char *where = sonde_critical_step_where(tracks->session, step, path->texts);
	event->name = sonde_critical_step_name(tracks->session, step, path->texts);
	int rc = sonde_report_status(path->texts);
	if (rc)
		return rc;
	event->track.process = run->root_process ? run->root_process : 1;
	event->what = sonde_critical_step_kind(step);
	event->thread = step->queue ? 0 : step->thread;
	sonde_tracks_text(tracks, "kind", event->what);
	sonde_tracks_text(tracks, "state", sonde_critical_state_name(step->kind));
	sonde_tracks_text(tracks, "thread", where);
	sonde_tracks_uint(tracks, "tid", thread ? thread->tid : 0);
	return 1;
}

static int next(struct sonde_tracks *tracks, void *context)
{
	struct path *path = context;
	size_t i = path->steps ? sonde_critical_longest_next(&path->longest) : 0;
	if (!path->steps || i == path->steps->count)
		return 0;
	const struct sonde_critical_step *step = &path->steps->steps[i];
	struct sonde_track_event *event = &tracks->event;
	event->form = SONDE_TRACK_SLICE;
	event->track.title = "critical path";
	event->category = "critical path";
	event->from_ns = step->from_ns;
	event->to_ns = sonde_critical_step_end(path->steps, i);
	if (!tracks->options.is_whole)
		return describe(tracks, path, step);
	event->what = step->call ? sonde_critical_step_kind(step) : sonde_critical_state_name(step->kind);
	event->thread = step->thread;
	return 1;
}

static void close(void *context)
{
	struct path *path = context;
	sonde_report_free(path->texts);
	if (path->graph)
		sonde_critical_graph_release(path->graph);
}

const struct sonde_tracks_row sonde_tracks_path = {
    .state_b = sizeof(struct path), .open = open, .next = next, .close = close};
