/* timeline.h: shared by all queries about the timeline, for the files of this folder. */
#ifndef SONDE_SERVE_ANSWER_TIMELINE_H
#define SONDE_SERVE_ANSWER_TIMELINE_H

#include "serve/http/params.h"
#include "session/session.h"
#include "tiles/tiles.h"

/* Returns the session's tracks, which are built for the first query. With `is_new`, they are extended if the recording
 * has grown; without it they stay, so that ids of tracks are stable until the list of tracks is requested again. */
int sonde_timeline_get(struct sonde_session *session, int is_new, struct sonde_tiles **out);

/* Parses an integer parameter; *out stays unchanged if the parameter is missing. -EINVAL. */
int sonde_timeline_number(const struct sonde_params *params, const char *name, uint64_t most, uint64_t *out);

/* Parses from, to and width; the default is the whole recording. -EINVAL. */
int sonde_timeline_view(const struct sonde_session *session, const struct sonde_params *params,
			struct sonde_tile_view *out);

#endif
