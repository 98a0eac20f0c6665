/* guard.h: who is answered: names that a request may call us by, and a token.
 *
 * A page from elsewhere can make a browser send requests to this machine, also with a name of its own that suddenly
 * leads here (DNS rebinding). The name is in the request's Host: only those that we were bound to are answered.
 */
#ifndef SONDE_SERVE_HTTP_GUARD_H
#define SONDE_SERVE_HTTP_GUARD_H

#include <stddef.h>

enum { SONDE_GUARD_HOSTS_MAX = 6, SONDE_GUARD_HOST_B = 300, SONDE_GUARD_TOKEN_MIN = 16, SONDE_GUARD_TOKEN_MAX = 128 };

struct sonde_guard {
	char hosts[SONDE_GUARD_HOSTS_MAX][SONDE_GUARD_HOST_B]; /* "127.0.0.1:8080", in lower case */
	size_t host_count;
	const char *token; /* NULL = none is asked for */
	char cookie[32];   /* its name: cookies are for all ports of a host */
	unsigned port;
};

/* `host`: as given with --host; `loopback`: it is this machine alone. */
void sonde_guard_init(struct sonde_guard *guard, const char *host, unsigned port, int loopback, const char *token);

/* Another name for the same: a browser writes an address in its shortest form, however it was typed. */
void sonde_guard_add(struct sonde_guard *guard, const char *host);

/* Whether a Host header is one of ours. `local`: the numeric address that the connection came to, where we are bound to
 * all there are; else NULL. */
int sonde_guard_knows(const struct sonde_guard *guard, const char *host, const char *local);

/* Whether this is the token, in a time that tells nothing of how much of it is right. NULL is not. */
int sonde_guard_admits(const struct sonde_guard *guard, const char *token);

/* -EINVAL with a sentence where a token is too short, or has what a cookie or an address cannot have. */
int sonde_guard_check_token(const char *token);

#endif
