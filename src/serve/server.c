/* server.c: serves the web page of one recording over HTTP, from opening the socket to shutdown.
 *
 * There are two main threads. libmicrohttpd's thread reads requests, refuses some (http/access_check.h), and sends
 * replies; only the worker uses the session (request_handler.h), and it follows a recording that is still being written
 * (growth.h). A third thread sleeps unless a client is slow to send its request (http/header_timeouts.h).
 *
 * Requests that libmicrohttpd itself rejects (malformed headers, or headers larger than its memory) get its fixed texts
 * with the same status codes.
 */
#include "serve/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "serve/request_handler.h"
#include "serve/http/guard.h"
#include "serve/http/listen.h"
#include "util/error.h"

enum {
	SILENT = 64,         /* connections whose request has not arrived; if there are more, the oldest is closed */
	CONNECTIONS = 192,   /* in addition: waiting queries, streams of events, and replies being sent */
	SILENCE_S = 30,      /* idle time after which a connection is closed */
	MEMORY_B = 32 << 10, /* per connection: headers that exceed it are read and refused with a message */
	WAITING = 16,        /* queries in the queue */
	CACHE_MAX_B = 64 << 20,
	PATIENCE_MS = 200, /* time to finish an answer at shutdown */
};

struct sonde_server {
	struct MHD_Daemon *daemon;
	struct sonde_guard guard;
	struct sonde_listen listen;
	struct sonde_request_handler handler;
	char token[SONDE_GUARD_TOKEN_MAX + 1], url[SONDE_GUARD_HOST_B + SONDE_GUARD_TOKEN_MAX + 32];
};

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
		return sonde_error(
		    EINVAL,
		    "others can reach %s: --no-token works only on this machine; leave it out, or leave --host out",
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
	server->daemon = MHD_start_daemon(
	    flags, 0, NULL, NULL, sonde_request_handler_handle, &server->handler, MHD_OPTION_LISTEN_SOCKET,
	    server->listen.fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_B, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    MHD_OPTION_URI_LOG_CALLBACK, sonde_request_handler_begin, &server->handler, MHD_OPTION_NOTIFY_COMPLETED,
	    sonde_request_handler_end, &server->handler, MHD_OPTION_NOTIFY_CONNECTION, sonde_request_handler_connection,
	    &server->handler, MHD_OPTION_END);
	if (!server->daemon)
		return sonde_error(EIO, "the page's server could not be started");
	server->listen.fd = -1; /* owned by the daemon now */
	return 0;
}

/* Frees a server whose worker and daemon are stopped, or were never started. */
static void server_free(struct sonde_server *server)
{
	sonde_worker_free(server->handler.worker);
	sonde_header_timeouts_free(server->handler.timeouts);
	for (size_t i = 0; i < 2; i++)
		sonde_original_fini(&server->handler.originals[i]);
	sonde_cache_fini(&server->handler.cache);
	sonde_growth_fini(&server->handler.growth);
	sonde_page_fini(&server->handler.page);
	if (server->listen.fd >= 0)
		close(server->listen.fd);
	free(server);
}

static int make_page(struct sonde_server *server)
{
	char cookie[256];
	snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", server->guard.cookie,
		 server->token);
	return sonde_page_init(&server->handler.page, server->guard.token ? cookie : NULL);
}

int sonde_server_open(struct sonde_server **out, const struct sonde_server_options *options)
{
	struct sonde_server *server = calloc(1, sizeof *server);
	if (!server)
		return sonde_error(ENOMEM, "out of memory for a server");
	server->handler.runs[1] = options->candidate;
	server->handler.access = (struct sonde_access_check){&server->guard, &server->listen};
	server->handler.cache.max_b = CACHE_MAX_B;
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
	server->handler.runs[0] = session;
	int rc = sonde_growth_init(&server->handler.growth, &server->handler.runs[0], is_live);
	for (size_t i = 0; i < 2 && !rc; i++)
		if (server->handler.runs[i])
			rc = sonde_original_init(&server->handler.originals[i],
						 sonde_session_path(server->handler.runs[i]), i == 0 && is_live);
	rc = rc ? rc : sonde_header_timeouts_new(&server->handler.timeouts, SILENT);
	rc = rc ? rc : sonde_worker_new(&server->handler.worker, WAITING);
	if (rc)
		return rc;
	server->handler.growth.worker = server->handler.worker;
	rc = start_daemon(server);
	if (rc)
		sonde_worker_end(server->handler.worker, PATIENCE_MS);
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

size_t sonde_server_tick(struct sonde_server *server)
{
	return sonde_growth_tick(&server->handler.growth);
}

void sonde_server_end(struct sonde_server *server, const char *sentence)
{
	sonde_growth_end(&server->handler.growth, sentence);
}

int sonde_server_stop(struct sonde_server *server)
{
	int rc = sonde_worker_end(server->handler.worker, PATIENCE_MS);
	if (rc)
		return rc;
	if (server->handler.growth.events)
		sonde_events_end(server->handler.growth.events);
	MHD_stop_daemon(server->daemon);
	if (server->handler.growth.events)
		sonde_session_close(server->handler.runs[0]);
	server_free(server);
	return 0;
}
