/* browse.c: where the page is served, who is told of it, and who opens it (browse.h). */
#include "cli/browse.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"

#define DEFAULT_PORT 8080
#define NO_PORT UINT64_MAX

void sonde_browse_init(struct sonde_browse *browse)
{
	*browse = (struct sonde_browse){.port = NO_PORT};
}

void sonde_browse_fini(struct sonde_browse *browse)
{
	free(browse->token);
	browse->token = NULL;
}

int sonde_browse_take_token(struct sonde_browse *browse, const char *value)
{
	char *shown = (char *)(uintptr_t)value;
	free(browse->token);
	browse->token = strdup(value);
	if (!browse->token)
		return sonde_error(ENOMEM, "out of memory for a token");
	memset(shown, 'x', strlen(shown));
	return 0;
}

struct sonde_server_options sonde_browse_server(const struct sonde_browse *browse)
{
	return (struct sonde_server_options){
	    .host = browse->host,
	    .port = browse->port == NO_PORT ? DEFAULT_PORT : (unsigned)browse->port,
	    .is_fixed = browse->port != NO_PORT,
	    .token = browse->token,
	};
}

int sonde_browse_code(int rc)
{
	return rc == -ENOMEM || rc == -EIO ? SONDE_EXIT_OURS : SONDE_EXIT_USAGE;
}

/* --- who looks at it ---------------------------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* How to reach the page from where somebody sits who came by ssh: "CLIENT PORT SERVER PORT". */
static void say_tunnel(FILE *out, unsigned port)
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
	fprintf(out, "ssh -L %u:127.0.0.1:%u%s%s %s%s%s  # then open it where you are\n", port, port,
		is_usual ? "" : " -p ", is_usual ? "" : ssh_port, user ? user->pw_name : "", user ? "@" : "", server);
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

int sonde_browse_announce(const struct sonde_browse *browse, const struct sonde_server *server, FILE *out, int quiet)
{
	const char *url = sonde_server_url(server);
	int is_remote = variable("SSH_CONNECTION") != NULL;
	fprintf(out, "%s\n", url);
	if (is_remote && !quiet && !browse->host)
		say_tunnel(out, sonde_server_port(server));
	fflush(out);
	/* A browser's command line, which others can read, would have the token. */
	if (browse->no_open || browse->token || is_remote || !(variable("DISPLAY") || variable("WAYLAND_DISPLAY")))
		return 0;
	open_browser(url);
	return 1;
}

void sonde_browse_block(sigset_t *out)
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
