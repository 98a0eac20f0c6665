/* wanted.h: whether a chunk certainly holds nothing of what is wanted, by its head and summary alone. */
#ifndef SONDE_SESSION_WANTED_H
#define SONDE_SESSION_WANTED_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_reader;
struct sonde_chunk_data;

/* Whether chunk `i` may be left out; `data` is the caller's, for the summary. A chunk that cannot be read may not. */
int sonde_wanted_leaves_out(const struct sonde_cursor_wanted *wanted, struct sonde_reader *reader, size_t i,
			    struct sonde_chunk_data *data);

#endif
