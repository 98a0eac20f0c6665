/* guard.c: checks the host names and tokens of requests. */
#include "serve/http/guard.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/error.h"

enum { HTTP_PORT = 80 }; /* browsers omit this port from the Host header */

static void write_host(char *out, const char *host, unsigned port)
{
	int is_six = strchr(host, ':') && *host != '[';
	snprintf(out, SONDE_GUARD_HOST_B, "%s%.255s%s:%u", is_six ? "[" : "", host, is_six ? "]" : "", port);
}

void sonde_guard_init(struct sonde_guard *guard, const char *host, unsigned port, int loopback, const char *token)
{
	static const char *const own[] = {"127.0.0.1", "localhost", "::1"};
	*guard = (struct sonde_guard){.token = token, .port = port};
	snprintf(guard->cookie, sizeof guard->cookie, "sonde-%u", port);
	write_host(guard->hosts[guard->host_count++], host, port);
	for (size_t i = 0; loopback && i < sizeof own / sizeof *own; i++)
		write_host(guard->hosts[guard->host_count++], own[i], port);
}

void sonde_guard_add(struct sonde_guard *guard, const char *host)
{
	if (guard->host_count < SONDE_GUARD_HOSTS_MAX)
		write_host(guard->hosts[guard->host_count++], host, guard->port);
}

static int is_same(const struct sonde_guard *guard, const char *host, const char *known)
{
	if (strcasecmp(host, known) == 0)
		return 1;
	size_t bare_b = (size_t)(strrchr(known, ':') - known);
	return guard->port == HTTP_PORT && strlen(host) == bare_b && strncasecmp(host, known, bare_b) == 0;
}

int sonde_guard_knows(const struct sonde_guard *guard, const char *host, const char *local)
{
	char here[SONDE_GUARD_HOST_B];
	for (size_t i = 0; i < guard->host_count; i++)
		if (is_same(guard, host, guard->hosts[i]))
			return 1;
	if (!local)
		return 0;
	write_host(here, local, guard->port);
	return is_same(guard, host, here);
}

int sonde_guard_admits(const struct sonde_guard *guard, const char *token)
{
	if (!guard->token)
		return 1;
	if (!token)
		return 0;
	size_t token_b = strlen(token), own_b = strlen(guard->token);
	unsigned differ = token_b != own_b;
	for (size_t i = 0; i < token_b; i++)
		differ |= (unsigned char)token[i] ^ (unsigned char)guard->token[i % own_b];
	return !differ;
}

int sonde_guard_check_token(const char *token)
{
	size_t token_b = strlen(token);
	if (token_b < SONDE_GUARD_TOKEN_MIN || token_b > SONDE_GUARD_TOKEN_MAX)
		return sonde_error(EINVAL, "a token has %d to %d characters: --token $(openssl rand -hex 16)",
				   SONDE_GUARD_TOKEN_MIN, SONDE_GUARD_TOKEN_MAX);
	for (; *token; token++)
		if (!isalnum((unsigned char)*token) && !strchr("-._~", *token))
			return sonde_error(EINVAL, "a token consists of letters, digits, - . _ and ~");
	return 0;
}
