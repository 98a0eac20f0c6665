/* states.c: the states of each thread: slices "running", "runnable", "blocked", with the CPU, and flows from the waking
 * thread to where it runs. Time without data has no slice.
 *
 * A million switches would make a trace of 300 MB, which no viewer opens. So a first pass counts durations (share.h):
 * long intervals keep a slice each, and shorter neighbours are merged into one, "switching", whose arguments have their
 * sums. Sums stay exact, and a part of the recording, selected by the options, is detailed. No flow ends in a merged
 * slice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/intervals.h"
#include "session/wait/cover.h"
#include "session/weigh.h"
#include "tracks/tracks_state.h"
#include "tracks/share.h"
#include "util/error.h"

/* A merged slice. */
struct shared {
	uint64_t from_ns, to_ns, count;
	uint64_t ns[SONDE_INTERVAL_STATES];
};

struct states {
	const struct sonde_tracks *tracks;
	struct sonde_intervals_cursor *cursor;
	const struct sonde_interval *held; /* an interval that is output after the merged slice before it */
	struct sonde_track_share share;
	struct shared *open; /* by thread id */
	uint32_t threads;    /* ids are lower than this */
	uint32_t ended;      /* at the end of the stream: the merged slices of threads up to this one were output */
	struct sonde_wait_cover cover;
	/* The calls during the current blocked interval: */
	uint64_t waits_ns[SONDE_WAIT_KINDS];
	uint32_t object;
	uint64_t object_ns;
	char address[24];
};

/* --- selecting intervals ----------------------------------------------------------------------------------------- */

/* Cuts an interval to the wanted time; 0: nothing of it is wanted, or its state is unknown. */
static int cut(const struct sonde_tracks_options *options, struct sonde_interval *interval)
{
	if (interval->from_ns < options->selection.from_ns)
		interval->from_ns = options->selection.from_ns;
	if (options->selection.to_ns && interval->to_ns > options->selection.to_ns)
		interval->to_ns = options->selection.to_ns;
	return interval->state != SONDE_INTERVAL_UNSEEN && interval->from_ns < interval->to_ns &&
	       (!options->selection.thread || options->selection.thread[interval->thread]);
}

static int count(void *context, const struct sonde_interval *interval)
{
	struct states *states = context;
	struct sonde_interval part = *interval;
	if (!cut(&states->tracks->options, &part))
		return 0;
	sonde_track_share_count(&states->share, part.to_ns - part.from_ns);
	states->share.lives_ns += part.to_ns - part.from_ns;
	return 0;
}

static int open(struct sonde_tracks *tracks, void *context)
{
	struct states *states = context;
	const struct sonde_tracks_options *options = &tracks->options;
	struct sonde_intervals seen;
	int rc = 0;
	states->tracks = tracks;
	if (!sonde_weigh_has(tracks->session, SONDE_CHUNK_SWITCHES))
		return 0;
	states->threads = (uint32_t)sonde_session_thread_count(tracks->session) + 1;
	if (!options->is_whole) {
		rc = sonde_intervals_walk(&seen, tracks->session, count, states);
		sonde_track_share_choose(&states->share);
	}
	if (!rc && states->share.lives_ns && options->has_waits)
		rc = sonde_wait_cover_read(&states->cover, tracks->session, options->selection.thread);
	if (rc || (!options->is_whole && !states->share.lives_ns))
		return rc;
	states->open = calloc(states->threads, sizeof *states->open);
	return states->open ? sonde_intervals_open(&states->cursor, tracks->session)
			    : sonde_error(ENOMEM, "out of memory for %u threads", states->threads);
}

static void close(void *context)
{
	struct states *states = context;
	sonde_intervals_close(states->cursor);
	sonde_wait_cover_fini(&states->cover);
	free(states->open);
}

/* --- the call of a blocked thread -------------------------------------------------------------------------------- */

static void add_wait(void *context, const struct sonde_wait_piece *piece)
{
	struct states *states = context;
	states->waits_ns[piece->kind] += piece->ns;
	if (piece->object && piece->ns > states->object_ns) {
		states->object_ns = piece->ns;
		states->object = piece->object;
	}
}

