/* request_handler.c: handles requests from their first line to their answer (request_handler.h). */
#include "serve/request_handler.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "serve/answer/answer.h"
#include "serve/http/params.h"
#include "serve/http/reply.h"
#include "util/error.h"

enum {
	ANSWER_MAX_B = 128 << 20,
	SENT_MAX_B = 256 << 20, /* limit for all answers that are cached or being sent */
	HEAD_MS = 2000,         /* time for the first request of a connection to arrive */
	NEXT_HEAD_MS = 40000,   /* for later requests; computing the answer before may take 30 s of it */
};

struct request {
	struct sonde_work work; /* must be first: the worker sees only this part */
	struct sonde_request_handler *handler;
	struct MHD_Connection *connection;
	char *target;         /* as received: the path, cut off at its "?" */
	char *key;            /* the target as received, not cut off */
	int begun, requested; /* requested: the request was given to the worker */
	int is_kept;          /* the answer may be cached */
	int is_bytes;         /* the answer is not JSON */
	int fd;
	struct sonde_params params;
	sonde_answer *answer;
	sonde_answer_both *both; /* used instead of the answer above */
	unsigned status;
	struct MHD_Response *reply; /* owned; NULL = not yet */
	size_t size_b;              /* of the reply */
};

static const struct {
	const char *path;
	sonde_answer *answer;
	int is_bytes; /* 1 = not JSON, and not cached, because the same bins are hardly ever requested twice */
} routes[] = {
    {"/api/recording", sonde_answer_recording, 0}, {"/api/report", sonde_answer_report, 0},
    {"/api/stacks", sonde_answer_stacks, 0},       {"/api/lanes", sonde_answer_lanes, 0},
    {"/api/tiles", sonde_answer_tiles, 1},         {"/api/find", sonde_answer_find, 0},
    {"/api/arrows", sonde_answer_arrows, 0},       {"/api/path", sonde_answer_path, 0},
};

static const struct {
	const char *path;
	sonde_answer_both *answer;
} routes_of_both[] = {
    {"/api/runs", sonde_answer_runs},
    {"/api/diff", sonde_answer_diff},
};

/* --- replies ----------------------------------------------------------------------------------------------------- */

static enum MHD_Result send_reply(struct MHD_Connection *connection, unsigned status, struct MHD_Response *reply)
{
	return reply ? MHD_queue_response(connection, status, reply) : MHD_NO; /* MHD_NO closes the connection */
}

