/* reply.c: what is sent back: bytes, with the headers that all of it has.
 *
 * Nobody may put the page into a frame, guess a type, load it from elsewhere, or learn our address by a link that was
 * followed; and nothing that the page did not bring with it is run in it.
 */
#include "serve/reply.h"

#include <microhttpd.h>

#include "serve/answer.h"
#include "util/error.h"

enum { ERROR_MAX_B = 16384 };

static const char *const safety[][2] = {
    {"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static struct MHD_Response *finish(struct MHD_Response *reply, const char *type, const char *caching)
{
	int bad = !reply || MHD_add_response_header(reply, "Content-Type", type) != MHD_YES ||
		  MHD_add_response_header(reply, "Cache-Control", caching) != MHD_YES;
	for (size_t i = 0; !bad && i < sizeof safety / sizeof *safety; i++)
		bad = MHD_add_response_header(reply, safety[i][0], safety[i][1]) != MHD_YES;
	if (!bad)
		return reply;
	if (reply)
		MHD_destroy_response(reply);
	return NULL;
}

struct MHD_Response *sonde_reply_data(struct sonde_buf *json)
{
	struct MHD_Response *reply = MHD_create_response_from_buffer(json->len_b, json->data, MHD_RESPMEM_MUST_FREE);
	if (!reply)
		return NULL;
	sonde_buf_init(json, json->max_b);
	return finish(reply, "application/json", "no-store");
}

struct MHD_Response *sonde_reply_error(const char *sentence)
{
	struct MHD_Response *reply = NULL;
	struct sonde_buf json;
	sonde_buf_init(&json, ERROR_MAX_B);
	if (!sonde_answer_error(&json, sentence))
		reply = sonde_reply_data(&json);
	sonde_buf_fini(&json);
	return reply;
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
