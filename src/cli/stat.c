/* stat.c: `sonde stat`: runs a command, or looks at a running process, and says what it used.
 *
 * What is read is recorded like everything else, into a file without a name (or one that --record names), and the
 * figures come from there. Nothing is put into the program, and nothing is written to its standard output: the table
 * goes to the standard error or a file, which is opened before the program starts. Exit codes are the program's
 * (pass_on.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pass.h"
#include "analyze/stat_figures.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/pass_on.h"
#include "cli/stat_show.h"
#include "source/supervise.h"
#include "util/error.h"
#include "util/quantity.h"

#define LEAST_INTERVAL_NS 10000000u
#define LEAST_DURATION_NS 1000000u
#define PROCESSES_SHOWN 10

static const struct sonde_option options[] = {
    {"output", 'o', "FILE", "write there instead of to the standard error"},
    {"json", 0, NULL, "as JSON, with the keys below; null is what is not known, with the reason in \"absent\""},
    {"interval", 'i', "TIME", "read each TIME, at least 10ms (default 100ms)"},
    {"pid", 'p', "PID", "look at a running process instead of starting a command"},
    {"duration", 'd', "TIME", "stop after this long: 10s, 500ms, 2m"},
    {"record", 0, "FILE", "keep the recording (sonde report FILE)"},
    {"force", 'f', NULL, "overwrite FILE when it exists"},
    {"quiet", 'q', NULL, "print the last line only"},
    {0},
};

struct request {
	struct sonde_record_options options;
	const char *output;
	int json, quiet;
	int fd; /* of the file without a name; −1 = it has one */
	char path[64];
	struct sonde_output out;
};

static int complain(const char *what)
{
	fprintf(stderr, "sonde stat: %s\n", what);
	return SONDE_EXIT_OURS;
}

/* --- options ----------------------------------------------------------------------------------------------------- */

static int set_time(const char *value, uint64_t least_ns, uint64_t *out_ns)
{
	uint64_t ns = 0;
	int rc = sonde_quantity_duration(&ns, value);
	if (!rc && ns < least_ns)
		rc = sonde_error(EINVAL, "'%s': %ums is the least", value, (unsigned)(least_ns / 1000000));
	if (!rc)
		*out_ns = ns;
	return rc;
}

static int set_value(struct request *request, const char *name, const char *value)
{
	struct sonde_record_options *record = &request->options;
	uint64_t number = 0;
	int rc = 0;
	if (!strcmp(name, "output"))
		request->output = value;
	else if (!strcmp(name, "record"))
		record->output = value;
	else if (!strcmp(name, "interval"))
		rc = set_time(value, LEAST_INTERVAL_NS, &record->resources_every_ns);
	else if (!strcmp(name, "duration"))
		rc = set_time(value, LEAST_DURATION_NS, &record->duration_ns);
	else {
		rc = sonde_quantity_integer(&number, value, 1, 4194304);
		record->attach = (pid_t)number;
	}
	return rc;
}

static int found(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	if (!option) {
		fprintf(stderr, "sonde stat: '%s' stands before '--': sonde stat -- %s\n", value, value);
		return SONDE_EXIT_OURS;
	}
	if (!strcmp(option->name, "json"))
		request->json = 1;
	else if (!strcmp(option->name, "force"))
		request->options.overwrite = 1;
	else if (!strcmp(option->name, "quiet"))
		request->quiet = 1;
	else if (set_value(request, option->name, value)) {
		fprintf(stderr, "sonde stat: --%s: %s\n", option->name, sonde_error_text());
		return SONDE_EXIT_OURS;
	}
	return 0;
}

static int check(const struct request *request)
{
	const struct sonde_record_options *record = &request->options;
	if (!record->command && !record->attach)
		return complain(
		    "nothing to run: give a command (sonde stat -- ./app) or a process (sonde stat -p PID)");
	if (record->command && record->attach)
		return complain("-p and a command exclude each other: leave one of them out");
	if (record->output && !strcmp(record->output, "-"))
		return complain("--record -: a recording is a file, not a stream: name one");
	if (request->output && !strcmp(request->output, "-"))
		return complain("-o -: the standard output is the program's: name a file, or leave -o out");
	return 0;
}

/* --- the recording ----------------------------------------------------------------------------------------------- */

