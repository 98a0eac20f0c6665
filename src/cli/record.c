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
#define MS_NS 1000000u
#define LEAST_BUFFER_B ((uint64_t)1 << 20)
#define DEFAULT_BUFFER_B ((uint64_t)64 << 20)
#define DEFAULT_HEAP_MEAN "512K"
#define PROCESS_BUFFER_MAX_B (SONDE_RING_MAX_CHUNKS * SONDE_RING_CHUNK_B)

struct request {
	struct sonde_record_options options;
	char output[4200];
};

/* --- options ----------------------------------------------------------------------------------------------------- */

static int set_on_full(void *context, const char *value)
{
	static const char *const names[] = {"drop", "overwrite", "block"};
	struct request *request = context;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(names[i], value)) {
			request->options.on_full = (enum sonde_on_full)i;
			return 0;
		}
	}
	return sonde_error(EINVAL, "'%s' is not drop, overwrite or block", value);
}

static int set_threads(void *context, const char *value)
{
	struct request *request = context;
	(void)value;
	request->options.waits |= SONDE_WAIT_WHAT_LOCKS;
	return 0;
}

static int set_io(void *context, const char *value)
{
	struct request *request = context;
	(void)value;
	request->options.waits |= SONDE_WAIT_WHAT_IO;
	return 0;
}

