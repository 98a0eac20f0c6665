/* tracks_state.h: what the file of a kind of track implements, for the files of this folder.
 *
 * A producer fills `tracks->event`, which is empty but for the kind when it is called, and may use `tracks->args` for
 * its arguments.
 */
#ifndef SONDE_TRACKS_TRACKS_STATE_H
#define SONDE_TRACKS_TRACKS_STATE_H

#include "tracks/text.h"
#include "tracks/tracks.h"

enum { SONDE_TRACK_ARGS_MAX = 16 };

/* Either `row`, for a kind that each row of a chunk makes an event of or none, or the other functions. */
struct sonde_tracks_row {
	uint32_t chunks; /* types of its chunks: bits 1 << enum sonde_chunk_type */
	/* 1: tracks->event is filled; 0: not by this row; or a negative errno. */
	int (*row)(struct sonde_tracks *tracks, const struct sonde_batch *batch, size_t i);

	size_t state_b; /* of what it keeps, zeroed before open() */
	int (*open)(struct sonde_tracks *tracks, void *state);
	/* 1: tracks->event is filled; 0: there are no more; or a negative errno. */
	int (*next)(struct sonde_tracks *tracks, void *state);
	void (*close)(void *state); /* also after open() has failed */
};

struct sonde_tracks {
	struct sonde_session *session;
	struct sonde_tracks_options options;
	struct sonde_track_event event;
	struct sonde_track_arg args[SONDE_TRACK_ARGS_MAX];
	char text[SONDE_TRACK_TEXT_B]; /* of an argument */
	struct sonde_tracks_left left[SONDE_TRACK_KINDS];
	enum sonde_track_kind kind;      /* that is read now */
	void *state;                     /* its producer's; NULL = not opened yet */
	struct sonde_cursor *cursor;     /* the same of kinds made of rows */
	const struct sonde_batch *batch; /* of rows; NULL = none in hand */
	size_t at;                       /* the next row */
	int is_fed;                      /* the caller reads batches */
};

#define SONDE_TRACKS(KIND, row) extern const struct sonde_tracks_row sonde_tracks_##row;
#include "tracks/tracks.def"
#undef SONDE_TRACKS

/* Append an argument to the event. */
void sonde_tracks_text(struct sonde_tracks *tracks, const char *key, const char *text);
void sonde_tracks_uint(struct sonde_tracks *tracks, const char *key, uint64_t number);
void sonde_tracks_real(struct sonde_tracks *tracks, const char *key, double real);

#endif
