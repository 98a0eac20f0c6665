/* series.c: resource usage of processes and of the system as counters: "memory.rss", "cpu.user %".
 *
 * Times, such as CPU time, are cumulative: a counter is the increase between two points, in percent of the time between
 * them (100 = one CPU), at the later one. Other values are integers, as recorded. Series of single threads have no
 * track: thread states show the same in detail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/metric.h"
#include "session/weigh.h"
#include "tracks/tracks_state.h"
#include "util/arena.h"
#include "util/error.h"

/* The last point of a series. */
struct last {
	uint64_t time_ns;
	int64_t value;
	const char *title; /* NULL = not made yet */
};

struct all_series {
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	size_t at;          /* next row of the batch */
	struct last *lasts; /* by series id */
	struct sonde_arena titles;
};

static int open(struct sonde_tracks *tracks, void *context)
{
	struct all_series *all = context;
	size_t count = sonde_session_series_count(tracks->session);
	sonde_arena_init(&all->titles);
	all->lasts = calloc(count + 1, sizeof *all->lasts);
	return all->lasts ? sonde_cursor_open(&all->cursor, tracks->session, 1u << SONDE_CHUNK_SERIES)
			  : sonde_error(ENOMEM, "out of memory for %zu series", count);
}

static void close(void *context)
{
	struct all_series *all = context;
	sonde_cursor_close(all->cursor);
	sonde_arena_fini(&all->titles);
	free(all->lasts);
}

/* 1: the event is filled; 0: no event for this point; or a negative errno. */
static int put(struct sonde_tracks *tracks, struct all_series *all, const struct sonde_series *series, uint64_t time_ns,
	       int64_t value)
{
	struct sonde_track_event *event = &tracks->event;
	struct last *last = &all->lasts[series->id], before = *last;
	int is_rate = series->kind == SONDE_METRIC_TOTAL && !strcmp(series->unit, "ns"),
	    is_known = before.time_ns && time_ns > before.time_ns;
	if (value < 0 && !strcmp(series->unit, "B")) /* a negative size: damaged recording */
		return 0;
	last->time_ns = time_ns;
	last->value = value;
	if (!sonde_selection_takes(&tracks->options.selection, time_ns, 0) || (is_rate && !is_known))
		return 0;
	if (!last->title)
		last->title = sonde_arena_printf(&all->titles, "%s%s%s%s", series->name, is_rate ? " %" : "",
						 *series->object ? " " : "", series->object);
	if (!last->title)
		return sonde_error(ENOMEM, "out of memory for the name of a series");
	event->form = SONDE_TRACK_COUNTER;
	event->track.process = series->process;
	event->track.sub = series->id;
	event->track.title = event->what = last->title;
	event->track.unit = is_rate ? "%" : series->unit;
	event->category = "resources";
	event->from_ns = time_ns;
	if (is_rate)
		sonde_tracks_real(tracks, "value",
				  100 * ((double)value - (double)before.value) / (double)(time_ns - before.time_ns));
	else
		sonde_tracks_int(tracks, "value", value);
	return 1;
}

static int next(struct sonde_tracks *tracks, void *context)
{
	struct all_series *all = context;
	int rc = 1;
	for (;; all->at = 0) {
		for (; all->batch && all->at < all->batch->count;) {
			size_t i = all->at++;
			const struct sonde_series *series =
			    sonde_session_series(tracks->session, all->batch->series.series[i]);
			rc = series && !series->thread
				 ? put(tracks, all, series, all->batch->series.time_ns[i], all->batch->series.value[i])
				 : 0;
			if (rc)
				return rc;
		}
		rc = sonde_tracks_batch(all->cursor, &all->batch);
		if (rc <= 0)
			return rc;
	}
}

const struct sonde_tracks_row sonde_tracks_series = {
    .state_b = sizeof(struct all_series), .open = open, .next = next, .close = close};
