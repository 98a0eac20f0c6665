/* tracks.c: reads the stream of tracks for a trace format. */
#include "export/tracks.h"

static int open(struct sonde_tracks **out, const struct sonde_export_tracks *tracks, uint32_t kinds)
{
	const struct sonde_tracks_options options = {
	    .kinds = kinds, .selection = tracks->options->selection, .has_waits = tracks->has_waits};
	return sonde_tracks_open(out, tracks->session, &options);
}

static int put_all(const struct sonde_export_tracks *tracks, struct sonde_tracks *from)
{
	const struct sonde_track_event *event;
	int error = 0, rc = 0;
	while (!error && (rc = sonde_tracks_next(from, &event)) > 0)
		error = tracks->put(tracks->context, event);
	return error ? error : rc;
}

int sonde_export_tracks(struct sonde_export_tracks *tracks, uint32_t kinds)
{
	struct sonde_tracks *from;
	int rc = open(&from, tracks, kinds);
	if (rc)
		return rc;
	rc = put_all(tracks, from);
	for (int kind = 0; kind < SONDE_TRACK_KINDS; kind++)
		if (kinds & SONDE_TRACKS_OF(kind))
			tracks->left[kind] = *sonde_tracks_left(from, (enum sonde_track_kind)kind);
	sonde_tracks_close(from);
	return rc;
}

int sonde_export_tracks_batch(struct sonde_export_tracks *tracks, const struct sonde_batch *batch)
{
	int rc = tracks->fed ? 0 : open(&tracks->fed, tracks, SONDE_TRACKS_OF(SONDE_TRACK_EVENTS));
	if (rc)
		return rc;
	sonde_tracks_feed(tracks->fed, batch);
	return put_all(tracks, tracks->fed);
}

void sonde_export_tracks_fini(struct sonde_export_tracks *tracks)
{
	sonde_tracks_close(tracks->fed);
}
