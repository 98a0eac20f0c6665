/* record.c: sonde record: runs a command, or attaches to a process, and writes a recording.
 *
 * Nothing is ever written to the command's standard output. The exit code is the command's own; a signal that ended it
 * is raised again; 125 is ours, 126 and 127 as in a shell.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/carbon.h"
#include "cli/command.h"
#include "cli/pass_on.h"
#include "cli/progress.h"
#include "format/ring.h"
#include "format/wait.h"
#include "source/supervise.h"
#include "util/error.h"
#include "util/quantity.h"

#define DEFAULT_RATE_HZ 1000
#define DEFAULT_BUFFER_B ((uint64_t)64 << 20)
#define DEFAULT_HEAP_MEAN "512K"
#define PROCESS_BUFFER_MAX_B (SONDE_RING_MAX_CHUNKS * SONDE_RING_CHUNK_B)

static const struct sonde_option options[] = {
    {"output", 'o', "FILE", "the recording to write (default: COMMAND.PID.sonde)"},
    {"rate", 'F', "HZ", "CPU samples per second of CPU time, 1 to 10000 (default 1000)"},
    {"pid", 'p', "PID", "attach to a running process instead of starting a command"},
    {"duration", 'd', "TIME", "stop recording after this long: 10s, 500ms, 2m"},
    {"buffer", 0, "SIZE", "memory for the rings of all processes together (default 64M; 256M a process at most)"},
    {"on-full", 0, "WHAT", "when a ring is full: drop (default), overwrite or block"},
    {"keep", 0, "TIME", "flight recorder: keep only the last TIME, saved by --when, SIGUSR2 or the command's death"},
    {"when", 0, "EVENT", "with --keep: save when 'zone=NAME>TIME' or 'span=NAME>TIME' happens"},
    {"stack", 0, "SIZE",
     "stack copy for each sample, at most 63K (default 16K to 32K); with --no-perf at most 56K, the default"},
    {"threads", 0, NULL, "where threads wait, and for which locks (a lock that is free costs 5 ns)"},
    {"io", 0, NULL, "calls on files and sockets: bytes, time, where (100 ns a call)"},
    {"heap", 0, "[=full|SIZE|light]",
     "record allocations, mappings and leaks: every one, or one each SIZE bytes on average (512K); light: allocations "
     "alone, of processes that allocate much"},
    {"memory", 0, "[=TIME]",
     "see what processes have in memory each TIME (100ms), not only when the recorder is awake"},
    {"interval", 0, "TIME", "read what processes and the machine use each TIME, at least 10ms (default 100ms)"},
    {"snapshot-every", 0, "TIME", "take a snapshot of the memory of all processes each TIME"},
    {"snapshot-signal", 0, NULL, "take one when this sonde is sent SIGUSR1, which the command then does not get"},
    {"energy", 0, NULL, "joules of the run, by the processors' counters, else by a model that is called one"},
    {"carbon-intensity", 0, "G", "for reports: grams of CO2e a kWh of the electricity used"},
    {"country", 0, "CODE", "the same by a country's average: FR, DE, US, WORLD"},
    {"no-perf", 0, NULL, "do not use perf events: sample by CPU timers inside the processes"},
    {"no-inject", 0, NULL, "put nothing into the processes: perf events only"},
    {"no-symbols", 0, NULL, "look up no symbols when the recording ends"},
    {"debuginfod", 0, NULL, "ask the servers in $DEBUGINFOD_URLS for missing debug files"},
    {"force", 'f', NULL, "overwrite FILE when it exists"},
    {"quiet", 'q', NULL, "print nothing but errors"},
    {0},
};

struct request {
	struct sonde_record_options options;
	char output[4200];
};

static int set_on_full(struct sonde_record_options *record, const char *value)
{
	static const char *const names[] = {"drop", "overwrite", "block"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(names[i], value)) {
			record->on_full = (enum sonde_on_full)i;
			return 0;
		}
	}
	return sonde_error(EINVAL, "'%s' is not drop, overwrite or block", value);
}

static int set_number(const char *value, uint64_t *number, uint64_t min, uint64_t max)
{
	return sonde_quantity_integer(number, value, min, max);
}

/* NULL: sampled. */
static int set_heap(struct sonde_record_options *record, const char *value)
{
	record->heap = 1;
	record->heap_is_light = value && !strcmp(value, "light");
	record->heap_mean_b = 0;
	if (value && !strcmp(value, "full"))
		return 0;
	int rc =
	    sonde_quantity_bytes(&record->heap_mean_b, value && !record->heap_is_light ? value : DEFAULT_HEAP_MEAN);
	if (!rc && !record->heap_mean_b)
		rc = sonde_error(EINVAL, "'%s': --heap=full records every allocation", value);
	return rc;
}

