/* tracks.c: the cursor: opens the producer of one kind after the other, and hands out its events. */
#include "tracks/tracks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tracks/producer.h"
#include "util/error.h"

static const struct sonde_tracks_row *const rows[] = {
#define SONDE_TRACKS(KIND, row) &sonde_tracks_##row,
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
	tracks->state = NULL;
}

static int open_kind(struct sonde_tracks *tracks)
{
	const struct sonde_tracks_row *row = rows[tracks->kind];
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

int sonde_tracks_next(struct sonde_tracks *tracks, const struct sonde_track_event **out)
{
	for (; tracks->kind < SONDE_TRACK_KINDS; tracks->kind++) {
		if (!(tracks->options.kinds & SONDE_TRACKS_OF(tracks->kind)))
			continue;
		int rc = tracks->state ? 0 : open_kind(tracks);
		tracks->event = (struct sonde_track_event){
		    .track = {.kind = tracks->kind, .title = "", .unit = ""}, .name = "", .args = tracks->args};
		rc = rc ? rc : rows[tracks->kind]->next(tracks, tracks->state);
		if (rc > 0)
			*out = &tracks->event;
		if (rc)
			return rc;
		close_kind(tracks);
	}
	return 0;
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

void sonde_tracks_real(struct sonde_tracks *tracks, const char *key, double real)
{
	add(tracks, (struct sonde_track_arg){.key = key, .type = SONDE_TRACK_REAL, .real = real});
}
