/* browse.c: announces the URL of the page and opens a browser (common/browse.h). */
#include "cli/common/browse.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/error.h"

#define DEFAULT_PORT 8080
#define NO_PORT UINT64_MAX

enum { TOKEN_B = 16 };

void sonde_browse_init(struct sonde_browse *browse)
{
	*browse = (struct sonde_browse){.port = NO_PORT};
}

void sonde_browse_fini(struct sonde_browse *browse)
{
	if (browse->opener && browse->opener_of == getpid())
		unlink(browse->opener);
	free(browse->opener);
	free(browse->token);
	browse->token = browse->opener = NULL;
}

int sonde_browse_make_token(struct sonde_browse *browse)
{
	uint8_t random[TOKEN_B];
	if (browse->token || browse->no_token)
		return 0;
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return sonde_error(EIO, "the kernel gave no random numbers for a token: %s", strerror(errno));
	browse->token = malloc(2 * sizeof random + 1);
	if (!browse->token)
		return sonde_error(ENOMEM, "out of memory for a token");
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(browse->token + 2 * i, 3, "%02x", random[i]);
	return 0;
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

/* --- opening a browser -------------------------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* Explains how to reach the page from the other end of an ssh connection, whose variable is "CLIENT PORT SERVER
 * PORT". */
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

/* Executes the browser's starter in a session of its own, with default signal dispositions. Only returns on failure. */
static void exec_browser(const char *where)
{
	static const int ours[] = {SIGPIPE, SIGCHLD};
	char *words[] = {"xdg-open", (char *)(uintptr_t)where, NULL};
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		signal(ours[i], SIG_DFL);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	setsid();
	execvp(words[0], words);
}

/* Starts a browser and does not wait for it. The browser is a grandchild, so that init reaps it. Ignoring SIGCHLD
 * instead would also hide the end of the recorder, for which `sonde live` waits. */
static void open_browser(const char *where)
{
	pid_t child = fork();
	if (!child) {
		if (!fork())
			exec_browser(where);
		_exit(0);
	}
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			continue;
}

/* All users can read a browser's command line, so the browser is given a private file that redirects to the link with
 * the token. The file is in the home folder, because sandboxed browsers see no other folder, and is removed when the
 * command ends. Returns NULL if it could not be created. */
static const char *opener_make(struct sonde_browse *browse, const char *url)
{
	const char *home = variable("HOME");
	if (asprintf(&browse->opener, "%s/sonde-view-XXXXXX.html", home ? home : "/tmp") < 0)
		return browse->opener = NULL;
	int fd = mkostemps(browse->opener, 5, O_CLOEXEC); /* mode 0600 */
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		if (fd >= 0)
			close(fd);
		free(browse->opener);
		return browse->opener = NULL;
	}
	browse->opener_of = getpid();
	fprintf(file,
		"<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\n"
		"<meta http-equiv=refresh content=\"0;url=%s\"><a href=\"%s\">sonde</a>\n",
		url, url);
	fclose(file);
	return browse->opener;
}

int sonde_browse_announce(struct sonde_browse *browse, const struct sonde_server *server, FILE *out, int quiet)
{
	const char *url = sonde_server_url(server);
	int is_remote = variable("SSH_CONNECTION") != NULL;
	fprintf(out, "%s\n", url);
	if (is_remote && !quiet && !browse->host)
		say_tunnel(out, sonde_server_port(server));
	fflush(out);
	if (browse->no_open || is_remote || !(variable("DISPLAY") || variable("WAYLAND_DISPLAY")))
		return 0;
	const char *where = browse->token ? opener_make(browse, url) : url;
	if (where)
		open_browser(where);
	return where != NULL;
}

void sonde_browse_block(sigset_t *out, const int *numbers, size_t count, sigset_t *before)
{
	sigemptyset(out);
	for (size_t i = 0; i < count; i++) {
		struct sigaction action;
		if (sigaction(numbers[i], NULL, &action) || action.sa_handler != SIG_IGN)
			sigaddset(out, numbers[i]);
	}
	sigprocmask(SIG_BLOCK, out, before);
}
