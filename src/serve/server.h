/* server.h: serves the web page of one recording over HTTP, and answers its queries (docs/UI.md). */
#ifndef SONDE_SERVE_SERVER_H
#define SONDE_SERVE_SERVER_H

#include <stddef.h>

#include "session/session.h"

struct sonde_server;

struct sonde_server_options {
	const char *host;  /* address or host name; NULL = 127.0.0.1 */
	unsigned port;     /* the first port to try; 0 = any */
	int is_fixed;      /* only this port */
	const char *token; /* required token; may be NULL (none) on addresses that only this machine can reach */
	struct sonde_session *candidate; /* run b, with which the session, run a, is compared; NULL = none */
};

/* Serves from its own threads until stopped; nothing else may use the sessions meanwhile. 0, or a negative errno with a
 * message: -EINVAL, -EADDRINUSE or -EACCES for wrong options. */
int sonde_server_start(struct sonde_server **out, struct sonde_session *session,
		       const struct sonde_server_options *options);

/* Like sonde_server_start(), in two steps. The first step only binds the socket, so that connections queue up; the
 * process may fork after it. sonde_server_drop() frees a server that was not started, and in a child also the child's
 * copy. `is_live`: the recording is still being written; the server then takes over the session if the call
 * succeeds. */
int sonde_server_open(struct sonde_server **out, const struct sonde_server_options *options);
int sonde_server_begin(struct sonde_server *server, struct sonde_session *session, int is_live);
void sonde_server_drop(struct sonde_server *server);

/* Call it several times a second for a live server: if a page is open, checks whether the recording has grown. Returns
 * the number of open pages. */
size_t sonde_server_tick(struct sonde_server *server);

/* Call it when the recording is complete; `sentence` says how it ended. Later calls of sonde_server_tick() read the
 * whole recording. */
void sonde_server_end(struct sonde_server *server, const char *sentence);

unsigned sonde_server_port(const struct sonde_server *server);

/* The URL of the page, with its token. */
const char *sonde_server_url(const struct sonde_server *server);

/* Closes all connections and frees the server. -EBUSY if an answer is being computed and does not finish soon: the
 * server then keeps running until the process exits. */
int sonde_server_stop(struct sonde_server *server);

#endif
