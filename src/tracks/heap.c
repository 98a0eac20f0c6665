/* heap.c: live bytes of each heap as a counter of its process: "heap live", "mappings live", "pool NAME live".
 *
 * The lifetime of a process is divided into equal parts. For each part in which anything changed, a trace gets the
 * maximum of the live bytes, at the middle of the part, and the live bytes at its end; and 0 when the process exits.
 * All heaps together have some thousands of points. A viewer that zooms gets pieces with the minimum and maximum of the
 * live bytes; consecutive parts without changes are one piece.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/meta.h"
#include "tracks/tracks_state.h"
#include "util/error.h"

enum { PARTS_MAX = 1000, PARTS_MIN = 50, PARTS_OF_ALL = 4000, PARTS_WHOLE = 2000, NAME_MAX_B = 300 };

struct heaps {
	struct sonde_heap_interval *parts; /* of the current heap */
	size_t count;
	uint32_t id; /* id of that heap; 0 = none yet */
	const struct sonde_heap *heap;
	const struct sonde_process *process; /* NULL = unknown */
	struct sonde_selection range;
	uint64_t live_b;
	size_t at, end;   /* the next point or part; and the end */
	uint64_t from_ns; /* start of the current piece, and its bounds */
	double least_b, most_b;
	char title[NAME_MAX_B], what[NAME_MAX_B + 8];
};

static int open(struct sonde_tracks *tracks, void *context)
{
	struct heaps *heaps = context;
	size_t all = sonde_session_heap_count(tracks->session), count = all ? PARTS_OF_ALL / all : 0;
	if (!all)
		return 0;
	count = count > PARTS_MAX ? PARTS_MAX : count < PARTS_MIN ? PARTS_MIN : count;
	heaps->count = tracks->options.is_whole ? PARTS_WHOLE : count;
	heaps->parts = calloc(heaps->count, sizeof *heaps->parts);
	return heaps->parts ? 0 : sonde_error(ENOMEM, "out of memory for the curve of a heap");
}

static void close(void *context)
{
	free(((struct heaps *)context)->parts);
}

/* --- a heap ------------------------------------------------------------------------------------------------------- */

/* The wanted part of a process's lifetime; 0 if there is none. */
static int find_range(const struct sonde_tracks *tracks, struct heaps *heaps)
{
	const struct sonde_tracks_options *options = &tracks->options;
	const struct sonde_run *run = sonde_session_run(tracks->session);
	const struct sonde_part *part = sonde_session_part_of(tracks->session, heaps->heap->process);
	struct sonde_selection *range = &heaps->range;
	*range = options->is_whole ? (struct sonde_selection){part->start_ns, part->end_ns, NULL}
				   : (struct sonde_selection){run->start_ns, run->end_ns, options->selection.thread};
	if (heaps->process && heaps->process->start_ns > range->from_ns)
		range->from_ns = heaps->process->start_ns;
	if (heaps->process && heaps->process->end_ns && heaps->process->end_ns < range->to_ns)
		range->to_ns = heaps->process->end_ns;
	if (options->selection.from_ns > range->from_ns)
		range->from_ns = options->selection.from_ns;
	if (options->selection.to_ns && options->selection.to_ns < range->to_ns)
		range->to_ns = options->selection.to_ns;
	return range->from_ns < range->to_ns;
}

/* Reads the next heap that has a curve; 1, 0: there are no more, or a negative errno. */
static int read_next(struct sonde_tracks *tracks, struct heaps *heaps)
{
	struct sonde_session *session = tracks->session;
	do {
		if (heaps->id == sonde_session_heap_count(session))
			return 0;
		heaps->heap = sonde_session_heap(session, ++heaps->id);
		heaps->process = sonde_session_process(session, heaps->heap->process);
	} while (!find_range(tracks, heaps));
	int is_pool = heaps->heap->kind == SONDE_HEAP_POOL;
	snprintf(heaps->title, sizeof heaps->title, "%s%s",
		 is_pool                                   ? "pool "
		 : heaps->heap->kind == SONDE_HEAP_MAPPING ? "mappings"
							   : "heap",
		 is_pool ? heaps->heap->name : "");
	snprintf(heaps->what, sizeof heaps->what, "%s live", heaps->title);
	memset(heaps->parts, 0, heaps->count * sizeof *heaps->parts);
	int rc = sonde_session_heap_timeline(session, heaps->id, &heaps->range, heaps->parts, heaps->count);
	if (rc == -ENOMEM)
		return rc;
	tracks->left[SONDE_TRACK_HEAP].damaged += rc != 0;
	heaps->live_b = heaps->parts[0].live_b - heaps->parts[0].begun_b + heaps->parts[0].ended_b;
	heaps->at = 0;
	heaps->end = tracks->options.is_whole ? heaps->count + 1 : 2 * heaps->count + 2;
	return 1;
}

