/* path.c: the critical path: a slice per segment, named by what it was spent on.
 *
 * Traces show the rows of the report's section "critical-steps"; if there are very many, the longest, so that the track
 * has gaps. A viewer that zooms gets every segment, from the analysis itself. Each segment names its thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/graph.h"
#include "analyze/critical/names.h"
#include "base/order.h"
#include "session/weigh.h"
#include "tracks/tracks_state.h"
#include "util/error.h"
#include "util/search.h"

#define SECTION "critical-steps"

/* Threads by tid: a tid may have been reused, and machines of a merged recording may use the same ones. */
struct by_tid {
	uint32_t tid, id;
};

struct path {
	size_t next;
	const struct sonde_section *section; /* NULL: use the analysis */
	struct by_tid *threads;
	const struct sonde_critical_graph *graph;
	const struct sonde_critical_path *steps; /* in the graph; NULL = there is no path */
};

/* --- from the report --------------------------------------------------------------------------------------------- */

static int compare_tids(const void *left, const void *right)
{
	const struct by_tid *a = left, *b = right;
	int by = sonde_order(a->tid, b->tid);
	return by ? by : sonde_order(a->id, b->id);
}

static int index_threads(struct path *path, const struct sonde_session *session)
{
	size_t count = sonde_session_thread_count(session);
	path->threads = malloc((count + 1) * sizeof *path->threads);
	if (!path->threads)
		return sonde_error(ENOMEM, "out of memory for the threads of the critical path");
	for (uint32_t id = 1; id <= count; id++)
		path->threads[id - 1] = (struct by_tid){sonde_session_thread(session, id)->tid, id};
	if (count)
		qsort(path->threads, count, sizeof *path->threads, compare_tids);
	return 0;
}

/* The only thread with this tid and name at a time; 0 = none, or several. */
static uint32_t thread_at(const struct path *path, const struct sonde_session *session, uint64_t tid, const char *name,
			  uint64_t time_ns)
{
	size_t count = sonde_session_thread_count(session);
	uint32_t found = 0;
	for (size_t at = SONDE_SEARCH(i, 0, count, path->threads[i].tid < tid);
	     at < count && path->threads[at].tid == tid; at++) {
		const struct sonde_thread *thread = sonde_session_thread(session, path->threads[at].id);
		if (thread->start_ns > time_ns || (thread->end_ns && time_ns > thread->end_ns) ||
		    strcmp(thread->name, name) != 0)
			continue;
		if (found)
			return 0;
		found = path->threads[at].id;
	}
	return found;
}

static int put_row(struct sonde_tracks *tracks, struct path *path)
{
	const struct sonde_section *section = path->section;
	const struct sonde_run *run = sonde_session_run(tracks->session);
	struct sonde_track_event *event = &tracks->event;
	size_t row = path->next;
	const char *thread = sonde_report_cell_text(section, row, "thread");
	uint64_t tid = sonde_report_cell_uint(section, row, "tid");
	event->track.process = run->root_process ? run->root_process : 1;
	event->what = sonde_report_cell_text(section, row, "kind");
	event->name = sonde_report_cell_text(section, row, "name");
	event->from_ns = run->start_ns + sonde_report_cell_uint(section, row, "start_ns");
	event->to_ns = event->from_ns + sonde_report_cell_uint(section, row, "duration_ns");
	event->thread = thread_at(path, tracks->session, tid, thread, event->from_ns);
	sonde_tracks_text(tracks, "kind", event->what);
	sonde_tracks_text(tracks, "state", sonde_report_cell_text(section, row, "state"));
	sonde_tracks_text(tracks, "thread", thread);
	sonde_tracks_uint(tracks, "tid", tid);
	return 1;
}

/* --- from the analysis ------------------------------------------------------------------------------------------- */

/* Without switches and calls there is no meaningful path (see analyze/critical/path.c). */
static int read_steps(struct path *path, struct sonde_session *session)
{
	if (!sonde_weigh_has(session, SONDE_CHUNK_SWITCHES) && !sonde_weigh_has(session, SONDE_CHUNK_WAITS))
		return 0;
	int rc = sonde_critical_graph_acquire(&path->graph, session, NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	if (path->graph->critical.final && path->graph->critical.to_ns > path->graph->critical.from_ns)
		path->steps = &path->graph->path;
	return 0;
}

static int put_step(struct sonde_tracks *tracks, const struct path *path)
{
	const struct sonde_critical_step *step = &path->steps->steps[path->next];
	struct sonde_track_event *event = &tracks->event;
	event->what = step->call ? sonde_critical_step_kind(step) : sonde_critical_state_name(step->kind);
	event->from_ns = step->from_ns;
	event->to_ns = sonde_critical_step_end(path->steps, path->next);
	event->thread = step->thread;
	return 1;
}

/* --- producer ---------------------------------------------------------------------------------------------------- */

static int open(struct sonde_tracks *tracks, void *context)
{
	struct path *path = context;
	if (tracks->options.is_whole)
		return read_steps(path, tracks->session);
	path->section = sonde_report_find(tracks->options.report, SECTION);
	if (!path->section)
		return 0;
	tracks->left[SONDE_TRACK_PATH].omitted = path->section->table.omitted;
	return index_threads(path, tracks->session);
}

static int next(struct sonde_tracks *tracks, void *context)
{
	struct path *path = context;
	size_t count = path->section ? path->section->table.row_count : path->steps ? path->steps->count : 0;
	if (path->next >= count)
		return 0;
	tracks->event.form = SONDE_TRACK_SLICE;
	tracks->event.track.title = "critical path";
	tracks->event.category = "critical path";
	int rc = path->section ? put_row(tracks, path) : put_step(tracks, path);
	path->next++;
	return rc;
}

static void close(void *context)
{
	struct path *path = context;
	free(path->threads);
	if (path->graph)
		sonde_critical_graph_release(path->graph);
}

const struct sonde_tracks_row sonde_tracks_path = {
    .state_b = sizeof(struct path), .open = open, .next = next, .close = close};
