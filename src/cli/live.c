/* live.c: `sonde live`: records a command or a running process, and shows it in a browser while it runs.
 *
 * There are two processes. The recorder is the command's parent and does what `sonde record` does: the command's
 * streams, exit code and signals are unaffected, and serving costs no samples. The other process, this one, serves the
 * page from the recorder's growing file, forwards signals meant for the command, and exits the way the command does.
 * The port is bound first, so that nothing is run if it is taken. The address is printed on standard error, because the
 * standard output belongs to the command. Rejected: a single process, in which computing answers would delay the
 * draining of buffers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/common/browse.h"
#include "cli/common/command.h"
#include "cli/live_recorder.h"
#include "cli/common/forward.h"
#include "cli/common/recording.h"
#include "session/session.h"
#include "util/error.h"
#include "util/file.h"

#define FLUSH_NS 180000000u     /* events reach the file after this time */
#define TICK_NS 125000000u      /* polling interval while a page is open */
#define IDLE_TICK_NS 500000000u /* polling interval otherwise */
#define ALONE_NS 10000000000u   /* how long we wait for a page after the run, if nobody can press Ctrl-C */

struct request {
	struct sonde_recording recording; /* must be first: common/recording.h */
	struct sonde_browse browse;
	int once;
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
    {"once", 0, NULL, "exit when the command exits, even with a page open", SONDE_FLAG(AT(once))},
#include "cli/common/recording.def"
    {0},
};

struct live {
	struct request *request;
	struct sonde_live_recorder recorder;
	struct sonde_server *server;
	struct sonde_session *session; /* until the server starts and takes it over */
	sigset_t caught, before;
	int has_begun;              /* the server has started */
	int is_told_to_end;         /* a signal asked us to end everything */
	uint64_t ended_ns, seen_ns; /* when the run ended, and when a page was last open */
};

static int quiet(const struct live *live)
{
	return live->request->recording.options.quiet;
}

/* --- signals ----------------------------------------------------------------------------------------------------- */

/* Blocks SIGCHLD and the signals that would end us, except those that were ignored from the start. */
static void block(struct live *live)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};
	sonde_browse_block(&live->caught, numbers, sizeof numbers / sizeof *numbers, &live->before);
	sigaddset(&live->caught, SIGCHLD);
	sigprocmask(SIG_BLOCK, &live->caught, NULL);
}

