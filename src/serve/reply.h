/* reply.h: what is sent back: bytes, with the headers that all of it has. */
#ifndef SONDE_SERVE_REPLY_H
#define SONDE_SERVE_REPLY_H

#include <stddef.h>

#include "util/buf.h"

struct MHD_Response;

/* All of these: NULL when out of memory; MHD_destroy_response() gives one back. */

/* Data, which nobody else keeps: takes what is in the buffer, which is empty then. */
struct MHD_Response *sonde_reply_data(struct sonde_buf *json);

/* A sentence as JSON. */
struct MHD_Response *sonde_reply_error(const char *sentence);

/* A part of the page, which lives longer than the reply. `encoding`: NULL = as it is. */
struct MHD_Response *sonde_reply_page(const void *data, size_t size_b, const char *type, const char *encoding,
				      const char *tag);

#endif
