/* browse.h: what the commands share that serve the page: where it is, who is told of it, and who opens it. */
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
	char *token;  /* ours; NULL = none */
	char *opener; /* a file that leads a browser to the page; NULL = none was made */
	int opener_of; /* the process that removes it */
	int no_open, no_token;
};

/* Option rows that they share: {SONDE_BROWSE_PORT(offsetof(struct request, browse.port))}. */
#define SONDE_BROWSE_PORT(to) \
	"port", 0, "N", "this port or none; 0 = any (default: the first free one from 8080)", SONDE_NUMBER(to, 0, 65535)
#define SONDE_BROWSE_HOST(to) \
	"host", 0, "ADDRESS", "where others reach it (default 127.0.0.1)", SONDE_TEXT(to)
#define SONDE_BROWSE_TOKEN(by) "token", 0, "TOKEN", "access token (default: a random one, in the link)", SONDE_BY(by)
#define SONDE_BROWSE_NO_TOKEN(to) "no-token", 0, NULL, "let every user of this machine in", SONDE_FLAG(to)
#define SONDE_BROWSE_NO_OPEN(to) "no-open", 'n', NULL, "open no browser", SONDE_FLAG(to)

/* The defaults. */
void sonde_browse_init(struct sonde_browse *browse);
void sonde_browse_fini(struct sonde_browse *browse);

/* A token is nobody else's business: it is copied, and what the process list shows of it is wiped. 0 or -ENOMEM. */
int sonde_browse_take_token(struct sonde_browse *browse, const char *value);

/* Makes a random token where none was given, unless --no-token says that there is none. 0, or a negative errno with a
 * sentence. */
int sonde_browse_make_token(struct sonde_browse *browse);

/* What to ask the server for; texts are borrowed. */
struct sonde_server_options sonde_browse_server(const struct sonde_browse *browse);

/* The exit code when that failed with `rc`. */
int sonde_browse_code(int rc);

/* Writes the address, and how to reach it from where somebody came by ssh, and opens a browser where one is seen;
 * whether it did. */
int sonde_browse_announce(struct sonde_browse *browse, const struct sonde_server *server, FILE *out, int quiet);

/* Blocks what ends programs, but what we were started to ignore (nohup, jobs of scripts), for sigwait(): before any
 * thread begins. */
void sonde_browse_block(sigset_t *out);

#endif