static int asks_to_end(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* During the run, signals are meant for the command: those from the terminal go to the whole process group, so the
 * command got them, too; all others came only to us and are forwarded. */
static void take_signal(struct live *live, const siginfo_t *info)
{
	if (info->si_signo == SIGCHLD || info->si_signo == SIGPIPE)
		return;
	if (live->recorder.has_ended) {
		live->is_told_to_end |= asks_to_end(info->si_signo);
		return;
	}
	/* Forward SIGHUP from the kernel, too, if we lead the session: the kernel reports a closed terminal to the
	 * leader only. */
	if (info->si_code != SI_KERNEL || (info->si_signo == SIGHUP && getsid(0) == getpid()))
		kill(live->recorder.pid, info->si_signo);
	if (info->si_code != SI_KERNEL || info->si_signo == SIGHUP)
		live->is_told_to_end |= asks_to_end(info->si_signo) && info->si_signo != SIGINT;
}

/* Waits for a signal, or until the next poll is due. */
static void wait_a_little(struct live *live, uint64_t most_ns)
{
	siginfo_t info;
	const struct timespec time = {.tv_sec = (time_t)(most_ns / 1000000000u),
				      .tv_nsec = (long)(most_ns % 1000000000u)};
	if (sigtimedwait(&live->caught, &info, &time) > 0)
		take_signal(live, &info);
}

/* --- end of the run ---------------------------------------------------------------------------------------------- */

/* True if a process is running; a zombie does not count as running. */
static int is_running(pid_t pid)
{
	char line[512];
	sonde_file_read(line, sizeof line, "/proc/%d/stat", pid);
	const char *name_end = strrchr(line, ')');
	char state = name_end && name_end[1] ? name_end[2] : 'X';
	return state != 'Z' && state != 'X';
}

/* Describes how an attached process ended. Its exit status is unknown, since it is not our child. */
static void describe_left(pid_t pid, char *out, size_t out_b)
{
	if (is_running(pid))
		snprintf(out, out_b, "Recording has ended; process %d keeps running.", pid);
	else
		snprintf(out, out_b, "Process %d has exited (only its parent gets the exit code).", pid);
}

static void describe_end(const struct live *live, char *out, size_t out_b)
{
	const struct sonde_live_recorder *recorder = &live->recorder;
	int status = recorder->result.status;
	if (recorder->signal)
		snprintf(out, out_b, "The recorder was killed by signal %d (%s); what it had written is shown.",
			 recorder->signal, strsignal(recorder->signal));
	else if (!recorder->has_told)
		snprintf(out, out_b, "The recorder died without an error message; what it had written is shown.");
	else if (recorder->result.error)
		snprintf(out, out_b, "Recording failed (%s); what had been written is shown.", recorder->error);
	else if (status == -1)
		describe_left(recorder->options->attach, out, out_b);
	else if (WIFSIGNALED(status))
		snprintf(out, out_b, "The command was killed by signal %d (%s).", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(out, out_b, "The command ended with exit code %d.", WEXITSTATUS(status));
}

static void say_end(struct live *live, const char *sentence)
{
	const struct sonde_live_recorder *recorder = &live->recorder;
	const struct sonde_record_options *record = recorder->options;
	if (recorder->has_told && recorder->error[0])
		sonde_error(EIO, "%s", recorder->error); /* pass on the recorder's message */
	if (recorder->has_told)
		sonde_recording_say(record, &recorder->result, "live");
	else
		fprintf(stderr, "sonde live: %s (%s)\n", sentence, record->output);
}

static int exit_code(const struct live *live)
{
	const struct sonde_live_recorder *recorder = &live->recorder;
	if (!recorder->has_told || (recorder->result.error && recorder->result.status == -1))
		return SONDE_EXIT_OURS;
	sigprocmask(SIG_SETMASK, &live->before, NULL);
	return sonde_forward(recorder->result.status);
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static void announce(struct live *live)
{
	if (!sonde_browse_announce(&live->request->browse, live->server, stderr, quiet(live)) && !quiet(live))
		fprintf(stderr, "sonde live: open it in a browser; the command is already running\n");
}

/* Starts serving once the file has its name and its header. */
static int try_begin(struct live *live)
{
	const struct sonde_session_options growing = {.growing = !live->recorder.has_ended};
	if (!sonde_live_recorder_has_file(&live->recorder) ||
	    sonde_session_open(&live->session, live->recorder.options->output, &growing))
		return 0;
	int rc = sonde_server_begin(live->server, live->session, 1);
	if (rc)
		return rc;
	live->has_begun = 1;
	announce(live);
	return 0;
}

/* True if we go on serving after the run. */
static int goes_on(const struct live *live, size_t pages)
{
	if (live->is_told_to_end || live->request->once || !live->has_begun)
		return 0;
	return pages || isatty(STDERR_FILENO) || sonde_clock_now_ns() - live->seen_ns < ALONE_NS;
}

static void say_waiting(const struct live *live)
{
	if (quiet(live) || !live->has_begun || live->is_told_to_end || live->request->once)
		return;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "sonde live: the page stays up until Ctrl-C\n");
	else
		fprintf(stderr, "sonde live: the page stays up while a browser shows it\n");
}

static void end_run(struct live *live)
{
	char sentence[600];
	describe_end(live, sentence, sizeof sentence);
	live->ended_ns = live->seen_ns = sonde_clock_now_ns();
	say_end(live, sentence);
	if (live->has_begun)
		sonde_server_end(live->server, sentence);
	say_waiting(live);
}

/* Serves the page during the run, and after it as long as goes_on(). 0, or a negative errno: the page cannot be
 * served. */
static int watch(struct live *live)
{
	int rc = 0;
	for (;;) {
		size_t pages = live->has_begun ? sonde_server_tick(live->server) : 0;
		if (pages)
			live->seen_ns = sonde_clock_now_ns();
		if (!live->ended_ns && sonde_live_recorder_look(&live->recorder)) {
			if (live->recorder.rc)
				return 0;
			rc = live->has_begun ? 0 : try_begin(live); /* serve short runs, too */
			end_run(live);
		}
		if (live->ended_ns && !goes_on(live, pages))
			return rc;
		if (!live->has_begun && !live->ended_ns && (rc = try_begin(live)))
			return rc;
		wait_a_little(live, pages || !live->has_begun ? TICK_NS : IDLE_TICK_NS);
	}
}

/* Called in the recorder: drops its copy of the server and the socket, which belong to the other process. */
static void forget(void *context)
{
	sonde_server_drop(context);
}

static int finish(struct live *live)
{
	int rc = live->recorder.rc, stopped = 0;
	sonde_browse_fini(&live->request->browse); /* first, since exit_code() may kill us */
	if (live->has_begun)
		stopped = sonde_server_stop(live->server);
	else
		sonde_server_drop(live->server);
	if (rc) {
		sonde_error(-rc, "%s", live->recorder.error);
		return sonde_forward_failure("live", live->recorder.options, rc);
	}
	int code = exit_code(live);
	if (stopped)
		_exit(code); /* an answer is still being computed; all output is flushed */
	return code;
}

/* Called if the page cannot be shown: reports it, and waits for the end of the recording, which continues. */
static void record_only(struct live *live)
{
	fprintf(stderr, "sonde live: %s; recording goes on without the page\n", sonde_error_text());
	if (live->ended_ns)
		return;
	while (!sonde_live_recorder_look(&live->recorder))
		wait_a_little(live, IDLE_TICK_NS);
	end_run(live);
}

static int show(struct request *request)
{
	struct live live = {.request = request};
	int rc = sonde_browse_make_token(&request->browse);
	const struct sonde_server_options wanted = sonde_browse_server(&request->browse);
	rc = rc ? rc : sonde_server_open(&live.server, &wanted);
	if (rc)
		return sonde_command_complain("live", SONDE_EXIT_OURS);
	block(&live);
	rc = sonde_live_recorder_start(&live.recorder, &request->recording.options, &live.before, forget, live.server);
	if (rc) {
		sonde_server_drop(live.server);
		return sonde_command_complain("live", SONDE_EXIT_OURS);
	}
	if (watch(&live))
		record_only(&live);
	return finish(&live);
}

static int run(int argc, char **argv)
{
	struct request request = {.once = 0};
	struct sonde_record_options *record = &request.recording.options;
	struct sonde_parse parse = {.command = sonde_command_find("live"), .context = &request};
	sonde_recording_init(&request.recording);
	sonde_browse_init(&request.browse);
	record->flush_every_ns = FLUSH_NS;
	int code = sonde_forward_parse(&parse, argc, argv, &record->command, &record->attach);
	if (code < 0)
		code = sonde_recording_check(&request.recording, "live");
	else
		return code;
	if (!code) {
		sonde_recording_name(&request.recording);
		code = show(&request);
	}
	sonde_browse_fini(&request.browse);
	return code;
}

const struct sonde_command sonde_command_live = {
    .name = "live",
    .title = "record a command or process and watch it in a browser",
    .usage = "[options] [--] COMMAND [ARGUMENT…]",
    .options = options,
    .examples = "sonde live -- ./app\n"
		"sonde live --threads -o run.sonde -- ./server\n"
		"sonde live -p 4711 --port 9000 --no-open\n",
    .manual = sonde_recording_manual,
    .run = run,
};
