/* reply.h: what is sent back: bytes, with the headers that all of it has. */
#ifndef SONDE_SERVE_HTTP_REPLY_H
#define SONDE_SERVE_HTTP_REPLY_H

#include <stdatomic.h>
#include <stddef.h>

#include "util/buf.h"

struct MHD_Response;

/* All of these: NULL when out of memory; MHD_destroy_response() gives one back. */

/* JSON, or bytes, which nobody else keeps: takes what is in the buffer, which is empty then. Its size is part of
 * `all_b` for as long as it is there. */
struct MHD_Response *sonde_reply_data(struct sonde_buf *data, int is_bytes, _Atomic size_t *all_b);

/* Gives another reply the headers of data of a type. 0 or -ENOMEM. */
int sonde_reply_as(struct MHD_Response *reply, const char *type);

/* A sentence as JSON. */
struct MHD_Response *sonde_reply_error(const char *sentence);

/* A part of the page, which lives longer than the reply. `encoding`: NULL = as it is. */
struct MHD_Response *sonde_reply_page(const void *data, size_t size_b, const char *type, const char *encoding,
				      const char *tag);

#endif
