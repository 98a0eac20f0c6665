/* record.c: `sonde record`: runs a command, or attaches to a process, and writes a recording.
 *
 * Nothing is ever written to the command's standard output. The exit code is the command's own; a signal that ended it
 * is raised again; 125 is ours, 126 and 127 as in a shell. An incomplete recording does not change the exit code,
 * unless --fail-on-loss is given: then it is 125, whatever the command's exit code was.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/common/command.h"
#include "cli/common/forward.h"
#include "cli/common/progress.h"
#include "cli/common/recording.h"
#include "source/supervise.h"

struct request {
	struct sonde_recording recording; /* must be first: common/recording.def */
	int fail_on_loss;
};

static const struct sonde_option options[] = {
#include "cli/common/recording.def"
    {"keep", 0, "TIME", "flight recorder: keep the last TIME until a save or crash",
     SONDE_TIME(SONDE_RECORDING_AT(keep_ns), SONDE_RECORDING_LEAST_TIME_NS)},
    {"when", 0, "EVENT", "with --keep: save when 'zone=NAME>TIME' or 'span=NAME>TIME'",
     SONDE_TEXT(SONDE_RECORDING_AT(when))},
    {"fail-on-loss", 0, NULL, "exit with 125 if the recording is incomplete or lost events",
     SONDE_FLAG(offsetof(struct request, fail_on_loss))},
    {0},
};

static void say_looking_up(const struct sonde_record_options *record, int over)
{
	if (over)
		sonde_progress_end();
	else if (!record->quiet)
		sonde_progress_begin("sonde: looking up symbols; --no-symbols leaves that to the report\n");
}

/* True if the recording is incomplete, after printing why. */
static int is_lossy(const struct sonde_supervise_result *result)
{
	if (result->lost)
		fprintf(stderr, "sonde record: --fail-on-loss: %" PRIu64 " event%s lost, first %s\n", result->lost,
			result->lost == 1 ? " was" : "s were", result->lost_first);
	return result->lost || result->error; /* `error` was printed before */
}

static int run(int argc, char **argv)
{
	struct request request = {0};
	struct sonde_recording *recording = &request.recording;
	struct sonde_record_options *record = &recording->options;
	struct sonde_parse parse = {.command = sonde_command_find("record"), .context = &request};
	sonde_recording_init(recording);
	record->looking_up = say_looking_up;
	int code = sonde_forward_parse(&parse, argc, argv, &record->command, &record->attach);
	if (code >= 0)
		return code;
	code = sonde_recording_check(recording, "record");
	if (code)
		return code;
	sonde_recording_name(recording);
	struct sonde_supervise_result result;
	int rc = sonde_supervise(record, &result);
	if (rc)
		return sonde_forward_failure("record", record, rc);
	sonde_recording_say(record, &result, "record");
	if (request.fail_on_loss && is_lossy(&result))
		return SONDE_EXIT_OURS;
	if (result.error && result.status == -1)
		return SONDE_EXIT_OURS;
	return sonde_forward(result.status);
}

const struct sonde_command sonde_command_record = {
    .name = "record",
    .title = "record a command or a running process",
    .usage = "[options] [--] COMMAND [ARGUMENT…]",
    .options = options,
    .examples = "sonde record -- sqlite3 app.db 'SELECT …'\n"
		"sonde record -F 4000 -o run.sonde -- ./app\n"
		"sonde record -p 4711 -d 10s\n"
		"sonde record --keep 10s --when 'span=request>50ms' -- ./server",
    .manual = sonde_recording_manual,
    .run = run,
};
