/* stat.c: `sonde stat`: runs a command, or polls a running process, and reports what it used.
 *
 * Readings are recorded like everything else, into an unnamed file (or one that --record names), and the figures come
 * from there. Nothing is injected into the program, and nothing is written to its standard output: the table goes to
 * standard error or a file, which is opened before the program starts. Exit codes are the program's (common/forward.h),
 * except 125 if it succeeded but its figures could not be written.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/pass.h"
#include "analyze/resource/stat_figures.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/common/forward.h"
#include "cli/stat/show.h"
#include "run/redacted.h"
#include "run/shell.h"
#include "run/signals.h"
#include "source/supervise.h"
#include "util/error.h"

#define PROCESSES_SHOWN 10
#define MOST_RUNS 10000

struct request {
	struct sonde_record_options options;
	const char *output, *prepare;
	uint64_t repeat, warmup;
	int json, quiet, devices;
	int fd; /* of the unnamed file; −1 = the file has a name */
	struct sonde_output out;
	struct sonde_stat_runs runs;
};

#define AT(member) offsetof(struct request, member)

static const struct sonde_option options[] = {
    {"output", 'o', "FILE", "output file (default: standard error)", SONDE_TEXT(AT(output))},
    {"json", 0, NULL, "print JSON, with the keys below", SONDE_FLAG(AT(json))},
    {"repeat", 'r', "N", "run N times: mean, 95 % interval, outliers", SONDE_NUMBER(AT(repeat), 1, MOST_RUNS)},
    {"warmup", 'w', "N", "warm-up runs before the measured ones", SONDE_NUMBER(AT(warmup), 0, MOST_RUNS)},
    {"prepare", 0, "COMMAND", "run this shell line before each run, untimed", SONDE_TEXT(AT(prepare))},
    {"interval", 'i', "TIME", "polling interval, at least 10ms (default 100ms)",
     SONDE_TIME(AT(options.resources_every_ns), SONDE_FORWARD_LEAST_INTERVAL_NS)},
    {SONDE_FORWARD_PID(AT(options.attach))},
    {SONDE_FORWARD_DURATION(AT(options.duration_ns))},
    {"flop", 0, NULL, "count FLOP with hardware counters", SONDE_FLAG(AT(options.flop))},
    {"gpu", 0, NULL, "utilisation and memory of NVIDIA GPUs, from their driver", SONDE_FLAG(AT(devices))},
    {"record", 0, "FILE", "keep the recording (sonde report FILE)", SONDE_TEXT(AT(options.output))},
    {SONDE_FORWARD_KEEP_ARGUMENTS(AT(options.keep_arguments))},
    {SONDE_FORWARD_FORCE(AT(options.overwrite))},
    {"quiet", 'q', NULL, "print only the last line", SONDE_FLAG(AT(quiet))},
    {0},
};

static int complain(const char *what)
{
	fprintf(stderr, "sonde stat: %s\n", what);
	return SONDE_EXIT_OURS;
}

static int is_repeated(const struct request *request)
{
	return request->repeat > 1 || request->warmup;
}

static int check(const struct request *request)
{
	const struct sonde_record_options *record = &request->options;
	if (record->attach && (request->repeat || request->warmup || request->prepare))
		return complain("--repeat, --warmup and --prepare need a command: a running process is measured once");
	if (record->output && is_repeated(request))
		return complain(
		    "--record keeps one recording, but several would be made: leave --repeat and --warmup out");
	if (record->output && !strcmp(record->output, "-"))
		return complain("--record -: a recording is a file, not a stream: name a file");
	if (request->output && !strcmp(request->output, "-"))
		return complain("-o -: the program writes to standard output: name a file, or leave -o out");
	return 0;
}

/* --- the recording ----------------------------------------------------------------------------------------------- */

static int open_output(struct request *request)
{
	int rc = sonde_output_open(&request->out, request->output, request->options.overwrite);
	if (!rc && !request->output)
		request->out.file = stderr;
	return rc;
}

static int record(struct request *request, struct sonde_supervise_result *result)
{
	struct sonde_record_options *recording = &request->options;
	int rc = request->prepare ? sonde_shell_prepare(request->prepare) : 0;
	if (!rc && request->prepare && sonde_signals_quits())
		rc = sonde_error(EINTR, "interrupted in --prepare: the command was not run");
	recording->gpu = request->devices ? SONDE_GPU_KERNELS : 0;
	recording->only_resources = recording->no_perf = recording->no_inject = recording->no_symbols =
	    recording->quiet = 1;
	if (!rc && (!recording->output || recording->output_fd)) {
		request->fd = sonde_output_nameless("sonde-stat");
		rc = request->fd < 0 ? request->fd : 0;
		recording->output = "what was read";
		recording->output_fd = request->fd;
	}
	if (rc) {
		complain(sonde_error_text());
		return SONDE_EXIT_OURS;
	}
	rc = sonde_supervise(recording, result);
	return rc ? sonde_forward_failure("stat", recording, rc) : 0;
}

