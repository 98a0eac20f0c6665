/* stream.h: a stream that ends in a buffer with a maximum: what is asked for is not ours to bound. */
#ifndef SONDE_SERVE_ANSWER_STREAM_H
#define SONDE_SERVE_ANSWER_STREAM_H

#include <stdio.h>

#include "util/buf.h"

/* NULL with a sentence. `out` is the caller's, and lives longer than the stream. */
FILE *sonde_stream_open(struct sonde_buf *out);

/* Closes it; `code` where that is an error, else that of the writing: -EFBIG with a sentence where the buffer is full.
 */
int sonde_stream_close(FILE *stream, struct sonde_buf *out, int code);

#endif
