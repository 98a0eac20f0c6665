/* origin.h: where an imported recording comes from, and what any recording lacks, in sentences: for formats that have a
 * place for text (chrome's otherData, pprof's comments, speedscope's name).
 *
 * Sentences are made of what a recording says, which is anybody's text: whoever writes them escapes them. One thread.
 */
#ifndef SONDE_EXPORT_ORIGIN_H
#define SONDE_EXPORT_ORIGIN_H

#include <stddef.h>

#include "session/session.h"

enum { SONDE_ORIGIN_MAX = 256 }; /* sentences; more are left out */

/* Zeroed before the first call. */
struct sonde_origin {
	size_t at, said; /* in the recording's facts; sentences so far */
	char text[512];  /* the sentence; longer ones are cut */
};

/* The next sentence of what `sonde import` said: of what kind of file, which file, what was left out and what is a
 * convention; of a merged recording those of its parts, by their numbers. NULL behind the last, at once where nothing
 * was imported. Lies in `origin`. */
const char *sonde_origin_next(struct sonde_origin *origin, const struct sonde_session *session);

/* What it lacks (lacks.h): "it was not closed in order, 5 records were lost", or "" where it is whole. Returns the
 * length. */
size_t sonde_origin_lacks(const struct sonde_session *session, char *out, size_t out_b);

#endif
