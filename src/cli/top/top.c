/* top.c: `sonde top`: what a running program is doing, continuously: functions, threads, memory, I/O, the system.
 *
 * Everything is observed from outside, and nothing is injected. Even a program that we start ourselves is attached to
 * like a running one, so we may leave it running when we end. Its output would corrupt the screen, so it goes to
 * /dev/null or a file. Figures come from recordings through passes, like all others (top/feed.h, top/model.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/common/forward.h"
#include "cli/top/feed.h"
#include "cli/top/model.h"
#include "cli/top/screen.h"
#include "run/launch.h"
#include "util/error.h"
#include "util/file.h"

#define DEFAULT_EVERY_NS 2000000000u
#define LEAST_EVERY_NS 100000000u
#define DEFAULT_RATE_HZ 199 /* samples per CPU second: accurate to a few percentage points, with low overhead */
#define DEFAULT_ROWS 20
#define MOST_ROWS 10000

struct request {
	struct sonde_top_target target;
	char **command; /* NULL = attached */
	const char *output;
	uint64_t rows;
	int once, json, force;
};

#define AT(member) offsetof(struct request, member)

static const struct sonde_option options[] = {
    {SONDE_FORWARD_PID(AT(target.pid))},
    {"delay", 'd', "TIME", "interval, at least 100ms (default 2s)", SONDE_TIME(AT(target.every_ns), LEAST_EVERY_NS)},
    {"once", 0, NULL, "print one interval as text; needs no terminal", SONDE_FLAG(AT(once))},
    {"json", 0, NULL, "print one interval as JSON, with the keys below", SONDE_FLAG(AT(json))},
    {"rows", 'n', "N", "maximum rows in a table (default 20)", SONDE_NUMBER(AT(rows), 1, MOST_ROWS)},
    {"rate", 'F', "HZ", "samples per second of CPU time, 1 to 10000 (default 199)",
     SONDE_NUMBER(AT(target.rate_hz), 1, 10000)},
    {"output", 'o', "FILE", "file for the command's output (default: discarded)", SONDE_TEXT(AT(output))},
    {SONDE_FORWARD_FORCE(AT(force))},
    {"no-perf", 0, NULL, "no perf events: no functions", SONDE_FLAG(AT(target.no_perf))},
    {0},
};

static int complain(const char *what)
{
	fprintf(stderr, "sonde top: %s\n", what);
	return SONDE_EXIT_OURS;
}

/* --- the process ------------------------------------------------------------------------------------------------- */

/* Prints why a process cannot be observed, and what would help; 0 = it can. */
static int check_process(pid_t pid)
{
	char text[8192] = "", path[64];
	struct stat owner;
	int rc = kill(pid, 0) ? -errno : 0;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	if (rc == -ESRCH)
		return sonde_error(ESRCH, "no process %d", (int)pid);
	if (rc == -EPERM) { /* /proc may hide it */
		const struct passwd *user = stat(path, &owner) ? NULL : getpwuid(owner.st_uid);
		return sonde_error(EPERM, "process %d belongs to another user: run as %s, or as root", (int)pid,
				   user ? user->pw_name : "that user");
	}
	if (rc)
		return sonde_error(-rc, "cannot read process %d: %s", (int)pid, strerror(-rc));
	sonde_file_read(text, sizeof text, "/proc/%d/status", (int)pid);
	const char *group = strstr(text, "\nTgid:"), *state = strstr(text, "\nState:\tZ");
	long leader = group ? strtol(group + strlen("\nTgid:"), NULL, 10) : pid;
	if (leader != pid)
		return sonde_error(EINVAL, "%d is a thread of process %ld: sonde top -p %ld", (int)pid, leader, leader);
	return state ? sonde_error(ESRCH, "process %d has exited (a zombie: its parent has not reaped it)", (int)pid)
		     : 0;
}