/* Adds the kind of call that covers most of a blocked interval. */
static void put_wait(struct sonde_tracks *tracks, struct states *states, const struct sonde_interval *part)
{
	uint32_t most = 0;
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		states->waits_ns[kind] = 0;
	states->object = 0;
	states->object_ns = 0;
	sonde_wait_cover_look(&states->cover, part->thread, part->from_ns, part->to_ns, add_wait, states);
	for (uint32_t kind = 0; kind < SONDE_WAIT_KINDS; kind++)
		if (states->waits_ns[kind] > states->waits_ns[most])
			most = kind;
	if (!states->waits_ns[most])
		return;
	sonde_tracks_text(tracks, "waits_for", sonde_wait_row(most)->name);
	sonde_tracks_uint(tracks, "waits_for_ns", states->waits_ns[most]);
	const struct sonde_object *object =
	    states->object_ns == states->waits_ns[most] ? sonde_session_object(tracks->session, states->object) : NULL;
	if (!object || (!*object->name && !object->address))
		return;
	snprintf(states->address, sizeof states->address, "0x%" PRIx64, object->address);
	sonde_tracks_text(tracks, "object", *object->name ? object->name : states->address);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void put_slice(struct sonde_tracks *tracks, const char *what, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	struct sonde_track_event *event = &tracks->event;
	event->form = SONDE_TRACK_SLICE;
	event->track.title = "states";
	event->track.thread = thread;
	event->track.process = sonde_session_thread(tracks->session, thread)->process;
	event->category = "state";
	event->what = what;
	event->from_ns = from_ns;
	event->to_ns = to_ns;
}

static int put_shared(struct sonde_tracks *tracks, struct states *states, uint32_t thread)
{
	static const char *const keys[] = {[SONDE_INTERVAL_ON_CPU] = "running_ns",
					   [SONDE_INTERVAL_RUNNABLE] = "runnable_ns",
					   [SONDE_INTERVAL_BLOCKED] = "blocked_ns"};
	struct sonde_tracks_left *left = &tracks->left[SONDE_TRACK_STATES];
	struct shared *shared = &states->open[thread];
	put_slice(tracks, "switching", thread, shared->from_ns, shared->to_ns);
	for (size_t i = SONDE_INTERVAL_ON_CPU; i < SONDE_INTERVAL_STATES; i++)
		sonde_tracks_uint(tracks, keys[i], shared->ns[i]);
	sonde_tracks_uint(tracks, "states", shared->count);
	left->shared += shared->count;
	left->least_ns = states->share.least_ns;
	*shared = (struct shared){0};
	return 1;
}

/* The flow from the waking thread; `part` is the wanted part of the interval. */
static void put_flow(struct sonde_tracks *tracks, const struct sonde_interval *whole, const struct sonde_interval *part)
{
	if (whole->state != SONDE_INTERVAL_ON_CPU || !whole->by)
		return;
	if (!tracks->options.is_whole &&
	    (whole->by > sonde_session_thread_count(tracks->session) || part->from_ns != whole->from_ns ||
	     !sonde_selection_takes(&tracks->options.selection, whole->woken_ns, whole->by)))
		return;
	tracks->event.flow = (struct sonde_track_flow){
	    .from_ns = whole->woken_ns, .thread = whole->by, .title = "wake-up", .action = "wakes"};
}

static int put_interval(struct sonde_tracks *tracks, struct states *states, const struct sonde_interval *whole,
			const struct sonde_interval *part)
{
	put_slice(tracks, sonde_interval_name(part->state), part->thread, part->from_ns, part->to_ns);
	put_flow(tracks, whole, part);
	tracks->event.what_id = part->state;
	if (tracks->options.is_whole)
		return 1; /* no arguments */
	if (part->cpu)
		sonde_tracks_uint(tracks, "cpu", part->cpu - 1);
	if (part->state == SONDE_INTERVAL_BLOCKED && tracks->options.has_waits)
		put_wait(tracks, states, part);
	if (part->unsure)
		sonde_tracks_text(tracks, "woken", "unknown: its end may be runnable");
	return 1;
}

static void share(struct states *states, const struct sonde_interval *part)
{
	struct shared *shared = &states->open[part->thread];
	if (!shared->count)
		shared->from_ns = part->from_ns;
	shared->to_ns = part->to_ns;
	shared->ns[part->state] += part->to_ns - part->from_ns;
	shared->count++;
}

/* 1: the event is filled. The interval stays held if a merged slice has to come before it. */
static int take(struct sonde_tracks *tracks, struct states *states)
{
	const struct sonde_interval *whole = states->held;
	const struct shared *shared = &states->open[whole->thread];
	struct sonde_interval part = *whole;
	int is_wanted = cut(&tracks->options, &part),
	    is_short = is_wanted && part.to_ns - part.from_ns < states->share.least_ns;
	if (shared->count && (!is_short || part.to_ns - shared->from_ns > states->share.grid_ns))
		return put_shared(tracks, states, whole->thread);
	states->held = NULL;
	if (is_wanted && !is_short)
		return put_interval(tracks, states, whole, &part);
	if (is_short)
		share(states, &part);
	if (!tracks->options.is_whole || is_wanted || whole->state != SONDE_INTERVAL_ON_CPU || !whole->by)
		return 0;
	put_interval(tracks, states, whole, &part); /* zero length: only the flow */
	tracks->event.form = SONDE_TRACK_FLOW;
	return 1;
}

static int next(struct sonde_tracks *tracks, void *context)
{
	struct states *states = context;
	int rc = states->cursor != NULL;
	while (rc > 0) {
		rc = states->held ? 1 : sonde_intervals_next(states->cursor, &states->held);
		if (rc > 0 && take(tracks, states))
			return 1;
	}
	while (rc == 0 && states->open && ++states->ended < states->threads)
		if (states->open[states->ended].count)
			return put_shared(tracks, states, states->ended);
	return rc;
}

const struct sonde_tracks_row sonde_tracks_states = {
    .state_b = sizeof(struct states), .open = open, .next = next, .close = close};
