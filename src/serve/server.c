/* server.c: the web page of one recording over HTTP, and the questions that it asks.
 *
 * Two threads. libmicrohttpd's reads requests, refuses what must be refused, and sends; the worker alone uses the
 * session. A connection whose answer is computed is suspended meanwhile, so the page itself and what is cached never
 * wait for a long report. A request belongs to the thread of libmicrohttpd, but while its connection is suspended to
 * the worker.
 *
 * A recording that is still being written is kept up with in the worker, between questions: nothing is answered from a
 * session that changes, and nothing is kept for later of one that will. Whoever owns the server calls it a few times a
 * second, so that no thread of ours wakes up for a recording that is complete.
 *
 * What libmicrohttpd refuses by itself (a malformed head, one that is larger than its memory) has fixed words of its
 * own and the same status codes.
 */
#include "serve/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/answer.h"
#include "serve/cache.h"
#include "serve/events.h"
#include "serve/follow.h"
#include "serve/guard.h"
#include "serve/listen.h"
#include "serve/page.h"
#include "serve/params.h"
#include "serve/reply.h"
#include "serve/worker.h"
#include "util/error.h"

enum {
	CONNECTIONS = 32,
	SILENCE_S = 30,      /* after which a connection is closed */
	HEAD_MAX_B = 8192,   /* of a request */
	MEMORY_B = 32 << 10, /* of a connection: a head that is too large is read and refused with a sentence */
	WAITING = 16,        /* questions */
	ANSWER_MAX_B = 256 << 20,
	CACHE_MAX_B = 64 << 20,
	SENT_MAX_B = 512 << 20, /* of all answers that are kept or being sent */
	BEAT_S = 10,            /* open pages hear that we are there */
	PATIENCE_MS = 200,      /* with an answer at the end */
};

#define IDLE_SAY_NS 1000000000u

struct sonde_server {
	struct sonde_session *runs[2]; /* a, and b or NULL */
	struct MHD_Daemon *daemon;
	struct sonde_worker *worker;
	struct sonde_guard guard;
	struct sonde_listen listen;
	struct sonde_page page;
	struct sonde_cache cache;
	_Atomic size_t sent_b;         /* of answers that exist */
	struct sonde_events *events;   /* NULL: the recording is complete */
	char *path;                    /* of the recording that grows */
	struct sonde_follow follow;    /* the worker's, but for what is atomic */
	uint64_t said_events, said_ns; /* what pages were told last, and when; the worker's */
	struct sonde_work refresh;
	_Atomic int is_refreshing; /* refresh waits or is worked on */
	uint64_t beat_ns;          /* when pages were told that we are there; of sonde_server_tick() */
	char end[512];             /* what is to be said of the end */
	_Atomic int is_to_end;     /* `end` is complete */
	_Atomic int is_whole;      /* the session does not change any more */
	char token[SONDE_GUARD_TOKEN_MAX + 1], url[SONDE_GUARD_HOST_B + SONDE_GUARD_TOKEN_MAX + 32];
};

struct request {
	struct sonde_work work; /* the first: the worker knows no more */
	struct sonde_server *server;
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

/* --- replies ------------------------------------------------------------------------------------------------------ */

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

static int fd_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info ? info->connect_fd : -1;
}

/* --- who is refused ----------------------------------------------------------------------------------------------- */

struct hosts {
	const char *value;
	int count;
};

static enum MHD_Result count_host(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct hosts *hosts = context;
	(void)kind;
	if (strcasecmp(name, "Host") == 0) {
		hosts->count++;
		hosts->value = value;
	}
	return MHD_YES;
}

static int has_our_name(const struct request *request)
{
	const struct sonde_server *server = request->server;
	struct hosts hosts = {0};
	char local[64] = "";
	MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_host, &hosts);
	if (hosts.count != 1 || !hosts.value)
		return 0;
	if (server->listen.is_any)
		sonde_listen_local(fd_of(request->connection), local, sizeof local);
	return sonde_guard_knows(&server->guard, hosts.value, *local ? local : NULL);
}

