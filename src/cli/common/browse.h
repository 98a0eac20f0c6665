/* browse.h: shared by the commands that serve the page: its address, its token, and opening a browser. */
#ifndef SONDE_CLI_COMMON_BROWSE_H
#define SONDE_CLI_COMMON_BROWSE_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/common/command.h"
#include "serve/server.h"

struct sonde_browse {
	const char *host; /* NULL = the default */
	uint64_t port;
	char *token;   /* owned; NULL = none */
	char *opener;  /* a file that redirects a browser to the page; NULL = none */
	int opener_of; /* pid of the process that removes that file */
	int no_open, no_token;
};

/* Rows for common options: {SONDE_BROWSE_PORT(offsetof(struct request, browse.port))}. */
#define SONDE_BROWSE_PORT(to) \
	"port", 0, "N", "port; 0 takes any free one (default: first free from 8080)", SONDE_NUMBER(to, 0, 65535)
#define SONDE_BROWSE_HOST(to) "host", 0, "ADDRESS", "address to listen on (default 127.0.0.1)", SONDE_TEXT(to)
#define SONDE_BROWSE_TOKEN(by) "token", 0, "TOKEN", "access token (required with --host; default: random)", SONDE_BY(by)
#define SONDE_BROWSE_NO_TOKEN(to) \
	"no-token", 0, NULL, "require no token: any user of this machine can connect", SONDE_FLAG(to)
#define SONDE_BROWSE_NO_OPEN(to) "no-open", 'n', NULL, "do not open a browser", SONDE_FLAG(to)

/* Sets the defaults. */
void sonde_browse_init(struct sonde_browse *browse);
void sonde_browse_fini(struct sonde_browse *browse);

/* Copies the token, and wipes it from the command line that other users can see. 0 or -ENOMEM. */
int sonde_browse_take_token(struct sonde_browse *browse, const char *value);

/* Makes a random token if none was given, unless --no-token forbids it. 0, or a negative errno with a message. */
int sonde_browse_make_token(struct sonde_browse *browse);

/* Options for the server; texts are borrowed. */
struct sonde_server_options sonde_browse_server(const struct sonde_browse *browse);

/* Returns the exit code for an error `rc` of the server. */
int sonde_browse_code(int rc);

/* Prints the URL, and how to reach it over ssh, and opens a browser if there is one; returns whether it did. */
int sonde_browse_announce(struct sonde_browse *browse, const struct sonde_server *server, FILE *out, int quiet);

/* Blocks the signals `numbers`, so that sigwait() can receive them, except signals that were ignored from the start
 * (nohup, background jobs of scripts). Call it before any thread starts. `before` (may be NULL) receives the previous
 * mask. */
void sonde_browse_block(sigset_t *out, const int *numbers, size_t count, sigset_t *before);

#endif