static enum MHD_Result send_error(struct MHD_Connection *connection, unsigned status, const char *sentence)
{
	struct MHD_Response *reply = sonde_reply_error(sentence);
	if (reply && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(reply, "Allow", "GET");
	enum MHD_Result sent = send_reply(connection, status, reply);
	if (reply)
		MHD_destroy_response(reply);
	return sent;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* --- data -------------------------------------------------------------------------------------------------------- */

static unsigned status_of(int code)
{
	return code == -EINVAL || code == -ESRCH || code == -EFBIG ? MHD_HTTP_BAD_REQUEST
	       : code == -EBUSY                                    ? MHD_HTTP_SERVICE_UNAVAILABLE
	       : code == -ESTALE                                   ? MHD_HTTP_CONFLICT
								   : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

/* Runs in the worker: computes the answer from the requested run. */
static int answer(struct request *request, struct sonde_buf *out)
{
	struct sonde_session *const *runs = request->handler->runs;
	if (request->both)
		return request->both(runs, &request->params, out);
	const char *run = sonde_params_take(&request->params, "run");
	int is_second = run && strcmp(run, "b") == 0;
	if (run && !is_second && strcmp(run, "a") != 0)
		return sonde_error(EINVAL, "run is a or b, not '%s'", run);
	if (is_second && !runs[1])
		return sonde_error(EINVAL, "there is no run b: sonde view A B shows two recordings");
	return request->answer(runs[is_second], &request->params, out);
}

/* Checks that the file of the requested run is unchanged since it was opened. `read_b`: bytes read of run a, if it
 * grows. */
static int check_originals(const struct request *request, int is_second, uint64_t read_b)
{
	const struct sonde_original *originals = request->handler->originals;
	int rc = request->both || !is_second ? sonde_original_check(&originals[0], read_b) : 0;
	return rc || !(request->both || is_second) ? rc : sonde_original_check(&originals[1], 0);
}

static int asks_second(const struct request *request)
{
	const char *run = sonde_params_get(&request->params, "run");
	return run && strcmp(run, "b") == 0;
}

/* True if the page was closed, which must be detected here, because libmicrohttpd does not read from a suspended
 * connection. */
static int has_gone(const struct request *request)
{
	struct pollfd socket = {.fd = request->fd, .events = POLLRDHUP};
	return request->fd >= 0 && poll(&socket, 1, 0) > 0;
}

/* Runs in the worker: makes the reply. Its size is limited by what is left of the limit for all answers together. */
static int make(struct request *request, struct sonde_buf *out)
{
	struct sonde_request_handler *handler = request->handler;
	if (out->max_b == 0)
		return sonde_error(EBUSY, "%d MB of answers are waiting to be sent: try again in a moment",
				   SENT_MAX_B >> 20);
	if (!sonde_growth_pages(
		&handler->growth)) /* if it grows, pages are notified of changes, and then request updates */
		sonde_growth_read(&handler->growth);
	request->is_kept = !request->is_bytes && (!handler->growth.events || *handler->growth.follow.ended);
	int is_second = asks_second(request), rc = answer(request, out);
	int changed =
	    rc == -EINVAL ? 0 : check_originals(request, is_second, sonde_session_run(handler->runs[0])->file_b);
	if (changed)
		return changed;
	if (rc == -EFBIG && out->max_b < ANSWER_MAX_B)
		return sonde_error(
		    EBUSY, "answers are waiting to be sent, and this one is too large to add: try again in a moment");
	return rc;
}

/* In the worker: computes the answer, then resumes the connection. */
static void compute(struct sonde_work *work, int late)
{
	struct request *request = (struct request *)work;
	_Atomic size_t *sent_b = &request->handler->sent_b;
	struct sonde_buf json;
	size_t others_b = atomic_load(sent_b), left_b = others_b < SENT_MAX_B ? SENT_MAX_B - others_b : 0;
	sonde_buf_init(&json, left_b < ANSWER_MAX_B ? left_b : ANSWER_MAX_B);
	int rc = late                ? sonde_error(EBUSY, "the page has been closed")
		 : has_gone(request) ? sonde_error(EBUSY, "nobody is waiting for the answer")
				     : make(request, &json);
	request->status = rc ? status_of(rc) : MHD_HTTP_OK;
	request->size_b = json.len_b;
	request->reply =
	    rc ? sonde_reply_error(sonde_error_text()) : sonde_reply_data(&json, request->is_bytes, sent_b);
	sonde_buf_fini(&json);
	MHD_resume_connection(request->connection);
}

/* Gives the request to the worker. The connection is suspended first, because the worker may resume it from then on. */
static enum MHD_Result ask(struct request *request)
{
	struct sonde_request_handler *handler = request->handler;
	int is_whole = sonde_growth_is_whole(&handler->growth);
	struct MHD_Response *reply = is_whole ? sonde_cache_find(&handler->cache, request->key) : NULL;
	if (reply && !check_originals(request, asks_second(request), atomic_load(&handler->growth.follow.file_b)))
		return send_reply(request->connection, MHD_HTTP_OK, reply);
	request->requested = 1;
	request->fd = sonde_access_check_socket(request->connection);
	MHD_suspend_connection(request->connection);
	if (sonde_worker_put(handler->worker, &request->work)) {
		request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
		request->reply = sonde_reply_error(sonde_error_text());
		MHD_resume_connection(request->connection);
	}
	return MHD_YES;
}

static enum MHD_Result answered(struct request *request)
{
	struct MHD_Response *reply = request->reply;
	if (reply && request->status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(reply, "Retry-After", "1");
	enum MHD_Result sent = send_reply(request->connection, request->status, reply);
	request->reply = NULL;
	if (reply && request->status == MHD_HTTP_OK && request->is_kept)
		sonde_cache_take(&request->handler->cache, request->key, reply, request->size_b);
	else if (reply)
		MHD_destroy_response(reply);
	return sent;
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static enum MHD_Result send_page(struct request *request, const struct sonde_page_file *file)
{
	const struct sonde_page *page = &request->handler->page;
	struct MHD_Connection *connection = request->connection;
	unsigned status;
	if (page->enter && strcmp(file->path, "/") == 0 && sonde_params_get(&request->params, "token"))
		return send_reply(connection, MHD_HTTP_OK, page->enter);
	struct MHD_Response *reply =
	    sonde_page_reply(file, header(connection, "Accept-Encoding"), header(connection, "If-None-Match"), &status);
	return send_reply(connection, status, reply);
}

static enum MHD_Result send_nothing(struct MHD_Connection *connection)
{
	struct MHD_Response *reply = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (!reply || sonde_reply_as(reply, "text/event-stream"))
		return MHD_NO;
	enum MHD_Result sent = send_reply(connection, MHD_HTTP_NO_CONTENT, reply);
	MHD_destroy_response(reply);
	return sent;
}

static enum MHD_Result send_events(struct request *request)
{
	struct MHD_Connection *connection = request->connection;
	struct sonde_events *events = request->handler->growth.events;
	if (!events) /* tells a browser that there are no events, and not to retry */
		return send_nothing(connection);
	struct MHD_Response *reply = sonde_events_open(events, connection, sonde_access_check_socket(connection));
	if (!reply)
		return send_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE, sonde_error_text());
	enum MHD_Result sent =
	    sonde_reply_as(reply, "text/event-stream") ? MHD_NO : send_reply(connection, MHD_HTTP_OK, reply);
	MHD_destroy_response(reply);
	return sent;
}

static enum MHD_Result begin(struct request *request, const char *method)
{
	const char *sentence;
	request->begun = 1;
	sonde_header_timeouts_end(request->handler->timeouts, sonde_access_check_socket(request->connection));
	const struct sonde_access_check_request requested = {request->connection, method, request->target};
	unsigned status = sonde_access_check_refuse(&request->handler->access, &requested, &request->params, &sentence);
	return status ? send_error(request->connection, status, sentence) : MHD_YES;
}

static void find_route(struct request *request)
{
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
		if (strcmp(routes[i].path, request->target) == 0)
			request->answer = routes[i].answer, request->is_bytes = routes[i].is_bytes;
	for (size_t i = 0; i < sizeof routes_of_both / sizeof *routes_of_both; i++)
		if (strcmp(routes_of_both[i].path, request->target) == 0)
			request->both = routes_of_both[i].answer;
}

enum MHD_Result sonde_request_handler_handle(void *context, struct MHD_Connection *connection, const char *url,
					     const char *method, const char *version, const char *data, size_t *data_b,
					     void **mine)
{
	struct request *request = *mine;
	struct sonde_request_handler *handler = context;
	(void)url, (void)version, (void)data;
	if (!request || *data_b)
		return MHD_NO;
	if (!request->begun)
		return begin(request, method);
	if (request->requested)
		return answered(request);
	if (strcmp(request->target, "/api/events") == 0)
		return send_events(request);
	const struct sonde_page_file *file = sonde_page_find(&handler->page, request->target);
	if (file)
		return send_page(request, file);
	find_route(request);
	return request->answer || request->both ? ask(request)
						: send_error(connection, MHD_HTTP_NOT_FOUND, "no such page");
}

static void request_free(struct request *request)
{
	if (!request)
		return;
	if (request->reply)
		MHD_destroy_response(request->reply);
	sonde_params_fini(&request->params);
	free(request->target);
	free(request->key);
	free(request);
}

/* Returns the slot for a connection's current request. libmicrohttpd does not report the end of a request that it
 * rejects while reading, so such a request is cleaned up by the connection's next request, or at the end of the
 * connection. NULL if out of memory. */
static struct request **place_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? (struct request **)info->socket_context : NULL;
}

/* The first callback of a request: its target as received, not decoded. */
void *sonde_request_handler_begin(void *context, const char *target, struct MHD_Connection *connection)
{
	struct request **place = place_of(connection);
	struct request *request = place ? calloc(1, sizeof *request) : NULL;
	if (!request)
		return NULL;
	request->work.run = compute;
	request->handler = context;
	request->connection = connection;
	request->target = strdup(target);
	request->key = strdup(target);
	if (!request->target || !request->key) {
		request_free(request);
		return NULL;
	}
	request_free(*place);
	return *place = request;
}

void sonde_request_handler_end(void *context, struct MHD_Connection *connection, void **mine,
			       enum MHD_RequestTerminationCode why)
{
	struct request **place = place_of(connection);
	struct sonde_request_handler *handler = context;
	(void)why;
	if (place && *place == *mine)
		*place = NULL;
	request_free(*mine);
	*mine = NULL;
	sonde_header_timeouts_begin(handler->timeouts, sonde_access_check_socket(connection), NEXT_HEAD_MS);
}

void sonde_request_handler_connection(void *context, struct MHD_Connection *connection, void **mine,
				      enum MHD_ConnectionNotificationCode what)
{
	struct request **place = *mine;
	struct sonde_request_handler *handler = context;
	int fd = sonde_access_check_socket(connection);
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		sonde_header_timeouts_begin(handler->timeouts, fd, HEAD_MS);
		*mine = calloc(1, sizeof *place);
		return;
	}
	sonde_header_timeouts_end(handler->timeouts, fd);
	if (place)
		request_free(*place);
	free(place);
	*mine = NULL;
}
