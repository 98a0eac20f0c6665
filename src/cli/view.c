/* view.c: `sonde view`: serves a recording as a web page from this machine.
 *
 * The page is served until a signal arrives; signals are blocked before any thread starts, and received here. A pass
 * that is being computed when the signal arrives cannot be interrupted. Nothing that it does outlives the process, so
 * the process simply exits.
 */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/common/browse.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/reading.h"
#include "serve/server.h"
#include "session/session.h"

struct request {
	struct sonde_browse browse;
	const char *files[2]; /* one recording, or two to compare */
	int count;
	int quiet;
	struct sonde_session_options session;
};

#define AT(member) offsetof(struct request, member)

static int set_token(void *context, const char *value)
{
	return sonde_browse_take_token(&((struct request *)context)->browse, value);
}

static const struct sonde_option options[] = {
    {SONDE_BROWSE_PORT(AT(browse.port))},
    {SONDE_BROWSE_HOST(AT(browse.host))},
    {SONDE_BROWSE_TOKEN(set_token)},
    {SONDE_BROWSE_NO_TOKEN(AT(browse.no_token))},
    {SONDE_BROWSE_NO_OPEN(AT(browse.no_open))},
    {"no-symbols", 0, NULL, "use only the symbols in the recording", SONDE_FLAG(AT(session.no_symbols))},
    {"quiet", 'q', NULL, "print only the address and errors", SONDE_FLAG(AT(quiet))},
    {0},
};

static int found(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	(void)option;
	if (request->count == 2)
		return sonde_command_wrong("view", "one recording, or two to compare; leave '%s' out", value);
	request->files[request->count++] = value;
	return 0;
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static int serve(struct request *request, struct sonde_session *const sessions[2], const sigset_t *signals)
{
	struct sonde_server *server;
	int number, code = sonde_browse_make_token(&request->browse);
	struct sonde_server_options wanted = sonde_browse_server(&request->browse);
	wanted.candidate = sessions[1];
	code = code ? code : sonde_server_start(&server, sessions[0], &wanted);
	if (code)
		return sonde_command_complain("view", sonde_browse_code(code));
	if (!sonde_browse_announce(&request->browse, server, stdout, request->quiet) && !request->quiet)
		fprintf(stderr, "sonde view: Ctrl-C stops it\n");
	while (sigwait(signals, &number))
		continue;
	sonde_browse_fini(&request->browse);
	if (sonde_server_stop(server))
		_exit(SONDE_EXIT_OK); /* all output was flushed */
	return SONDE_EXIT_OK;
}

static int view(struct request *request)
{
	sigset_t signals;
	struct sonde_session *sessions[2] = {NULL};
	int code = 0;
	if (!request->quiet)
		sonde_progress_begin(
		    "sonde: reading the recording and looking up symbols; --no-symbols skips the lookup\n");
	for (int i = 0; i < request->count && code >= 0; i++)
		code = sonde_reading_open(&sessions[i], request->files[i], &request->session);
	sonde_progress_end();
	if (code < 0) {
		code = sonde_command_complain("view", SONDE_EXIT_UNREADABLE);
	} else {
		static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
		sonde_browse_block(&signals, ends, sizeof ends / sizeof *ends, NULL);
		signal(SIGPIPE, SIG_IGN);
		code = serve(request, sessions, &signals);
	}
	for (int i = 0; i < 2; i++)
		if (sessions[i])
			sonde_session_close(sessions[i]);
	return code;
}

static int run(int argc, char **argv)
{
	char newest[PATH_MAX];
	struct request request = {0};
	struct sonde_parse parse = {.command = sonde_command_find("view"), .found = found, .context = &request};
	sonde_browse_init(&request.browse);
	int code = sonde_command_parse(&parse, argc, argv);
	if (!code && !parse.done && !request.count) {
		code =
		    sonde_output_newest(newest, sizeof newest) ? sonde_command_complain("view", SONDE_EXIT_USAGE) : 0;
		request.files[request.count++] = newest;
	}
	if (!code && !parse.done)
		code = view(&request);
	sonde_browse_fini(&request.browse);
	return code;
}

const struct sonde_command sonde_command_view = {
    .name = "view",
    .title = "show a recording, or compare two, in a browser",
    .usage = "[options] [FILE] | BASELINE CANDIDATE",
    .options = options,
    .examples = "sonde view\n"
		"sonde view before.sonde after.sonde\n"
		"sonde view --port 9000 --no-open app.sonde\n"
		"sonde view --host 192.0.2.7 app.sonde     prints a link with a token\n",
    .run = run,
};
