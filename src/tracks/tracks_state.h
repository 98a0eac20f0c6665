/* tracks_state.h: the interface that the file of each kind of track implements, for the files of this folder.
 *
 * A producer fills `tracks->event`, which is empty except for the kind when the producer is called, and may store its
 * arguments in `tracks->args`.
 */
#ifndef SONDE_TRACKS_TRACKS_STATE_H
#define SONDE_TRACKS_TRACKS_STATE_H

#include "tracks/text.h"
#include "tracks/tracks.h"

/* Either `row`, for a kind in which each row of a chunk yields at most one event, or the other functions. */
struct sonde_tracks_row {
	uint32_t chunks; /* types of its chunks: bits 1 << enum sonde_chunk_type */
	/* 1: tracks->event is filled; 0: no event for this row; or a negative errno. */
	int (*row)(struct sonde_tracks *tracks, const struct sonde_batch *batch, size_t i);

	size_t state_b; /* size of its state, zeroed before open() */
	int (*open)(struct sonde_tracks *tracks, void *state);
	/* 1: tracks->event is filled; 0: at the end; or a negative errno. */
	int (*next)(struct sonde_tracks *tracks, void *state);
	void (*close)(void *state); /* also called after open() has failed */
};

struct sonde_tracks {
	struct sonde_session *session;
	struct sonde_tracks_options options;
	struct sonde_track_event event;
	struct sonde_track_arg args[SONDE_TRACK_ARGS_MAX];
	char text[SONDE_TRACK_TEXT_B]; /* text of an argument */
	struct sonde_tracks_left left[SONDE_TRACK_KINDS];
	enum sonde_track_kind kind;      /* the kind being read */
	void *state;                     /* its producer's state; NULL = not opened yet */
	struct sonde_cursor *cursor;     /* for a kind made of rows: its cursor; NULL = not opened yet */
	const struct sonde_batch *batch; /* current batch of rows; NULL = none */
	size_t at;                       /* next row */
	int is_fed;                      /* the caller reads batches */
};

#define SONDE_TRACKS(KIND, row, file) extern const struct sonde_tracks_row sonde_tracks_##row;
#include "tracks/tracks.def"
#undef SONDE_TRACKS

/* The next batch of a cursor; chunks that cannot be read are skipped. 1, 0 at the end, or a negative errno. */
int sonde_tracks_batch(struct sonde_cursor *cursor, const struct sonde_batch **out);

/* Appends an argument to the event. */
void sonde_tracks_text(struct sonde_tracks *tracks, const char *key, const char *text);
void sonde_tracks_uint(struct sonde_tracks *tracks, const char *key, uint64_t number);
void sonde_tracks_int(struct sonde_tracks *tracks, const char *key, int64_t number);
void sonde_tracks_real(struct sonde_tracks *tracks, const char *key, double real);
void sonde_tracks_sizes(struct sonde_tracks *tracks, const char *key, const uint32_t *sizes);

#endif