static int prepare(struct request *request)
{
	struct sonde_record_options *record = &request->options;
	record->only_resources = record->no_perf = record->no_inject = record->no_symbols = record->quiet = 1;
	int rc = sonde_output_open(&request->out, request->output, record->overwrite);
	if (rc)
		return rc;
	if (!request->output)
		request->out.file = stderr;
	if (record->output)
		return 0;
	request->fd = sonde_output_nameless("sonde-stat");
	if (request->fd < 0)
		return request->fd;
	snprintf(request->path, sizeof request->path, "/proc/self/fd/%d", request->fd);
	record->output = "what was read";
	record->output_fd = request->fd;
	return 0;
}

/* --- what is shown ----------------------------------------------------------------------------------------------- */

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

static int show(struct request *request, const struct sonde_supervise_result *result, const char *error)
{
	struct sonde_session *session;
	struct sonde_series_sums sums;
	struct sonde_stat_figures figures;
	struct sonde_report *report = NULL;
	const char *path = request->fd >= 0 ? request->path : request->options.output;
	int rc = sonde_session_open(&session, path, &(struct sonde_session_options){.no_symbols = 1});
	if (rc)
		return rc;
	rc = sonde_series_sums_read(&sums, session, NULL);
	if (!rc)
		rc = sonde_report_new(&report);
	if (!rc) {
		const char *command = sonde_session_info(session, "run.command");
		struct sonde_stat_show all = {.sums = &sums,
					      .figures = &figures,
					      .command = command ? command : "",
					      .status = result->status,
					      .attached = request->options.attach,
					      .error = error};
		sonde_stat_figures_of(&figures, &sums);
		if (!sonde_session_run(session)->closed) /* its end is not in the file */
			figures.cell[SONDE_STAT_WALL] = sonde_cell_int(result->wall_ns);
		rc = show_all(request, session, &all, report);
	}
	sonde_report_free(report);
	sonde_series_sums_fini(&sums);
	sonde_session_close(session);
	return rc;
}

/* The figures are lost, or there are none; the program's end is still what ours is. */
static int finish(struct request *request, const struct sonde_supervise_result *result)
{
	char error[512] = "";
	if (result->error)
		snprintf(error, sizeof error, "%s: the figures are of what was read before", sonde_error_text());
	int rc = show(request, result, *error ? error : NULL);
	rc = sonde_output_close(&request->out, rc);
	if (rc)
		fprintf(stderr, "sonde stat: %s\n", sonde_error_text());
	if (result->status == -1)
		return rc ? SONDE_EXIT_OURS : SONDE_EXIT_OK;
	return sonde_pass_on(result->status);
}

static int run(int argc, char **argv)
{
	struct request request = {.options = {.rate_hz = 1, .buffer_b = 1 << 20}, .fd = -1};
	struct sonde_supervise_result result;
	struct sonde_parse parse = {
	    .command = sonde_command_find("stat"),
	    .found = found,
	    .context = &request,
	    .stop_at_word = 1,
	};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code ? SONDE_EXIT_OURS : SONDE_EXIT_OK;
	if (parse.rest < argc)
		request.options.command = argv + parse.rest;
	code = check(&request);
	if (code)
		return code;
	int rc = prepare(&request);
	if (rc) {
		code = complain(sonde_error_text());
		if (request.out.file)
			sonde_output_close(&request.out, rc);
		return code;
	}
	rc = sonde_supervise(&request.options, &result);
	if (!rc)
		return finish(&request, &result);
	code = sonde_pass_on_failure("stat", &request.options, rc);
	sonde_output_close(&request.out, rc);
	return code;
}

#define SONDE_STAT(id, group, key, unit, meaning) group "." key "\t" meaning "\n"
const struct sonde_command sonde_command_stat = {
    .name = "stat",
    .title = "run a command, or look at a running process, and say what it used",
    .usage = "[options] [--] COMMAND [ARGUMENT…]",
    .options = options,
    .examples = "sonde stat -- make -j8\n"
		"sonde stat --json -o used.json -- ./app\n"
		"sonde stat -p 4711 -d 10s",
    .run = run,
    .glossary = "Keys of --json: times in seconds, bytes as they are, shares as ratios\n"
#include "analyze/stat_figures.def"
		"system.disks\teach disk: name, read_b, written_b, busy\n"
		"network.interfaces\teach interface: name, received_b, sent_b\n"
		"exit_code\tof the command; null where a signal ended it: signal\n"
		"cpu_is_at_least\tnot every process was waited for: CPU time is a lower bound\n",
};
#undef SONDE_STAT
