/* tracks.h: a recording as one stream of events on tracks, for everything that draws it over time.
 *
 * A track is a row of a timeline: the states of a thread, the live bytes of a heap, the critical path. On it there are
 * slices (from, to), instants, and values of a counter; a slice may end a flow, an arrow that began on another track.
 * tracks.def lists the kinds of tracks, and one file produces each. A cursor reads as it goes and holds a chunk of the
 * recording at a time, plus one entry per thread. The timeline (tiles/) and the trace formats (export/) draw events
 * by their form, so a new kind appears in all of them with its row and its file:
 *
 *	rc = sonde_tracks_open(&tracks, session, &(struct sonde_tracks_options){.kinds = SONDE_TRACKS_ALL});
 *	while (!rc && (rc = sonde_tracks_next(tracks, &event)) > 0)
 *		draw(event);
 *	sonde_tracks_close(tracks);
 *
 * Times are CLOCK_MONOTONIC ns. Use a cursor from one thread at a time, like its session. Events, with their texts and
 * arguments, live until the next call on the cursor.
 */
#ifndef SONDE_TRACKS_TRACKS_H
#define SONDE_TRACKS_TRACKS_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

enum sonde_track_kind {
#define SONDE_TRACKS(KIND, row, file) SONDE_TRACK_##KIND,
#include "tracks/tracks.def"
#undef SONDE_TRACKS
	SONDE_TRACK_KINDS
};

#define SONDE_TRACKS_OF(kind) (1u << (kind))
#define SONDE_TRACKS_ALL (SONDE_TRACKS_OF(SONDE_TRACK_KINDS) - 1)

enum sonde_track_form {
	SONDE_TRACK_SLICE = 1,
	SONDE_TRACK_INSTANT,
	SONDE_TRACK_COUNTER, /* its values are the arguments */
	SONDE_TRACK_FLOW,    /* only an arrow: its end has no slice */
};

/* A track is identified by kind, process, thread, queue and sub. */
struct sonde_track {
	enum sonde_track_kind kind;
	uint32_t process, thread; /* ids; 0 = none */
	uint32_t queue;           /* of a device: its id; 0 = none */
	uint32_t device; /* with a queue: id of the device, the same for all processes that use it; 0 = unknown */
	const char *device_title; /* with a queue: "CUDA H100 0" */
	uint32_t sub;
	const char *title; /* "states" */
	const char *unit;  /* of counters: "B" */
};

/* Most events are on the same track as the event before them, so a renderer need not look the track up again. */
static inline int sonde_track_is(const struct sonde_track *a, const struct sonde_track *b)
{
	return a->kind == b->kind && a->process == b->process && a->thread == b->thread && a->queue == b->queue &&
	       a->sub == b->sub;
}

enum { SONDE_TRACK_ARGS_MAX = 16 }; /* maximum number of arguments of an event */

enum sonde_track_arg_type { SONDE_TRACK_TEXT, SONDE_TRACK_UINT, SONDE_TRACK_INT, SONDE_TRACK_REAL, SONDE_TRACK_SIZES };

struct sonde_track_arg {
	const char *key;
	enum sonde_track_arg_type type;
	union {
		const char *text;
		uint64_t number; /* INT: its two's complement */
		double real;
		const uint32_t *sizes; /* the sizes of three dimensions; 0 = unknown */
	};
};

/* An arrow from a thread to this event, where it ends at the event's begin. */
struct sonde_track_flow {
	uint64_t from_ns;
	uint32_t thread;            /* start: this thread's track of the same kind; 0 = no flow */
	const char *title, *action; /* "wake-up"; the thread's action: "wakes" */
};

/* Arrows from a slice to several others of the same kind, numbered from 1 within the kind. */
struct sonde_track_links {
	uint32_t first, count; /* numbers of the arrows that begin here, or at the slice where arrow `end` begins */
	uint32_t end;          /* number of the arrow that ends at this slice; 0 = none */
};

struct sonde_track_event {
	struct sonde_track track;
	enum sonde_track_form form;
	uint64_t from_ns, to_ns; /* to_ns: of slices, and of counters with is_whole */
	const char *what;        /* the type of thing: "running"; a counter's name */
	const char *name;        /* its own name; "" = none: show `what` */
	const char *category;    /* "state" */
	uint32_t thread;         /* where it happened, possibly not the track's thread; 0 = unknown */
	uint32_t what_id;        /* events of one kind and the same what_id have the same text; 0 = not numbered */
	const struct sonde_track_arg *args;
	size_t arg_count;
	struct sonde_track_flow flow;
	struct sonde_track_links links; /* first 0 = none */
};

struct sonde_tracks_options {
	uint32_t kinds;                   /* SONDE_TRACKS_OF() of each */
	struct sonde_selection selection; /* slices are cut to its time */
	/* Every event, uncut, for viewers that zoom: no events share a slice. Counters are then pieces of a curve; the
	 * two arguments of a piece are its maximum and its minimum. */
	int is_whole;
	int has_waits; /* blocked states name the call; keeps all calls in memory */
};

struct sonde_tracks;

/* -ENOMEM, or another negative errno if the recording cannot be read. */
int sonde_tracks_open(struct sonde_tracks **out, struct sonde_session *session,
		      const struct sonde_tracks_options *options);
void sonde_tracks_close(struct sonde_tracks *tracks);

/* 1 and an event, 0 at the end, or a negative errno. Kinds come in the order of tracks.def, and the events of a track
 * in time order. */
int sonde_tracks_next(struct sonde_tracks *tracks, const struct sonde_track_event **out);

/* For a caller that reads the recording itself and draws other things in between: sonde_tracks_next() then returns the
 * events for the rows of this batch, and 0 after them. The batch remains the caller's. */
void sonde_tracks_feed(struct sonde_tracks *tracks, const struct sonde_batch *batch);

/* What a kind could not show as recorded; complete at the end of the stream. */
struct sonde_tracks_left {
	uint64_t shared;   /* events merged with their neighbours into a slice */
	uint64_t least_ns; /* merged events are shorter than this; 0 = none merged */
	uint64_t omitted;  /* events without a slice */
	uint64_t damaged;  /* tracks with missing, unreadable chunks */
};
const struct sonde_tracks_left *sonde_tracks_left(const struct sonde_tracks *tracks, enum sonde_track_kind kind);

#endif
