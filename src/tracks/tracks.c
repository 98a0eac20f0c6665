/* tracks.c: the cursor: opens the producer of each kind in turn, and returns its events. */
#include "tracks/tracks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tracks/tracks_state.h"
#include "util/error.h"

static const struct sonde_tracks_row *const rows[] = {
#define SONDE_TRACKS(KIND, row, file) &sonde_tracks_##row,
#include "tracks/tracks.def"
#undef SONDE_TRACKS
};

int sonde_tracks_open(struct sonde_tracks **out, struct sonde_session *session,
		      const struct sonde_tracks_options *options)
{
	struct sonde_tracks *tracks = calloc(1, sizeof *tracks);
	if (!tracks)
		return sonde_error(ENOMEM, "out of memory for a cursor over tracks");
	tracks->session = session;
	tracks->options = *options;
	*out = tracks;
	return 0;
}

static void close_kind(struct sonde_tracks *tracks)
{
	if (tracks->state)
		rows[tracks->kind]->close(tracks->state);
	free(tracks->state);
	sonde_cursor_close(tracks->cursor);
	tracks->state = NULL;
	tracks->cursor = NULL;
}

static int open_kind(struct sonde_tracks *tracks)
{
	const struct sonde_tracks_row *row = rows[tracks->kind];
	if (row->row)
		return sonde_cursor_open(&tracks->cursor, tracks->session, row->chunks);
	tracks->state = calloc(1, row->state_b);
	return tracks->state ? row->open(tracks, tracks->state)
			     : sonde_error(ENOMEM, "out of memory for a cursor over tracks");
}

void sonde_tracks_close(struct sonde_tracks *tracks)
{
	if (!tracks)
		return;
	close_kind(tracks);
	free(tracks);
}

/* Field by field: it runs for each event, and most fields are overwritten anyway. */
static void empty(struct sonde_tracks *tracks)
{
	struct sonde_track_event *event = &tracks->event;
	event->track.kind = tracks->kind;
	event->track.process = event->track.thread = event->track.queue = event->track.sub = 0;
	event->track.title = event->track.unit = event->name = event->what = event->category = "";
	event->from_ns = event->to_ns = 0;
	event->thread = event->what_id = event->flow.thread = event->links.first = 0;
	event->args = tracks->args;
	event->arg_count = 0;
}

int sonde_tracks_batch(struct sonde_cursor *cursor, const struct sonde_batch **out)
{
	int rc;
	do
		rc = sonde_cursor_next(cursor, out);
	while (rc < 0 && rc != -ENOMEM && rc != -EIO);
	return rc;
}

/* The next event from the current batch. */
static int next_of_batch(struct sonde_tracks *tracks)
{
	const struct sonde_batch *batch = tracks->batch;
	int rc = 0;
	while (!rc && batch && tracks->at < batch->count) {
		empty(tracks);
		rc = rows[tracks->kind]->row(tracks, batch, tracks->at++);
	}
	return rc;
}

static int next_of_rows(struct sonde_tracks *tracks)
{
	int rc;
	while (!(rc = next_of_batch(tracks))) {
		rc = sonde_tracks_batch(tracks->cursor, &tracks->batch);
		tracks->at = 0;
		if (rc <= 0)
			break;
	}
	return rc;
}

static int next_of_kind(struct sonde_tracks *tracks)
{
	const struct sonde_tracks_row *row = rows[tracks->kind];
	int rc = 0;
	if (tracks->is_fed)
		return row->chunks & 1u << tracks->batch->type ? next_of_batch(tracks) : 0;
	if (!tracks->state && !tracks->cursor)
		rc = open_kind(tracks);
	if (rc)
		return rc;
	if (row->row)
		return next_of_rows(tracks);
	empty(tracks);
	return row->next(tracks, tracks->state);
}

int sonde_tracks_next(struct sonde_tracks *tracks, const struct sonde_track_event **out)
{
	for (; tracks->kind < SONDE_TRACK_KINDS; tracks->kind++, tracks->at = 0) {
		if (!(tracks->options.kinds & SONDE_TRACKS_OF(tracks->kind)))
			continue;
		int rc = next_of_kind(tracks);
		if (rc > 0)
			*out = &tracks->event;
		if (rc)
			return rc;
		close_kind(tracks);
	}
	return 0;
}

void sonde_tracks_feed(struct sonde_tracks *tracks, const struct sonde_batch *batch)
{
	tracks->is_fed = 1;
	tracks->batch = batch;
	tracks->kind = (enum sonde_track_kind)0;
	tracks->at = 0;
}

const struct sonde_tracks_left *sonde_tracks_left(const struct sonde_tracks *tracks, enum sonde_track_kind kind)
{
	return &tracks->left[kind];
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void add(struct sonde_tracks *tracks, struct sonde_track_arg arg)
{
	assert(tracks->event.arg_count < SONDE_TRACK_ARGS_MAX);
	tracks->args[tracks->event.arg_count++] = arg;
}

void sonde_tracks_text(struct sonde_tracks *tracks, const char *key, const char *text)
{
	add(tracks, (struct sonde_track_arg){.key = key, .type = SONDE_TRACK_TEXT, .text = text});
}

void sonde_tracks_uint(struct sonde_tracks *tracks, const char *key, uint64_t number)
{
	add(tracks, (struct sonde_track_arg){.key = key, .type = SONDE_TRACK_UINT, .number = number});
}

void sonde_tracks_int(struct sonde_tracks *tracks, const char *key, int64_t number)
{
	add(tracks, (struct sonde_track_arg){.key = key, .type = SONDE_TRACK_INT, .number = (uint64_t)number});
}

void sonde_tracks_real(struct sonde_tracks *tracks, const char *key, double real)
{
	add(tracks, (struct sonde_track_arg){.key = key, .type = SONDE_TRACK_REAL, .real = real});
}

void sonde_tracks_sizes(struct sonde_tracks *tracks, const char *key, const uint32_t *sizes)
{
	add(tracks, (struct sonde_track_arg){.key = key, .type = SONDE_TRACK_SIZES, .sizes = sizes});
}