/* --- output ------------------------------------------------------------------------------------------------------ */

static int show_all(struct request *request, struct sonde_session *session, const struct sonde_stat_show *show,
		    struct sonde_report *report)
{
	static const struct sonde_pass_options shown = {.limit = PROCESSES_SHOWN};
	const struct sonde_pass *resources = sonde_pass_find("resources");
	struct sonde_format_options style;
	struct sonde_stat_show all = *show;
	FILE *out = request->out.file;
	sonde_output_style(&style, out);
	if (!request->json && !request->quiet) {
		int rc = sonde_pass_run(session, &resources, 1, &shown, report);
		if (rc)
			return rc;
	}
	all.report = report;
	if (request->json)
		sonde_stat_json(&all, out);
	else if (request->quiet)
		sonde_stat_summary(&all, &style, out);
	else
		sonde_stat_text(&all, &style, out);
	return 0;
}

/* Uses the figures of a finished run: prints them; or, for repeated runs, keeps only the figures. */
static int use(struct request *request, struct sonde_session *session, const struct sonde_stat_show *show)
{
	struct sonde_report *report = NULL;
	if (is_repeated(request))
		return sonde_stat_runs_add(&request->runs, show->figures, show->status);
	int rc = sonde_report_new(&report);
	rc = rc ? rc : show_all(request, session, show, report);
	sonde_report_free(report);
	return rc;
}

static int read_figures(struct request *request, const struct sonde_supervise_result *result, const char *error)
{
	struct sonde_session *session;
	struct sonde_series_sums sums;
	struct sonde_stat_figures figures;
	const struct sonde_session_options opening = {.no_symbols = 1, .fd = request->fd >= 0 ? request->fd : 0};
	int rc = sonde_session_open(&session, request->options.output, &opening);
	if (rc)
		return rc;
	rc = sonde_series_sums_read(&sums, session, NULL);
	if (!rc) {
		const char *command = sonde_session_info(session, "run.command");
		struct sonde_stat_show show = {.sums = &sums,
					       .figures = &figures,
					       .command = command ? command : "",
					       .status = result->status,
					       .attached = request->options.attach,
					       .error = error};
		sonde_stat_figures_of(&figures, &sums);
		if (!sonde_session_run(session)->closed) /* the file is incomplete */
			figures.cell[SONDE_STAT_WALL] = sonde_cell_int(result->wall_ns);
		rc = use(request, session, &show);
	}
	sonde_series_sums_fini(&sums);
	sonde_session_close(session);
	return rc;
}

/* Returns the exit code. If the program succeeded but its figures were lost, the code must report our failure; if the
 * program failed, the code must be the program's. */
static int finish(struct request *request, int rc, int status)
{
	rc = sonde_output_close(&request->out, rc);
	if (rc)
		complain(sonde_error_text());
	int code = sonde_forward(status);
	return rc && !code ? SONDE_EXIT_OURS : code;
}

static int once(struct request *request)
{
	struct sonde_supervise_result result;
	char error[512] = "";
	int code = record(request, &result);
	if (code) {
		sonde_output_close(&request->out, -EIO);
		return code;
	}
	if (result.error)
		snprintf(error, sizeof error, "%s: the figures cover only what was read before", sonde_error_text());
	return finish(request, read_figures(request, &result, *error ? error : NULL), result.status);
}

/* --- several runs ------------------------------------------------------------------------------------------------ */

static void show_runs(struct request *request, const char *error)
{
	char command[4096] = "";
	size_t used = 0;
	int is_kept = request->options.keep_arguments;
	char **redacted = is_kept ? NULL : sonde_redacted_words(request->options.command, NULL);
	char **words = is_kept ? request->options.command : redacted; /* NULL = no memory */
	for (char **word = words; word && *word && used < sizeof command; word++)
		used += (size_t)snprintf(command + used, sizeof command - used, "%s%s", used ? " " : "", *word);
	free(redacted);
	const struct sonde_stat_show show = {
	    .runs = &request->runs, .command = command, .status = request->runs.failed, .error = error};
	struct sonde_format_options style;
	sonde_output_style(&style, request->out.file);
	if (request->json)
		sonde_stat_json(&show, request->out.file);
	else
		sonde_stat_runs_text(&show, &style, request->quiet, request->out.file);
}