/* 0 would be no limit, or nothing to keep. */
static int set_duration(const char *value, uint64_t *out_ns)
{
	int rc = sonde_quantity_duration(out_ns, value);
	if (!rc && !*out_ns)
		rc = sonde_error(EINVAL, "'%s' is no time to record: write 10s, 250ms, 2m", value);
	return rc;
}

static int set_period(const char *value, uint64_t *out_ns)
{
	uint64_t ns = 0;
	int rc = sonde_quantity_duration(&ns, value);
	if (!rc && ns < 1000000)
		rc = sonde_error(EINVAL, "'%s': a millisecond is the least", value);
	if (!rc)
		*out_ns = ns;
	return rc;
}

static int set_interval(const char *value, uint64_t *out_ns)
{
	uint64_t ns = 0;
	int rc = sonde_quantity_duration(&ns, value);
	if (!rc && ns < 10000000)
		rc = sonde_error(EINVAL, "'%s': 10ms is the least", value);
	if (!rc)
		*out_ns = ns;
	return rc;
}

static int set_value(struct request *request, const char *name, const char *value)
{
	struct sonde_record_options *record = &request->options;
	uint64_t number = 0;
	double g_kwh;
	int rc = 0;
	if (!strcmp(name, "output"))
		record->output = value;
	else if (!strcmp(name, "rate"))
		rc = set_number(value, &record->rate_hz, 1, 10000);
	else if (!strcmp(name, "pid")) {
		rc = set_number(value, &number, 1, 4194304);
		record->attach = (pid_t)number;
	} else if (!strcmp(name, "duration"))
		rc = set_duration(value, &record->duration_ns);
	else if (!strcmp(name, "buffer"))
		rc = sonde_quantity_bytes(&record->buffer_b, value);
	else if (!strcmp(name, "on-full"))
		rc = set_on_full(record, value);
	else if (!strcmp(name, "threads"))
		record->waits |= SONDE_WAIT_WHAT_LOCKS;
	else if (!strcmp(name, "io"))
		record->waits |= SONDE_WAIT_WHAT_IO;
	else if (!strcmp(name, "heap"))
		rc = set_heap(record, value);
	else if (!strcmp(name, "memory"))
		rc = set_period(value ? value : "100ms", &record->memory_every_ns);
	else if (!strcmp(name, "interval"))
		rc = set_interval(value, &record->resources_every_ns);
	else if (!strcmp(name, "snapshot-every"))
		rc = set_period(value, &record->snapshot_every_ns);
	else if (!strcmp(name, "keep"))
		rc = set_duration(value, &record->keep_ns);
	else if (!strcmp(name, "carbon-intensity")) {
		rc = sonde_carbon_parse(value, &g_kwh);
		record->carbon_intensity = value;
	} else if (!strcmp(name, "country")) {
		rc = sonde_carbon_check(value);
		record->country = value;
	} else if (!strcmp(name, "when"))
		record->when = value;
	else if (!strcmp(name, "stack")) {
		rc = sonde_quantity_bytes(&number, value);
		if (!rc && (number < 512 || number > 64512))
			rc = sonde_error(EINVAL, "'%s' is not between 512 and 63K", value);
		record->stack_b = (uint32_t)(number & ~(uint64_t)7);
	}
	return rc;
}

static int *flag(struct sonde_record_options *record, const char *name)
{
	const struct {
		const char *name;
		int *flag;
	} flags[] = {
	    {"no-perf", &record->no_perf},
	    {"no-inject", &record->no_inject},
	    {"no-symbols", &record->no_symbols},
	    {"debuginfod", &record->debuginfod},
	    {"force", &record->overwrite},
	    {"quiet", &record->quiet},
	    {"snapshot-signal", &record->snapshot_signal},
	    {"energy", &record->energy},
	};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (!strcmp(flags[i].name, name))
			return flags[i].flag;
	return NULL;
}

static int found(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	if (!option) {
		fprintf(stderr, "sonde record: '%s' stands before '--': sonde record -- %s\n", value, value);
		return SONDE_EXIT_OURS;
	}
	int *set = flag(&request->options, option->name);
	if (set) {
		*set = 1;
		return 0;
	}
	if (!set_value(request, option->name, value))
		return 0;
	fprintf(stderr, "sonde record: --%s: %s\n", option->name, sonde_error_text());
	return SONDE_EXIT_OURS;
}