static int has_body(struct MHD_Connection *connection)
{
	const char *length = header(connection, "Content-Length");
	return header(connection, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static int is_too_long(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	return info && info->header_size > HEAD_MAX_B;
}

static int is_let_in(const struct request *request)
{
	const struct sonde_guard *guard = &request->server->guard;
	const char *cookie = MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, guard->cookie);
	return sonde_guard_admits(guard, cookie) ||
	       sonde_guard_admits(guard, sonde_params_get(&request->params, "token"));
}

/* The path and the parameters. -EINVAL with a sentence. */
static int take_target(struct request *request)
{
	char *query = strchr(request->target, '?');
	if (*request->target != '/')
		return sonde_error(EINVAL, "what is asked for begins with a slash");
	if (query)
		*query++ = '\0';
	return sonde_params_parse(&request->params, query ? query : "");
}

/* A page from elsewhere can make a browser ask, but not see the answer; it shall not make us compute it either.
 * Browsers say who asks. */
static int is_from_elsewhere(const struct request *request)
{
	const char *site = header(request->connection, "Sec-Fetch-Site");
	int is_data = strncmp(request->target, "/api/", strlen("/api/")) == 0;
	return is_data && site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* The status with which a request is refused, and the sentence; 0 = it is not. */
static unsigned refusal(struct request *request, const char *method, const char **sentence)
{
	*sentence = "this name is not the one that the page was opened under; forward the same port";
	if (!has_our_name(request))
		return MHD_HTTP_FORBIDDEN;
	*sentence = "only GET is understood";
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	*sentence = "a request has no body here";
	if (has_body(request->connection))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	*sentence = "a request has at most 8 KB";
	if (is_too_long(request->connection))
		return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
	int rc = take_target(request);
	*sentence = "only the page that sonde serves may ask, not one from elsewhere";
	if (is_from_elsewhere(request))
		return MHD_HTTP_FORBIDDEN;
	*sentence = "open the address that sonde view printed, with its token";
	if (!is_let_in(request))
		return MHD_HTTP_UNAUTHORIZED;
	*sentence = sonde_error_text();
	return rc ? MHD_HTTP_BAD_REQUEST : 0;
}

/* --- data --------------------------------------------------------------------------------------------------------- */

static unsigned status_of(int code)
{
	return code == -EINVAL || code == -ESRCH || code == -EFBIG ? MHD_HTTP_BAD_REQUEST
	       : code == -EBUSY                                    ? MHD_HTTP_SERVICE_UNAVAILABLE
								   : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static size_t pages_of(struct sonde_server *server)
{
	return server->events ? sonde_events_count(server->events) : 0;
}

static void say(struct sonde_server *server)
{
	char line[SONDE_EVENTS_MESSAGE_B];
	sonde_follow_say(&server->follow, line, sizeof line);
	server->said_events = sonde_follow_events(&server->follow);
	server->said_ns = sonde_clock_now_ns();
	sonde_events_publish(server->events, line);
}

/* A program that does nothing makes pages do something once a second, not with every reading of the machine. */
static int is_news(const struct sonde_server *server)
{
	return sonde_follow_events(&server->follow) != server->said_events ||
	       sonde_clock_now_ns() - server->said_ns >= IDLE_SAY_NS;
}

/* In the worker: reads what a recording has grown by, and tells who looks. */
static void keep_up(struct sonde_server *server)
{
	if (server->events && sonde_follow_refresh(&server->follow) > 0 && is_news(server))
		say(server);
}

/* In the worker, when sonde_server_tick() found that there is something to read. */
static void refresh(struct sonde_work *work, int late)
{
	struct sonde_server *server = (struct sonde_server *)((char *)work - offsetof(struct sonde_server, refresh));
	if (!late && atomic_load(&server->is_to_end) && !atomic_load(&server->is_whole)) {
		sonde_follow_end(&server->follow, server->end);
		say(server);
		atomic_store(&server->is_whole, 1);
	} else if (!late) {
		keep_up(server);
	}
	atomic_store(&server->is_refreshing, 0);
}

/* In the worker: of the run that is asked for. */
static int answer(struct request *request, struct sonde_buf *out)
{
	struct sonde_session *const *runs = request->server->runs;
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

/* While a connection is suspended nobody reads from it: that the page has gone is seen here. */
static int has_gone(const struct request *request)
{
	struct pollfd socket = {.fd = request->fd, .events = POLLRDHUP};
	return request->fd >= 0 && poll(&socket, 1, 0) > 0;
}

/* In the worker. What all answers together may have is what bounds this one. */
static int make(struct request *request, struct sonde_buf *out)
{
	struct sonde_server *server = request->server;
	if (out->max_b == 0)
		return sonde_error(EBUSY, "%d MB of answers wait to be sent: ask again in a moment", SENT_MAX_B >> 20);
	if (!pages_of(server)) /* else they are told when it changes, and ask then */
		keep_up(server);
	request->is_kept = !request->is_bytes && (!server->events || *server->follow.ended);
	int rc = answer(request, out);
	if (rc == -EFBIG && out->max_b < ANSWER_MAX_B)
		return sonde_error(EBUSY, "answers wait to be sent, and this one is too large beside them: ask again "
					  "in a moment");
	return rc;
}

/* In the worker: what the request asks for, then the connection goes on. */
static void compute(struct sonde_work *work, int late)
{
	struct request *request = (struct request *)work;
	_Atomic size_t *sent_b = &request->server->sent_b;
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
	struct sonde_server *server = request->server;
	int is_whole = !server->events || atomic_load(&server->is_whole);
	struct MHD_Response *reply = is_whole ? sonde_cache_find(&server->cache, request->key) : NULL;
	if (reply)
		return send_reply(request->connection, MHD_HTTP_OK, reply);
	request->asked = 1;
	request->fd = fd_of(request->connection);
	MHD_suspend_connection(request->connection);
	if (sonde_worker_put(server->worker, &request->work)) {
		request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
		request->reply = sonde_reply_error(sonde_error_text());
		MHD_resume_connection(request->connection);
	}
	return MHD_YES;
}

static enum MHD_Result answered(struct request *request)
{
	struct MHD_Response *reply = request->reply;
	enum MHD_Result sent = send_reply(request->connection, request->status, reply);
	request->reply = NULL;
	if (reply && request->status == MHD_HTTP_OK && request->is_kept)
		sonde_cache_take(&request->server->cache, request->key, reply, request->size_b);
	else if (reply)
		MHD_destroy_response(reply);
	return sent;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static enum MHD_Result send_page(struct request *request, const struct sonde_page_file *file)
{
	const struct sonde_page *page = &request->server->page;
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
	struct sonde_events *events = request->server->events;
	if (!events) /* for a browser: there is nothing to be told, do not ask again */
		return send_nothing(connection);
	struct MHD_Response *reply = sonde_events_open(events, connection, fd_of(connection));
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
	unsigned status = refusal(request, method, &sentence);
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

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *data, size_t *data_b, void **mine)
{
	struct request *request = *mine;
	struct sonde_server *server = context;
	(void)url, (void)version, (void)data;
	if (!request || *data_b)
		return MHD_NO;
	if (!request->begun)
		return begin(request, method);
	if (request->asked)
		return answered(request);
	if (strcmp(request->target, "/api/events") == 0)
		return send_events(request);
	const struct sonde_page_file *file = sonde_page_find(&server->page, request->target);
	if (file)
		return send_page(request, file);
	find_route(request);
	return request->answer || request->both ? ask(request)
						: send_error(connection, MHD_HTTP_NOT_FOUND, "there is no such page");
}

static void request_free(struct request *request)
{
	if (request->reply)
		MHD_destroy_response(request->reply);
	sonde_params_fini(&request->params);
	free(request->target);
	free(request->key);
	free(request);
}

/* The first that is heard of a request: its target as it came, undecoded. */
static void *request_new(void *context, const char *target, struct MHD_Connection *connection)
{
	struct request *request = calloc(1, sizeof *request);
	if (!request)
		return NULL;
	request->work.run = compute;
	request->server = context;
	request->connection = connection;
	request->target = strdup(target);
	request->key = strdup(target);
	if (request->target && request->key)
		return request;
	request_free(request);
	return NULL;
}

static void request_end(void *context, struct MHD_Connection *connection, void **mine,
			enum MHD_RequestTerminationCode why)
{
	(void)context, (void)connection, (void)why;
	if (*mine)
		request_free(*mine);
	*mine = NULL;
}

/* --- the server --------------------------------------------------------------------------------------------------- */

static int open_socket(struct sonde_server *server, const struct sonde_server_options *options)
{
	struct sonde_listen *listen = &server->listen;
	*listen = (struct sonde_listen){
	    .host = options->host ? options->host : "127.0.0.1",
	    .port = options->port,
	    .is_fixed = options->is_fixed,
	    .fd = -1,
	};
	if (options->token && sonde_guard_check_token(options->token))
		return -EINVAL;
	int rc = sonde_listen_open(listen);
	if (rc)
		return rc;
	if (!listen->is_loopback && !options->token)
		return sonde_error(EINVAL,
				   "others reach %s: --host needs --token TOKEN, which only who may see the recording "
				   "knows",
				   listen->host);
	if (options->token)
		snprintf(server->token, sizeof server->token, "%s", options->token);
	sonde_guard_init(&server->guard, listen->host, listen->port, listen->is_loopback,
			 options->token ? server->token : NULL);
	sonde_guard_add(&server->guard, listen->shown);
	int is_named = !listen->is_any && !sonde_listen_is_number(listen->host);
	snprintf(server->url, sizeof server->url, "http://%s/%s%s",
		 server->guard.hosts[is_named ? 0 : server->guard.host_count - 1], options->token ? "?token=" : "",
		 server->token);
	return 0;
}

static int start_daemon(struct sonde_server *server)
{
	unsigned flags = MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME;
	server->daemon =
	    MHD_start_daemon(flags, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, server->listen.fd,
			     MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
			     (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_B,
			     MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, request_new, server,
			     MHD_OPTION_NOTIFY_COMPLETED, request_end, server, MHD_OPTION_END);
	if (!server->daemon)
		return sonde_error(EIO, "the server for the page could not be started");
	server->listen.fd = -1; /* the daemon's */
	return 0;
}

/* With its worker and its daemon stopped, or never started. */
static void server_free(struct sonde_server *server)
{
	sonde_worker_free(server->worker);
	sonde_cache_fini(&server->cache);
	sonde_events_free(server->events);
	sonde_page_fini(&server->page);
	if (server->listen.fd >= 0)
		close(server->listen.fd);
	free(server->path);
	free(server);
}

static int make_page(struct sonde_server *server)
{
	char cookie[256];
	snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", server->guard.cookie,
		 server->token);
	return sonde_page_init(&server->page, server->guard.token ? cookie : NULL);
}

int sonde_server_open(struct sonde_server **out, const struct sonde_server_options *options)
{
	struct sonde_server *server = calloc(1, sizeof *server);
	if (!server)
		return sonde_error(ENOMEM, "out of memory for a server");
	server->runs[1] = options->candidate;
	server->cache.max_b = CACHE_MAX_B;
	int rc = open_socket(server, options);
	rc = rc ? rc : make_page(server);
	if (rc)
		server_free(server);
	else
		*out = server;
	return rc;
}

int sonde_server_begin(struct sonde_server *server, struct sonde_session *session, int is_live)
{
	server->runs[0] = session;
	server->follow = (struct sonde_follow){.session = &server->runs[0], .is_live = is_live};
	server->refresh.run = refresh;
	server->path = strdup(sonde_session_path(session));
	if (!server->path)
		return sonde_error(ENOMEM, "out of memory for a server");
	int rc = is_live ? sonde_events_new(&server->events) : 0;
	rc = rc ? rc : sonde_worker_new(&server->worker, WAITING);
	if (rc)
		return rc;
	if (is_live)
		say(server);
	rc = start_daemon(server);
	if (rc)
		sonde_worker_end(server->worker, PATIENCE_MS);
	return rc;
}

int sonde_server_start(struct sonde_server **out, struct sonde_session *session,
		       const struct sonde_server_options *options)
{
	struct sonde_server *server;
	int rc = sonde_server_open(&server, options);
	if (rc)
		return rc;
	rc = sonde_server_begin(server, session, 0);
	if (rc)
		server_free(server);
	else
		*out = server;
	return rc;
}

void sonde_server_drop(struct sonde_server *server)
{
	server_free(server);
}

unsigned sonde_server_port(const struct sonde_server *server)
{
	return server->listen.port;
}

const char *sonde_server_url(const struct sonde_server *server)
{
	return server->url;
}

/* --- a recording that grows --------------------------------------------------------------------------------------- */

static int has_grown(struct sonde_server *server)
{
	struct stat file;
	return !stat(server->path, &file) && (uint64_t)file.st_size != atomic_load(&server->follow.file_b);
}

size_t sonde_server_tick(struct sonde_server *server)
{
	uint64_t now_ns = sonde_clock_now_ns();
	size_t pages = pages_of(server);
	if (now_ns - server->beat_ns > BEAT_S * UINT64_C(1000000000)) {
		sonde_events_beat(server->events);
		server->beat_ns = now_ns;
	}
	if (atomic_load(&server->is_whole) || atomic_load(&server->is_refreshing))
		return pages;
	if (!atomic_load(&server->is_to_end) && (!pages || !has_grown(server)))
		return pages;
	atomic_store(&server->is_refreshing, 1);
	if (sonde_worker_put(server->worker, &server->refresh))
		atomic_store(&server->is_refreshing, 0); /* too many questions wait: the next time */
	return pages;
}

void sonde_server_end(struct sonde_server *server, const char *sentence)
{
	snprintf(server->end, sizeof server->end, "%s", sentence);
	atomic_store(&server->is_to_end, 1);
}

int sonde_server_stop(struct sonde_server *server)
{
	int rc = sonde_worker_end(server->worker, PATIENCE_MS);
	if (rc)
		return rc;
	if (server->events)
		sonde_events_end(server->events);
	MHD_stop_daemon(server->daemon);
	if (server->events)
		sonde_session_close(server->runs[0]);
	server_free(server);
	return 0;
}