static int put(struct sonde_tracks *tracks, const struct heaps *heaps, uint64_t from_ns, uint64_t to_ns)
{
	struct sonde_track_event *event = &tracks->event;
	event->form = SONDE_TRACK_COUNTER;
	event->track.process = heaps->heap->process;
	event->track.sub = heaps->id;
	event->track.title = heaps->title;
	event->track.unit = "B";
	event->category = "heap";
	event->what = heaps->what;
	event->from_ns = from_ns;
	event->to_ns = to_ns;
	return 1;
}

/* --- points ------------------------------------------------------------------------------------------------------- */

static int put_point(struct sonde_tracks *tracks, const struct heaps *heaps, uint64_t time_ns, uint64_t live_b)
{
	sonde_tracks_uint(tracks, "bytes", live_b);
	return put(tracks, heaps, time_ns, time_ns);
}

/* The first point is at the start, the last at the process's exit; in between, each part has two: its maximum, and the
 * value at its end. A counter keeps its value where nothing changed. */
static int next_point(struct sonde_tracks *tracks, struct heaps *heaps)
{
	const struct sonde_selection *range = &heaps->range;
	size_t at = heaps->at++, i = (at - 1) / 2;
	double part_ns = (double)(range->to_ns - range->from_ns) / (double)heaps->count;
	if (!at)
		return put_point(tracks, heaps, range->from_ns, heaps->live_b);
	if (heaps->at == heaps->end)
		return heaps->process && heaps->process->end_ns && range->to_ns == heaps->process->end_ns
			   ? put_point(tracks, heaps, range->to_ns, 0)
			   : 0;
	const struct sonde_heap_interval *part = &heaps->parts[i];
	if (at % 2)
		return part->peak_b > heaps->live_b && part->peak_b > part->live_b
			   ? put_point(tracks, heaps, range->from_ns + (uint64_t)(part_ns * ((double)i + 0.5)),
				       part->peak_b)
			   : 0;
	heaps->live_b = part->live_b;
	return part->begins || part->ends
		   ? put_point(tracks, heaps, range->from_ns + (uint64_t)(part_ns * ((double)i + 1)), part->live_b)
		   : 0;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static int next_piece(struct sonde_tracks *tracks, struct heaps *heaps)
{
	const struct sonde_selection *range = &heaps->range;
	size_t i = heaps->at++;
	int is_end = i == heaps->count;
	double part_ns = (double)(range->to_ns - range->from_ns) / (double)heaps->count;
	uint64_t at_ns = is_end ? range->to_ns : range->from_ns + (uint64_t)(part_ns * (double)i);
	double live_b = (double)(int64_t)heaps->live_b, end_b = is_end ? 0 : (double)(int64_t)heaps->parts[i].live_b,
	       peak_b = is_end ? 0 : (double)(int64_t)heaps->parts[i].peak_b;
	double least_b = end_b < live_b ? end_b : live_b, most_b = peak_b > live_b ? peak_b : live_b;
	most_b = most_b > end_b ? most_b : end_b;
	if (i && !is_end && least_b == heaps->least_b && most_b == heaps->most_b)
		return 0;
	if (i) {
		sonde_tracks_real(tracks, "most", heaps->most_b);
		sonde_tracks_real(tracks, "least", heaps->least_b);
		put(tracks, heaps, heaps->from_ns, at_ns);
	}
	heaps->from_ns = at_ns;
	heaps->least_b = least_b;
	heaps->most_b = most_b;
	heaps->live_b = is_end ? 0 : heaps->parts[i].live_b;
	return i != 0;
}

static int next(struct sonde_tracks *tracks, void *context)
{
	struct heaps *heaps = context;
	int rc = heaps->parts != NULL;
	while (rc > 0) {
		if (heaps->at == heaps->end)
			rc = read_next(tracks, heaps);
		else if (tracks->options.is_whole ? next_piece(tracks, heaps) : next_point(tracks, heaps))
			return 1;
	}
	return rc;
}

const struct sonde_tracks_row sonde_tracks_heap = {
    .state_b = sizeof(struct heaps), .open = open, .next = next, .close = close};
