/* reply.h: builds replies with the common headers. */
#ifndef SONDE_SERVE_HTTP_REPLY_H
#define SONDE_SERVE_HTTP_REPLY_H

#include <stdatomic.h>
#include <stddef.h>

#include "util/buf.h"

struct MHD_Response;

/* All of these return NULL if out of memory; release replies with MHD_destroy_response(). */

/* Makes a reply of JSON, or of bytes, that browsers must not cache. It takes over the contents of the buffer, which is
 * empty afterwards; their size is part of *all_b while they exist. */
struct MHD_Response *sonde_reply_data(struct sonde_buf *data, int is_bytes, _Atomic size_t *all_b);

/* Adds the headers for data of a type to another reply. 0 or -ENOMEM. */
int sonde_reply_as(struct MHD_Response *reply, const char *type);

/* Makes a reply of an error message as JSON. */
struct MHD_Response *sonde_reply_error(const char *sentence);

/* Makes a reply of a part of the page, whose data must outlive the reply. `encoding`: NULL = none. */
struct MHD_Response *sonde_reply_page(const void *data, size_t size_b, const char *type, const char *encoding,
				      const char *tag);

#endif