/* NULL: sampled. */
static int set_heap(void *context, const char *value)
{
	struct sonde_record_options *record = &((struct request *)context)->options;
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

static int set_memory(void *context, const char *value)
{
	struct request *request = context;
	uint64_t *every_ns = &request->options.memory_every_ns;
	int rc = sonde_quantity_duration(every_ns, value ? value : "100ms");
	return !rc && *every_ns < MS_NS ? sonde_error(EINVAL, "'%s': 1ms is the least", value) : rc;
}

static int set_stack(void *context, const char *value)
{
	struct request *request = context;
	uint64_t size_b = 0;
	int rc = sonde_quantity_bytes(&size_b, value);
	if (!rc && (size_b < 512 || size_b > 64512))
		rc = sonde_error(EINVAL, "'%s' is not between 512 and 63K", value);
	request->options.stack_b = (uint32_t)(size_b & ~(uint64_t)7);
	return rc;
}

static int set_carbon_intensity(void *context, const char *value)
{
	struct request *request = context;
	double g_kwh;
	request->options.carbon_intensity = value;
	return sonde_carbon_parse(value, &g_kwh);
}

static int set_country(void *context, const char *value)
{
	struct request *request = context;
	request->options.country = value;
	return sonde_carbon_check(value);
}

#define AT(member) offsetof(struct request, options.member)

static const struct sonde_option options[] = {
    {"output", 'o', "FILE", "the recording to write (default: COMMAND.PID.sonde)", SONDE_TEXT(AT(output))},
    {"rate", 'F', "HZ", "CPU samples per second of CPU time, 1 to 10000 (default 1000)",
     SONDE_NUMBER(AT(rate_hz), 1, 10000)},
    {SONDE_PASS_ON_PID(AT(attach))},
    {SONDE_PASS_ON_DURATION(AT(duration_ns))},
    {"buffer", 0, "SIZE", "memory for the rings of all processes together (default 64M; 256M a process at most)",
     SONDE_SIZE(AT(buffer_b), LEAST_BUFFER_B)},
    {"on-full", 0, "WHAT", "when a ring is full: drop (default), overwrite or block", SONDE_BY(set_on_full)},
    {"keep", 0, "TIME", "flight recorder: keep only the last TIME, saved by --when, SIGUSR2 or the command's death",
     SONDE_TIME(AT(keep_ns), MS_NS)},
    {"when", 0, "EVENT", "with --keep: save when 'zone=NAME>TIME' or 'span=NAME>TIME' happens", SONDE_TEXT(AT(when))},
    {"stack", 0, "SIZE",
     "stack copy for each sample, at most 63K (default 16K to 32K); with --no-perf at most 56K, the default",
     SONDE_BY(set_stack)},
    {"threads", 0, NULL, "where threads wait, and for which locks (a lock that is free costs 5 ns)",
     SONDE_BY(set_threads)},
    {"io", 0, NULL, "calls on files and sockets: bytes, time, where (100 ns a call)", SONDE_BY(set_io)},
    {"blas", 0, NULL, "FLOP and bytes of calls of BLAS and LAPACK (about 1 µs a call)", SONDE_FLAG(AT(blas))},
    {"heap", 0, "[=full|SIZE|light]",
     "record allocations, mappings and leaks: every one, or one each SIZE bytes on average (512K); light: allocations "
     "alone, of processes that allocate much",
     SONDE_BY(set_heap)},
    {"memory", 0, "[=TIME]", "see what processes have in memory each TIME (100ms), not only when the recorder is awake",
     SONDE_BY(set_memory)},
    {"interval", 0, "TIME", "read what processes and the machine use each TIME, at least 10ms (default 100ms)",
     SONDE_TIME(AT(resources_every_ns), SONDE_PASS_ON_LEAST_INTERVAL_NS)},
    {"snapshot-every", 0, "TIME", "take a snapshot of the memory of all processes each TIME",
     SONDE_TIME(AT(snapshot_every_ns), MS_NS)},
    {"snapshot-signal", 0, NULL, "take one when this sonde is sent SIGUSR1, which the command then does not get",
     SONDE_FLAG(AT(snapshot_signal))},
    {"energy", 0, NULL, "joules of the run, by the processors' counters, else by a model that is called one",
     SONDE_FLAG(AT(energy))},
    {"carbon-intensity", 0, "G", "for reports: grams of CO2e a kWh of the electricity used",
     SONDE_BY(set_carbon_intensity)},
    {"country", 0, "CODE", "the same by a country's average: FR, DE, US, WORLD", SONDE_BY(set_country)},
    {"no-perf", 0, NULL, "do not use perf events: sample by CPU timers inside the processes", SONDE_FLAG(AT(no_perf))},
    {"no-inject", 0, NULL, "put nothing into the processes: perf events only", SONDE_FLAG(AT(no_inject))},
    {"no-symbols", 0, NULL, "look up no symbols when the recording ends", SONDE_FLAG(AT(no_symbols))},
    {"debuginfod", 0, NULL, "ask the servers in $DEBUGINFOD_URLS for missing debug files", SONDE_FLAG(AT(debuginfod))},
    {"force", 'f', NULL, "overwrite FILE when it exists", SONDE_FLAG(AT(overwrite))},
    {"quiet", 'q', NULL, "print nothing but errors", SONDE_FLAG(AT(quiet))},
    {0},
};

/* --- the command ---------------------------------------------------------------------------------------------------
 */

static int check(struct request *request)
{
	const struct sonde_record_options *record = &request->options;
	const char *wrong = NULL;
	if (record->output && !strcmp(record->output, "-"))
		wrong = "-o -: a recording is a file, not a stream: name one";
	else if (record->when && !record->keep_ns)
		wrong = "--when saves what --keep holds: add --keep 10s";
	else if (record->heap && record->attach)
		wrong =
		    "--heap is for a command (sonde record --heap -- ./app): what a process has allocated before is "
		    "not known";
	else if (record->waits & SONDE_WAIT_WHAT_IO && record->attach)
		wrong =
		    "--io is for a command (sonde record --io -- ./app): calls are recorded inside the processes, and "
		    "nothing is put into one that runs";
	else if (record->blas && record->attach)
		wrong = "--blas is for a command (sonde record --blas -- ./app): calls are recorded inside the "
			"processes, and nothing is put into one that runs";
	else if ((record->heap || record->blas || record->waits & SONDE_WAIT_WHAT_IO) && record->no_inject)
		wrong = "--heap, --io and --blas record inside the processes: leave --no-inject out";
	else if ((record->carbon_intensity || record->country) && !record->energy)
		wrong = "--country and --carbon-intensity are for --energy: add it";
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
	struct sonde_parse parse = {.command = sonde_command_find("record"), .context = &request};
	int code = sonde_pass_on_parse(&parse, argc, argv, &request.options.command, &request.options.attach);
	if (code >= 0)
		return code;
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