/* Makes one more run; an interrupted run is dropped. Returns the exit code on failure, else 0. */
static int run_again(struct request *request, int counts, char *error, size_t error_b)
{
	struct sonde_supervise_result result;
	sonde_signals_give_back();
	malloc_trim(0); /* our RSS at the time of fork() would count as the command's peak RSS (launch.c) */
	int code = record(request, &result), rc = 0;
	if (!code) {
		if (result.error)
			snprintf(error, error_b, "%s: the figures cover only what was read before", sonde_error_text());
		if (!request->runs.failed && result.status > 0)
			request->runs.failed = result.status;
		if (counts && !sonde_signals_quits())
			rc = read_figures(request, &result, NULL);
	}
	if (rc)
		snprintf(error, error_b, "%s", sonde_error_text());
	if (request->fd >= 0)
		close(request->fd);
	request->fd = -1;
	return code;
}

static int repeat(struct request *request)
{
	struct sonde_stat_runs *runs = &request->runs;
	char error[512] = "";
	int code = 0;
	runs->requested = request->repeat ? (size_t)request->repeat : 1;
	runs->warmups = (size_t)request->warmup;
	for (size_t i = 0; !code && i < runs->warmups + runs->requested && !sonde_signals_quits(); i++)
		code = run_again(request, i >= runs->warmups, error, sizeof error);
	if (runs->count) {
		show_runs(request, *error ? error : NULL);
	} else if (!code) {
		snprintf(error + strlen(error), sizeof error - strlen(error), "%sno run finished", *error ? ": " : "");
		complain(error);
	}
	if (!runs->count)
		sonde_output_close(&request->out, -EIO);
	int ended = runs->count ? finish(request, 0, runs->failed) : code ? code : sonde_forward(runs->failed);
	sonde_stat_runs_fini(runs);
	return code ? code : ended;
}

static int run(int argc, char **argv)
{
	struct request request = {.options = {.rate_hz = 1, .buffer_b = 1 << 20}, .fd = -1};
	struct sonde_parse parse = {.command = sonde_command_find("stat"), .context = &request};
	int code = sonde_forward_parse(&parse, argc, argv, &request.options.command, &request.options.attach);
	if (code >= 0)
		return code;
	code = check(&request);
	if (code)
		return code;
	if (open_output(&request))
		return complain(sonde_error_text());
	return is_repeated(&request) ? repeat(&request) : once(&request);
}

#define SONDE_STAT(id, group, key, unit, meaning) group "." key "\t" meaning "\n"
const struct sonde_command sonde_command_stat = {
    .name = "stat",
    .title = "measure what a command or a running process used",
    .usage = "[options] [--] COMMAND [ARGUMENT…]",
    .options = options,
    .examples = "sonde stat -- make -j8\n"
		"sonde stat -r 10 -w 1 -- ./app\n"
		"sonde stat --json -o used.json -- ./app\n"
		"sonde stat -p 4711 -d 10s",
    .run = run,
    .glossary =
	"Keys of --json: times in seconds, sizes in bytes; null: see \"absent\"\n"
#include "analyze/resource/stat_figures.def"
	"system.disks\teach disk: name, read_b, written_b, busy\ndevice.devices\teach GPU: name, utilization, "
	"utilization_max, memory_peak_b, memory_total_b, process_memory_peak_b\nnetwork.interfaces\teach interface: "
	"name, received_b, sent_b\nnetwork\tfigures of the whole machine; for the sockets of each process: sonde "
	"record --io "
	"(section io-seen)\nexit_code\texit code of the command; null if a signal (key signal) killed it\n"
	"cpu_is_at_least\ttrue: CPU time is a lower bound, since some processes were not waited for\n"
	"process_count_is_at_least\ttrue: some processes may have been missed\nKeys of --json with --repeat\nruns\t"
	"each run, with the keys above; exit_code and signal next to runs are those of the first failed run\n"
	"summary.timing.wall_s.mean\tmean over the runs that have the figure (count); the same for each figure\n"
	"….ci95_low, ….ci95_high\tthe 95 % interval of the mean, by Student's t\n….std, ….min, ….median, "
	"….max\tstandard deviation, minimum, median, maximum\n….outliers\truns (from 1) with a modified z-score over "
	"3.5\nwarmups\twarm-up runs before the measured ones\n",
};
#undef SONDE_STAT
