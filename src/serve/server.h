/* server.h: the web page of one recording over HTTP, and the questions that it asks (docs/UI.md). */
#ifndef SONDE_SERVE_SERVER_H
#define SONDE_SERVE_SERVER_H

#include <stddef.h>

#include "session/session.h"

struct sonde_server;

struct sonde_server_options {
	const char *host;  /* an address or a name; NULL = 127.0.0.1 */
	unsigned port;     /* the first that is tried; 0 = any */
	int is_fixed;      /* this port or none */
	const char *token; /* that is asked for; NULL = none, on addresses that only this machine reaches */
	struct sonde_session *candidate; /* run b, which the session, run a, is compared with; NULL = none */
};

/* Answers from threads of its own, until it is stopped; nobody else uses the sessions meanwhile. 0, or a negative errno
 * with a sentence: -EINVAL, -EADDRINUSE or -EACCES where options are wrong. */
int sonde_server_start(struct sonde_server **out, struct sonde_session *session,
		       const struct sonde_server_options *options);

/* The same in two steps. The first only binds, so that connections wait: it may come before a fork. sonde_server_drop()
 * frees what has not begun, in a child also what it has a copy of. `is_live`: the recording is still being written; the
 * session is the server's then, if this succeeds. */
int sonde_server_open(struct sonde_server **out, const struct sonde_server_options *options);
int sonde_server_begin(struct sonde_server *server, struct sonde_session *session, int is_live);
void sonde_server_drop(struct sonde_server *server);

/* Of a live server, to be called some times a second: looks whether the recording has grown, where a page is open that
 * wants to know. How many are. */
size_t sonde_server_tick(struct sonde_server *server);

/* The recording is complete; `sentence` says how it came to its end. Later calls of sonde_server_tick() read it whole.
 */
void sonde_server_end(struct sonde_server *server, const char *sentence);

unsigned sonde_server_port(const struct sonde_server *server);

/* Where the page is, with its token. */
const char *sonde_server_url(const struct sonde_server *server);

/* Closes all connections and frees; -EBUSY where an answer is being computed that does not end soon: then all goes on,
 * and only the end of the process ends it. */
int sonde_server_stop(struct sonde_server *server);

#endif
