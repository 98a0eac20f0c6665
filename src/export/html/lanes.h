/* lanes.h: the timeline embedded in a single-file report. */
#ifndef SONDE_EXPORT_HTML_LANES_H
#define SONDE_EXPORT_HTML_LANES_H

#include <stdint.h>

#include "session/session.h"
#include "util/buf.h"

/* Appends the session's tracks, compressed, to the initialised `out` in the format of html/lanes.c. They are thinned
 * until they take at most `most_b` as base64; if they cannot be thinned that far, they are left out, and `out` stays
 * empty. A negative errno with a message. */
int sonde_html_lanes(struct sonde_session *session, uint64_t most_b, struct sonde_buf *out);

#endif