/* Redirects the command's standard streams while it is forked, and restores ours afterwards. */
static int hold(struct sonde_launch *launch, int in, int out)
{
	int ours[3], to[3] = {in, out, out};
	fflush(NULL);
	for (int i = 0; i < 3; i++) {
		ours[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
		dup2(to[i], i);
	}
	int rc = sonde_launch_hold(launch);
	for (int i = 0; i < 3; i++) {
		if (ours[i] < 0) {
			close(i);
			continue;
		}
		dup2(ours[i], i);
		close(ours[i]);
	}
	return rc;
}

/* Starts the command; it is held until recording has started. */
static int start(struct request *request, struct sonde_launch *launch)
{
	struct sonde_output out = {0};
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	int in = nowhere < 0 ? -1 : fcntl(nowhere, F_DUPFD_CLOEXEC, 3); /* a standard stream may be closed */
	int rc = in < 0 ? sonde_error(errno, "/dev/null: %s", strerror(errno)) : 0;
	if (nowhere >= 0)
		close(nowhere);
	if (!rc && request->output && strcmp(request->output, "/dev/null") != 0)
		rc = sonde_output_open(&out, request->output, request->force);
	rc = rc ? -EIO : sonde_launch_init(launch, request->command); /* from here on, errors concern the command */
	rc = rc ? rc : hold(launch, in, out.file ? fileno(out.file) : in);
	if (!rc)
		/* signals from the terminal must reach only the screen, not the command */
		setpgid(launch->pid, launch->pid);
	request->target.pid = launch->pid;
	request->target.held = launch;
	if (out.file && out.file != stdout)
		sonde_output_close(&out, rc);
	if (in >= 0)
		close(in);
	return rc;
}

/* --- a single interval ------------------------------------------------------------------------------------------- */

static int show(const struct request *request, struct sonde_session *session, int ended)
{
	struct sonde_top_model model;
	struct sonde_format_options style;
	const struct sonde_top_ask ask = {.limit = (size_t)request->rows};
	int rc = sonde_top_model_make(&model, session, &ask);
	if (rc)
		return rc;
	if (ended)
		sonde_report_note(model.report, NULL, 1, "process %d exited before the interval ended",
				  (int)request->target.pid);
	sonde_output_style(&style, stdout);
	rc = sonde_format_find(request->json ? "json" : "text")->render(model.report, &style, stdout);
	sonde_top_model_fini(&model);
	return rc;
}

/* Returns the exit code of the command if it has exited; otherwise the command continues. */
static int leave(const struct request *request)
{
	int status = -1;
	if (!request->command)
		return SONDE_EXIT_OK;
	if (waitpid(request->target.pid, &status, WNOHANG) == request->target.pid)
		return sonde_forward(status);
	if (sonde_top_screen_is_hung_up()) { /* the command has its own process group, so nobody else notifies it */
		kill(-request->target.pid, SIGHUP);
		kill(-request->target.pid, SIGCONT);
		return SONDE_EXIT_OK;
	}
	fprintf(stderr, "sonde top: '%s' keeps running as process %d (kill %d ends it)\n", request->command[0],
		(int)request->target.pid, (int)request->target.pid);
	return SONDE_EXIT_OK;
}

/* Returns the exit code; if the command could not be run, the code that a shell would return. */
static int end(const struct request *request, int rc)
{
	const struct sonde_record_options failed = {.command = request->command};
	if (rc && request->command && (rc == -ENOENT || rc == -EACCES))
		return sonde_forward_failure("top", &failed, rc);
	if (rc)
		complain(sonde_error_text());
	int code = leave(request);
	return rc && !code ? SONDE_EXIT_OURS : code;
}

static int once(const struct request *request)
{
	struct sonde_output out = {.file = stdout};
	struct sonde_session *session;
	int ended = 0;
	int rc = sonde_top_feed_once(&request->target, &session, &ended);
	if (!rc) {
		rc = show(request, session, ended);
		sonde_session_close(session);
	}
	return end(request, sonde_output_close(&out, rc));
}

/* --- the screen -------------------------------------------------------------------------------------------------- */

static int watch(const struct request *request)
{
	return end(request, sonde_top_screen_run(&request->target));
}

static int run(int argc, char **argv)
{
	struct request request = {.target = {.every_ns = DEFAULT_EVERY_NS, .rate_hz = DEFAULT_RATE_HZ},
				  .rows = DEFAULT_ROWS};
	struct sonde_parse parse = {.command = sonde_command_find("top"), .context = &request};
	int code = sonde_forward_parse(&parse, argc, argv, &request.command, &request.target.pid);
	if (code >= 0)
		return code;
	if (request.output && !request.command)
		return complain("-o is for the output of a command; a running process keeps its own");
	request.once |= request.json;
	if (!request.once && sonde_top_screen_check())
		return complain(sonde_error_text());
	const struct sonde_record_options failed = {.command = request.command};
	struct sonde_launch launch = {.release_fd = -1, .error_fd = -1};
	int rc = request.command ? start(&request, &launch) : check_process(request.target.pid);
	if (rc)
		code = sonde_forward_failure("top", &failed, rc);
	else
		code = request.once ? once(&request) : watch(&request);
	sonde_launch_fini(&launch);
	return code;
}

const struct sonde_command sonde_command_top = {
    .name = "top",
    .title = "show live functions, threads, memory and I/O of a program",
    .usage = "[options] [--] COMMAND [ARGUMENT…]",
    .options = options,
    .examples = "sonde top -p 4711\n"
		"sonde top -p 4711 --once --json\n"
		"sonde top -d 5 -- ./server",
    .run = run,
    .glossary = "Keys of --json: rows of sections, by id; ns, bytes, ratios\n"
		"functions.self_share\tshare of CPU time in the function itself\n"
		"functions.total_share\tshare of CPU time in the function and its callees\n"
		"functions.self_ns\tCPU time in the function itself\n"
		"functions.function\tits name\n"
		"functions.module\tits module\n"
		"functions.file\tits source file\n"
		"functions.line\tits source line\n"
		"threads.tid\tthread id\n"
		"threads.on_cpu_share\tshare of its time on a CPU\n"
		"threads.runnable_share\tshare of its time waiting for a CPU\n"
		"threads.blocked_share\tshare of its time blocked\n"
		"threads.unseen_share\tshare of its time that is unknown\n"
		"threads.time_ns\tCPU time since its start\n"
		"threads.voluntary_switches\tvoluntary context switches\n"
		"threads.involuntary_switches\tinvoluntary context switches\n"
		"threads.pid\tits process\n"
		"threads.thread\tits name\n"
		"processes.pid\tprocess id; null: all processes together\n"
		"processes.cpu_utilization\tCPU time ÷ wall time; 1 = one core\n"
		"processes.time_ns\tCPU time since its start\n"
		"processes.rss_b\tRSS at the last reading\n"
		"processes.peak_rss_b\tpeak RSS, from the kernel\n"
		"processes.threads\tthreads at the last reading\n"
		"processes.files\tfile descriptors\n"
		"processes.read_b_per_s\tbytes read from storage per second\n"
		"processes.written_b_per_s\tbytes written to storage per second\n"
		"processes.read_all_b_per_s\tbytes read by system calls, from anywhere, per second\n"
		"processes.written_all_b_per_s\tbytes written by system calls, to anywhere, per second\n"
		"processes.faults_minor\tpage faults without I/O\n"
		"processes.process\tits command\n"
		"machine.what\tresource used or waited for\n"
		"machine.object\tdisk or other instance\n"
		"machine.mean\tmean utilisation of the interval\n"
		"machine.max\tmaximum over one polling interval\n"
		"machine.min\tminimum\n"
		"machine.whole\tthe amount that is 100 %\n"
		"machine-io.kind\tdisk or network\n"
		"machine-io.name\tits name\n"
		"machine-io.in_b\tbytes read or received\n"
		"machine-io.out_b\tbytes written or sent\n"
		"machine-io.in_per_s_b\tread or received per second\n"
		"machine-io.out_per_s_b\twritten or sent per second\n"
		"machine-io.in_per_s_max_b\tmaximum over one polling interval\n"
		"machine-io.out_per_s_max_b\tmaximum over one polling interval\n",
};
