/* lanes.h: the timeline inside a report in one file. */
#ifndef SONDE_EXPORT_HTML_LANES_H
#define SONDE_EXPORT_HTML_LANES_H

#include <stdint.h>

#include "session/session.h"
#include "util/buf.h"

/* Puts the session's lanes, compressed, into `out`, which begins initialised: html/lanes.c says how. They are thinned
 * until they take at most `most_b` as base64; what cannot be thinned so far is left out, and `out` stays empty. A
 * negative errno with a sentence. */
int sonde_html_lanes(struct sonde_session *session, uint64_t most_b, struct sonde_buf *out);

#endif
