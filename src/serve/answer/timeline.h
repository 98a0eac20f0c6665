/* timeline.h: what all questions about the timeline share, for the files of this folder. */
#ifndef SONDE_SERVE_ANSWER_TIMELINE_H
#define SONDE_SERVE_ANSWER_TIMELINE_H

#include "serve/http/params.h"
#include "session/session.h"
#include "tiles/tiles.h"

/* The session's lanes, made with the first question; where they are to be new, extended when the recording has grown.
 * So ids of lanes stay until lanes are asked for again. */
int sonde_timeline_get(struct sonde_session *session, int is_new, struct sonde_tiles **out);

/* -EINVAL with a sentence where there is a parameter that is not known; `known` ends with NULL. */
int sonde_timeline_check(const struct sonde_params *params, const char *const *known);

/* A whole number, which stays as it is where it is not there. -EINVAL. */
int sonde_timeline_number(const struct sonde_params *params, const char *name, uint64_t most, uint64_t *out);

/* from, to and width; without them the whole recording. -EINVAL. */
int sonde_timeline_view(const struct sonde_session *session, const struct sonde_params *params,
			struct sonde_tile_view *out);

#endif
