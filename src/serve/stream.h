/* stream.h: a FILE stream that writes to a bounded buffer. The size of an answer depends on what the client requests,
 * so the buffer needs a limit. */
#ifndef SONDE_SERVE_STREAM_H
#define SONDE_SERVE_STREAM_H

#include <stdio.h>

#include "util/buf.h"

/* NULL with a message. `out` belongs to the caller and must outlive the stream. */
FILE *sonde_stream_open(struct sonde_buf *out);

/* Closes the stream; returns `code` if it is an error, else the error of writing: -EFBIG with a message if the buffer
 * is full. */
int sonde_stream_close(FILE *stream, struct sonde_buf *out, int code);

#endif
