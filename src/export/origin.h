/* origin.h: sentences about where an imported recording comes from, and about what any recording lacks, for formats
 * that have a place for text (chrome's otherData, pprof's comments, speedscope's name).
 *
 * The sentences contain text from the recording, which is untrusted: callers must escape them. One thread.
 */
#ifndef SONDE_EXPORT_ORIGIN_H
#define SONDE_EXPORT_ORIGIN_H

#include <stddef.h>

#include "session/session.h"

enum { SONDE_ORIGIN_MAX = 256 }; /* number of sentences; further ones are left out */

/* Zeroed before the first call. */
struct sonde_origin {
	size_t at, args; /* position in the recording's facts; sentences so far */
	char text[512];  /* the sentence; longer ones are truncated */
};

/* The next sentence about the import: the kind of file, its name, what was left out and which conventions apply; for a
 * merged recording, the sentences of each of its parts, with the part's number. NULL after the last, and if nothing was
 * imported. Stored in `origin`. */
const char *sonde_origin_next(struct sonde_origin *origin, const struct sonde_session *session);

/* What the recording lacks (missing.h): "it was not closed in order, 5 records were lost", or "" if it is complete.
 * Returns the length. */
size_t sonde_origin_missing(const struct sonde_session *session, char *out, size_t out_b);

#endif
