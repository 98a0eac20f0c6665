/* reply.c: builds replies with the common headers.
 *
 * The headers forbid other pages to frame this page, browsers to guess a type, the page to load anything from
 * elsewhere, and links to leak our address. Only the page's own scripts may run in it.
 */
#include "serve/http/reply.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/stream.h"
#include "util/json.h"

enum { ERROR_MAX_B = 16384 };

static const char *const safety[][2] = {
    {"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static int dress(struct MHD_Response *reply, const char *type, const char *caching)
{
	int bad = MHD_add_response_header(reply, "Content-Type", type) != MHD_YES ||
		  MHD_add_response_header(reply, "Cache-Control", caching) != MHD_YES;
	for (size_t i = 0; !bad && i < sizeof safety / sizeof *safety; i++)
		bad = MHD_add_response_header(reply, safety[i][0], safety[i][1]) != MHD_YES;
	return bad ? -ENOMEM : 0;
}

static struct MHD_Response *finish(struct MHD_Response *reply, const char *type, const char *caching)
{
	if (reply && !dress(reply, type, caching))
		return reply;
	if (reply)
		MHD_destroy_response(reply);
	return NULL;
}

/* The contents of a reply, whose size is counted while they exist. */
struct counted {
	void *data;
	size_t size_b;
	_Atomic size_t *all_b;
};

static void uncount(void *context)
{
	struct counted *counted = context;
	atomic_fetch_sub(counted->all_b, counted->size_b);
	free(counted->data);
	free(counted);
}

struct MHD_Response *sonde_reply_data(struct sonde_buf *data, int is_bytes, _Atomic size_t *all_b)
{
	struct counted *counted = malloc(sizeof *counted);
	if (!counted)
		return NULL;
	*counted = (struct counted){data->data, data->len_b, all_b};
	struct MHD_Response *reply =
	    MHD_create_response_from_buffer_with_free_callback_cls(data->len_b, data->data, uncount, counted);
	if (!reply) {
		free(counted);
		return NULL;
	}
	atomic_fetch_add(all_b, data->len_b);
	sonde_buf_init(data, data->max_b);
	return finish(reply, is_bytes ? "application/octet-stream" : "application/json", "no-store");
}

int sonde_reply_as(struct MHD_Response *reply, const char *type)
{
	return dress(reply, type, "no-store");
}

/* {"error": "message"} */
static int put_error(struct sonde_buf *out, const char *sentence)
{
	struct sonde_json json;
	FILE *stream = sonde_stream_open(out);
	if (!stream)
		return -ENOMEM;
	sonde_json_init(&json, stream, 0);
	sonde_json_object(&json);
	sonde_json_put_text(&json, "error", sentence);
	sonde_json_end(&json);
	return sonde_stream_close(stream, out, 0);
}

struct MHD_Response *sonde_reply_error(const char *sentence)
{
	struct MHD_Response *reply = NULL;
	struct sonde_buf json;
	sonde_buf_init(&json, ERROR_MAX_B);
	if (!put_error(&json, sentence))
		reply = MHD_create_response_from_buffer(json.len_b, json.data, MHD_RESPMEM_MUST_COPY);
	sonde_buf_fini(&json);
	return finish(reply, "application/json", "no-store");
}

struct MHD_Response *sonde_reply_page(const void *data, size_t size_b, const char *type, const char *encoding,
				      const char *tag)
{
	struct MHD_Response *reply =
	    MHD_create_response_from_buffer(size_b, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);
	reply = finish(reply, type, "no-cache");
	int bad = !reply || MHD_add_response_header(reply, "ETag", tag) != MHD_YES ||
		  MHD_add_response_header(reply, "Vary", "Accept-Encoding") != MHD_YES;
	if (!bad && encoding)
		bad = MHD_add_response_header(reply, "Content-Encoding", encoding) != MHD_YES;
	if (!bad)
		return reply;
	if (reply)
		MHD_destroy_response(reply);
	return NULL;
}
