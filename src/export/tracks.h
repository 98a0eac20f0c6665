/* tracks.h: the stream of tracks (tracks/tracks.h) for trace formats, restricted to an export's options. */
#ifndef SONDE_EXPORT_TRACKS_H
#define SONDE_EXPORT_TRACKS_H

#include "export/format.h"
#include "tracks/tracks.h"

struct sonde_export_tracks {
	/* Set by the caller */
	struct sonde_session *session;
	const struct sonde_format_options *options;
	int (*put)(void *context, const struct sonde_track_event *event); /* an error ends the stream */
	void *context;
	int has_waits; /* as in sonde_tracks_options */
	/* Set here */
	struct sonde_tracks_left left[SONDE_TRACK_KINDS];
	struct sonde_tracks *fed;
};

/* Writes all events of these kinds (bits SONDE_TRACKS_OF()). 0 or a negative errno. */
int sonde_export_tracks(struct sonde_export_tracks *tracks, uint32_t kinds);
/* Writes the program's events in `batch`, for a caller that reads batches itself and writes zones in between. */
int sonde_export_tracks_batch(struct sonde_export_tracks *tracks, const struct sonde_batch *batch);
void sonde_export_tracks_fini(struct sonde_export_tracks *tracks);

#endif
