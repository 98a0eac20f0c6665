/* wanted.h: decides from a chunk's head and summary whether it certainly contains no selected event. */
#ifndef SONDE_SESSION_WANTED_H
#define SONDE_SESSION_WANTED_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_reader;
struct sonde_chunk_data;

/* True if chunk `i` can be skipped. `data` is a buffer of the caller for the summary. An unreadable chunk is never
 * skipped. */
int sonde_wanted_leaves_out(const struct sonde_cursor_wanted *wanted, struct sonde_reader *reader, size_t i,
			    struct sonde_chunk_data *data);

#endif