static int check(struct request *request)
{
	const struct sonde_record_options *record = &request->options;
	const char *wrong = NULL;
	if (!record->command && !record->attach)
		wrong = "nothing to record: give a command (sonde record -- ./app) or a process (sonde record -p PID)";
	else if (record->command && record->attach)
		wrong = "-p and a command exclude each other: leave one of them out";
	else if (record->output && !strcmp(record->output, "-"))
		wrong = "-o -: a recording is a file, not a stream: name one";
	else if (record->when && !record->keep_ns)
		wrong = "--when saves what --keep holds: add --keep 10s";
	else if ((record->carbon_intensity || record->country) && !record->energy)
		wrong = "--country and --carbon-intensity are for --energy: add it";
	else if (record->buffer_b < (uint64_t)1 << 20)
		wrong = "--buffer must be at least 1M";
	if (wrong)
		fprintf(stderr, "sonde record: %s\n", wrong);
	else if (record->buffer_b > PROCESS_BUFFER_MAX_B && !record->quiet)
		fprintf(stderr, "sonde record: of --buffer a process gets %u MB at most: the rest is for others\n",
			PROCESS_BUFFER_MAX_B >> 20);
	return wrong ? SONDE_EXIT_OURS : 0;
}

static void choose_output(struct request *request)
{
	struct sonde_record_options *record = &request->options;
	if (record->output)
		return;
	const char *name = record->command ? record->command[0] : "attached";
	const char *slash = strrchr(name, '/');
	pid_t pid = record->command ? getpid() : record->attach;
	snprintf(request->output, sizeof request->output, "%s.%d.sonde", slash && slash[1] ? slash + 1 : name, pid);
	record->output = request->output;
}

static void say_result(const struct sonde_record_options *record, const struct sonde_supervise_result *result)
{
	if (result->error)
		fprintf(stderr, "sonde record: %s: what was written before can be read\n", sonde_error_text());
	if (record->quiet || result->error)
		return;
	if (result->kept_nothing) {
		fprintf(stderr, "sonde: '%s' did not happen: %s holds no events\n", record->when, record->output);
		return;
	}
	struct stat file = {0};
	if (stat(record->output, &file))
		return;
	if (record->keep_ns) { /* of the samples that were taken the file holds the last */
		fprintf(stderr, "sonde: %.2f s, the last %.3g s before each save, %.1f KB in %s  (sonde report %s)\n",
			(double)result->wall_ns / 1e9, (double)record->keep_ns / 1e9, (double)file.st_size / 1e3,
			record->output, record->output);
		return;
	}
	fprintf(stderr, "sonde: %.2f s, %" PRIu64 " sample%s, %.1f KB in %s  (sonde report %s)\n",
		(double)result->wall_ns / 1e9, result->samples, result->samples == 1 ? "" : "s",
		(double)file.st_size / 1e3, record->output, record->output);
}

static void say_looking_up(const struct sonde_record_options *record, int over)
{
	if (over)
		sonde_progress_end();
	else if (!record->quiet)
		sonde_progress_begin("sonde: looking up symbols; --no-symbols leaves that to the report\n");
}

static int run(int argc, char **argv)
{
	struct request request = {
	    .options = {.rate_hz = DEFAULT_RATE_HZ, .buffer_b = DEFAULT_BUFFER_B, .looking_up = say_looking_up}};
	struct sonde_parse parse = {
	    .command = sonde_command_find("record"),
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
	choose_output(&request);
	struct sonde_supervise_result result;
	int rc = sonde_supervise(&request.options, &result);
	if (rc)
		return sonde_pass_on_failure("record", &request.options, rc);
	say_result(&request.options, &result);
	if (result.error && result.status == -1)
		return SONDE_EXIT_OURS;
	return sonde_pass_on(result.status);
}

const struct sonde_command sonde_command_record = {
    .name = "record",
    .title = "run a command, or attach to a process, and record it",
    .usage = "[options] [--] COMMAND [ARGUMENT…]",
    .options = options,
    .examples = "sonde record -- sqlite3 app.db 'SELECT …'\n"
		"sonde record -F 4000 -o run.sonde -- ./app\n"
		"sonde record -p 4711 -d 10s\n"
		"sonde record --keep 10s --when 'span=request>50ms' -- ./server",
    .run = run,
};
