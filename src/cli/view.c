/* view.c: `sonde view`: a recording as a web page, from this machine.
 *
 * The page is served until a signal ends it; signals are blocked before any thread begins, and taken here. A pass that
 * is computed at that moment cannot be interrupted: nothing that it does outlives the process, so the process ends
 * around it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "serve/server.h"
#include "session/session.h"
#include "util/error.h"

#define DEFAULT_PORT 8080
#define NO_PORT UINT64_MAX

struct request {
	const char *file, *host;
	uint64_t port;
	char *token;
	int no_open, quiet;
	struct sonde_session_options session;
};

#define AT(member) offsetof(struct request, member)

/* A token is nobody else's business: it is copied, and what the process list shows of it is wiped. */
static int set_token(void *context, const char *value)
{
	struct request *request = context;
	char *shown = (char *)(uintptr_t)value;
	free(request->token);
	request->token = strdup(value);
	if (!request->token)
		return sonde_error(ENOMEM, "out of memory for a token");
	memset(shown, 'x', strlen(shown));
	return 0;
}

static const struct sonde_option options[] = {
    {"port", 0, "N", "this port or none; 0 = any (default: the first free one from 8080)",
     SONDE_NUMBER(AT(port), 0, 65535)},
    {"host", 0, "ADDRESS", "where others reach it; needs --token (default 127.0.0.1)", SONDE_TEXT(AT(host))},
    {"token", 0, "TOKEN", "what is asked of everybody, at least 16 characters", SONDE_BY(set_token)},
    {"no-open", 'n', NULL, "open no browser", SONDE_FLAG(AT(no_open))},
    {"no-symbols", 0, NULL, "look nothing up beyond what the recording holds", SONDE_FLAG(AT(session.no_symbols))},
    {"quiet", 'q', NULL, "say nothing but the address and errors", SONDE_FLAG(AT(quiet))},
    {0},
};

static int complain(int exit_code)
{
	fprintf(stderr, "sonde view: %s\n", sonde_error_text());
	return exit_code;
}

static int found(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	(void)option;
	if (request->file) {
		fprintf(stderr, "sonde view: one recording at a time; leave '%s' out\n", value);
		return SONDE_EXIT_USAGE;
	}
	request->file = value;
	return 0;
}

/* --- who looks at it ---------------------------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* How to reach the page from where somebody sits who came by ssh: "CLIENT PORT SERVER PORT". */
static void say_tunnel(unsigned port)
{
	char server[80] = "HOST", ssh_port[8] = "", from[80];
	const struct passwd *user = getpwuid(getuid());
	const char *connection = variable("SSH_CONNECTION");
	static const char fine[] = "0123456789abcdefABCDEF.:";
	if (!connection || sscanf(connection, "%79s %*s %79s %7s", from, server, ssh_port) < 2 ||
	    server[strspn(server, fine)] || ssh_port[strspn(ssh_port, fine)]) {
		snprintf(server, sizeof server, "HOST");
		*ssh_port = '\0';
	}
	int is_usual = !*ssh_port || strcmp(ssh_port, "22") == 0;
	printf("ssh -L %u:127.0.0.1:%u%s%s %s%s%s  # then open it where you are\n", port, port, is_usual ? "" : " -p ",
	       is_usual ? "" : ssh_port, user ? user->pw_name : "", user ? "@" : "", server);
}

/* In a session of its own, with the signals that it would have anywhere else; nobody waits for it. */
static void open_browser(const char *url)
{
	char *words[] = {"xdg-open", (char *)(uintptr_t)url, NULL};
	posix_spawn_file_actions_t streams;
	posix_spawnattr_t how;
	sigset_t none, ours;
	pid_t child;
	sigemptyset(&none);
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGCHLD);
	signal(SIGCHLD, SIG_IGN); /* the kernel buries it */
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &ours);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&streams);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&streams, fd, "/dev/null", O_RDWR, 0);
	posix_spawnp(&child, words[0], &streams, &how, words, environ);
	posix_spawn_file_actions_destroy(&streams);
	posix_spawnattr_destroy(&how);
}

static void announce(const struct request *request, const struct sonde_server *server)
{
	const char *url = sonde_server_url(server);
	int is_remote = variable("SSH_CONNECTION") != NULL;
	printf("%s\n", url);
	if (is_remote && !request->quiet && !request->host)
		say_tunnel(sonde_server_port(server));
	fflush(stdout);
	/* A browser's command line, which others can read, would have the token. */
	if (!request->no_open && !request->token && !is_remote && (variable("DISPLAY") || variable("WAYLAND_DISPLAY")))
		open_browser(url);
	else if (!request->quiet)
		fprintf(stderr, "sonde view: Ctrl-C ends it\n");
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static int serve(const struct request *request, struct sonde_session *session, const sigset_t *signals)
{
	struct sonde_server *server;
	const struct sonde_server_options wanted = {
	    .host = request->host,
	    .port = request->port == NO_PORT ? DEFAULT_PORT : (unsigned)request->port,
	    .is_fixed = request->port != NO_PORT,
	    .token = request->token,
	};
	int number, code = sonde_server_start(&server, session, &wanted);
	if (code)
		return complain(code == -ENOMEM || code == -EIO ? SONDE_EXIT_OURS : SONDE_EXIT_USAGE);
	announce(request, server);
	while (sigwait(signals, &number))
		continue;
	if (sonde_server_stop(server))
		_exit(SONDE_EXIT_OK); /* all output is flushed */
	return SONDE_EXIT_OK;
}

/* What ends us, but what we were started to ignore (nohup, jobs of scripts). */
static void block_ends(sigset_t *out)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	sigemptyset(out);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct sigaction action;
		if (sigaction(ends[i], NULL, &action) || action.sa_handler != SIG_IGN)
			sigaddset(out, ends[i]);
	}
	sigprocmask(SIG_BLOCK, out, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int view(const struct request *request)
{
	sigset_t signals;
	struct sonde_session *session;
	if (!request->quiet)
		sonde_progress_begin(
		    "sonde: reading the recording and looking up symbols; --no-symbols takes what it holds\n");
	int code = sonde_session_open(&session, request->file, &request->session);
	sonde_progress_end();
	if (code < 0)
		return complain(SONDE_EXIT_UNREADABLE);
	block_ends(&signals);
	code = serve(request, session, &signals);
	sonde_session_close(session);
	return code;
}

static int run(int argc, char **argv)
{
	char newest[PATH_MAX];
	struct request request = {.port = NO_PORT};
	struct sonde_parse parse = {.command = sonde_command_find("view"), .found = found, .context = &request};
	int code = sonde_command_parse(&parse, argc, argv);
	if (!code && !parse.done && !request.file) {
		code = sonde_output_newest(newest, sizeof newest) ? complain(SONDE_EXIT_USAGE) : 0;
		request.file = newest;
	}
	if (!code && !parse.done)
		code = view(&request);
	free(request.token);
	return code;
}

const struct sonde_command sonde_command_view = {
    .name = "view",
    .title = "look at a recording in a browser",
    .usage = "[options] [FILE]",
    .options = options,
    .examples = "sonde view\n"
		"sonde view --port 9000 --no-open app.sonde\n"
		"sonde view --host 192.0.2.7 --token $(openssl rand -hex 16) app.sonde\n",
    .run = run,
};
