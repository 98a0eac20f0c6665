/* guard.h: checks a request's token, and which host name it uses for this server.
 *
 * A foreign page can make a browser send requests to this machine, even under the page's own host name, if that name
 * suddenly resolves to this machine (DNS rebinding). The request's Host header contains the name that the page used:
 * only requests with a name or address that the server was bound to are answered.
 */
#ifndef SONDE_SERVE_HTTP_GUARD_H
#define SONDE_SERVE_HTTP_GUARD_H

#include <stddef.h>

enum { SONDE_GUARD_HOSTS_MAX = 6, SONDE_GUARD_HOST_B = 300, SONDE_GUARD_TOKEN_MIN = 16, SONDE_GUARD_TOKEN_MAX = 128 };

struct sonde_guard {
	char hosts[SONDE_GUARD_HOSTS_MAX][SONDE_GUARD_HOST_B]; /* "127.0.0.1:8080", in lower case */
	size_t host_count;
	const char *token; /* NULL = no token is required */
	char cookie[32];   /* name of the cookie: cookies are shared by all ports of a host */
	unsigned port;
};

/* `host`: as given with --host; `loopback`: only this machine can connect. */
void sonde_guard_init(struct sonde_guard *guard, const char *host, unsigned port, int loopback, const char *token);

/* Adds another accepted name. It is needed because browsers normalise an address before they send it. */
void sonde_guard_add(struct sonde_guard *guard, const char *host);

/* True if a Host header is one of the accepted names. `local`: the numeric local address of the connection if we are
 * bound to all addresses; else NULL. */
int sonde_guard_knows(const struct sonde_guard *guard, const char *host, const char *local);

/* True if `token` is the required one; compares in constant time. NULL is refused. */
int sonde_guard_admits(const struct sonde_guard *guard, const char *token);

/* -EINVAL with a message if a token is too short, or has characters not allowed in cookies or URLs. */
int sonde_guard_check_token(const char *token);

#endif
