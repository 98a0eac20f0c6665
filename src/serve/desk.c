/* desk.c: requests, from their first line to their answer (desk.h). */
#include "serve/desk.h"

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
	SENT_MAX_B = 256 << 20, /* of all answers that are kept or being sent */
	HEAD_MS = 2000,         /* for the first request of a connection to come */
	NEXT_HEAD_MS = 40000,   /* for the next one, which may be thought about for 30 s */
};

struct request {
	struct sonde_work work; /* the first: the worker knows no more */
	struct sonde_desk *desk;
	struct MHD_Connection *connection;
	char *target;     /* as it came: the path, cut off at its "?" */
	char *key;        /* the same, whole */
	int begun, asked; /* asked: the worker has it, or had it */
	int is_kept;      /* the answer is one for later, too */
	int is_bytes;     /* it is no JSON */
	int fd;
	struct sonde_params params;
	sonde_answer *answer;
	sonde_answer_both *both; /* instead of it */
	unsigned status;
	struct MHD_Response *reply; /* ours to give back; NULL = not yet */
	size_t size_b;              /* of the reply */
};

static const struct {
	const char *path;
	sonde_answer *answer;
	int is_bytes; /* no JSON; and not kept, since hardly anybody asks for the same bins twice */
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
	return reply ? MHD_queue_response(connection, status, reply) : MHD_NO; /* MHD_NO: the connection is closed */
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

/* In the worker: of the run that is asked for. */
static int answer(struct request *request, struct sonde_buf *out)
{
	struct sonde_session *const *runs = request->desk->runs;
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

/* Whether what the request asks for is what was opened. `read_b` of run a, where it grows. */
static int check_originals(const struct request *request, int is_second, uint64_t read_b)
{
	const struct sonde_original *originals = request->desk->originals;
	int rc = request->both || !is_second ? sonde_original_check(&originals[0], read_b) : 0;
	return rc || !(request->both || is_second) ? rc : sonde_original_check(&originals[1], 0);
}

static int asks_second(const struct request *request)
{
	const char *run = sonde_params_get(&request->params, "run");
	return run && strcmp(run, "b") == 0;
}

/* While a connection is suspended nobody reads from it: that the page has gone is seen here. */
static int has_gone(const struct request *request)
{
	struct pollfd socket = {.fd = request->fd, .events = POLLRDHUP};
	return request->fd >= 0 && poll(&socket, 1, 0) > 0;
}

/* In the worker. What all answers together may have is what bounds this one. */
static int make(struct request *request, struct sonde_buf *out)
{
	struct sonde_desk *desk = request->desk;
	if (out->max_b == 0)
		return sonde_error(EBUSY, "%d MB of answers wait to be sent: ask again in a moment", SENT_MAX_B >> 20);
	if (!sonde_growth_pages(&desk->growth)) /* else they are told when it changes, and ask then */
		sonde_growth_read(&desk->growth);
	request->is_kept = !request->is_bytes && (!desk->growth.events || *desk->growth.follow.ended);
	int is_second = asks_second(request), rc = answer(request, out);
	int changed = rc == -EINVAL ? 0 : check_originals(request, is_second, sonde_session_run(desk->runs[0])->file_b);
	if (changed)
		return changed;
	if (rc == -EFBIG && out->max_b < ANSWER_MAX_B)
		return sonde_error(EBUSY, "answers wait to be sent, and this one is too large beside them: ask again "
					  "in a moment");
	return rc;
}

/* In the worker: what the request asks for, then the connection goes on. */
static void compute(struct sonde_work *work, int late)
{
	struct request *request = (struct request *)work;
	_Atomic size_t *sent_b = &request->desk->sent_b;
	struct sonde_buf json;
	size_t others_b = atomic_load(sent_b), left_b = others_b < SENT_MAX_B ? SENT_MAX_B - others_b : 0;
	sonde_buf_init(&json, left_b < ANSWER_MAX_B ? left_b : ANSWER_MAX_B);
	int rc = late                ? sonde_error(EBUSY, "the page has been closed")
		 : has_gone(request) ? sonde_error(EBUSY, "nobody waits for the answer")
				     : make(request, &json);
	request->status = rc ? status_of(rc) : MHD_HTTP_OK;
	request->size_b = json.len_b;
	request->reply =
	    rc ? sonde_reply_error(sonde_error_text()) : sonde_reply_data(&json, request->is_bytes, sent_b);
	sonde_buf_fini(&json);
	MHD_resume_connection(request->connection);
}

/* The connection is suspended first: from then on it is the worker's to let go on. */
static enum MHD_Result ask(struct request *request)
{
	struct sonde_desk *desk = request->desk;
	int is_whole = sonde_growth_is_whole(&desk->growth);
	struct MHD_Response *reply = is_whole ? sonde_cache_find(&desk->cache, request->key) : NULL;
	if (reply && !check_originals(request, asks_second(request), atomic_load(&desk->growth.follow.file_b)))
		return send_reply(request->connection, MHD_HTTP_OK, reply);
	request->asked = 1;
	request->fd = sonde_gate_socket(request->connection);
	MHD_suspend_connection(request->connection);
	if (sonde_worker_put(desk->worker, &request->work)) {
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
		sonde_cache_take(&request->desk->cache, request->key, reply, request->size_b);
	else if (reply)
		MHD_destroy_response(reply);
	return sent;
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static enum MHD_Result send_page(struct request *request, const struct sonde_page_file *file)
{
	const struct sonde_page *page = &request->desk->page;
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
	struct sonde_events *events = request->desk->growth.events;
	if (!events) /* for a browser: there is nothing to be told, do not ask again */
		return send_nothing(connection);
	struct MHD_Response *reply = sonde_events_open(events, connection, sonde_gate_socket(connection));
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
	sonde_heads_came(request->desk->heads, sonde_gate_socket(request->connection));
	const struct sonde_gate_request asked = {request->connection, method, request->target};
	unsigned status = sonde_gate_refuse(&request->desk->gate, &asked, &request->params, &sentence);
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

enum MHD_Result sonde_desk_handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *data, size_t *data_b, void **mine)
{
	struct request *request = *mine;
	struct sonde_desk *desk = context;
	(void)url, (void)version, (void)data;
	if (!request || *data_b)
		return MHD_NO;
	if (!request->begun)
		return begin(request, method);
	if (request->asked)
		return answered(request);
	if (strcmp(request->target, "/api/events") == 0)
		return send_events(request);
	const struct sonde_page_file *file = sonde_page_find(&desk->page, request->target);
	if (file)
		return send_page(request, file);
	find_route(request);
	return request->answer || request->both ? ask(request)
						: send_error(connection, MHD_HTTP_NOT_FOUND, "there is no such page");
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

/* A connection's request that was begun. libmicrohttpd says nothing of the end of one that it refuses while it is read,
 * so whoever comes next finds it here: another request, or the connection's end. NULL = out of memory. */
static struct request **place_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? (struct request **)info->socket_context : NULL;
}

/* The first that is heard of a request: its target as it came, undecoded. */
void *sonde_desk_request_new(void *context, const char *target, struct MHD_Connection *connection)
{
	struct request **place = place_of(connection);
	struct request *request = place ? calloc(1, sizeof *request) : NULL;
	if (!request)
		return NULL;
	request->work.run = compute;
	request->desk = context;
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

void sonde_desk_request_end(void *context, struct MHD_Connection *connection, void **mine,
			    enum MHD_RequestTerminationCode why)
{
	struct request **place = place_of(connection);
	struct sonde_desk *desk = context;
	(void)why;
	if (place && *place == *mine)
		*place = NULL;
	request_free(*mine);
	*mine = NULL;
	sonde_heads_begin(desk->heads, sonde_gate_socket(connection), NEXT_HEAD_MS);
}

void sonde_desk_connection(void *context, struct MHD_Connection *connection, void **mine,
			   enum MHD_ConnectionNotificationCode what)
{
	struct request **place = *mine;
	struct sonde_desk *desk = context;
	int fd = sonde_gate_socket(connection);
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		sonde_heads_begin(desk->heads, fd, HEAD_MS);
		*mine = calloc(1, sizeof *place);
		return;
	}
	sonde_heads_gone(desk->heads, fd);
	if (place)
		request_free(*place);
	free(place);
	*mine = NULL;
}
