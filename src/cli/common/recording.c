/* recording.c: shared by commands that write a recording: options, file name, and the summary. */
#include "cli/common/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/resource/carbon.h"
#include "export/clean.h"
#include "format/ring.h"
#include "format/wait.h"
#include "util/buf.h"
#include "util/error.h"
#include "util/quantity.h"

#define DEFAULT_RATE_HZ 1000
#define DEFAULT_BUFFER_B ((uint64_t)64 << 20)
#define WARNING_MAX_B 65536
#define MANUAL_MAX_B 65536
#define PROCESS_BUFFER_MAX_B (SONDE_RING_MAX_CHUNKS * SONDE_RING_CHUNK_B)

static void say_warning(const struct sonde_record_options *options, const char *text)
{
	struct sonde_buf scratch;
	if (options->quiet)
		return;
	sonde_buf_init(&scratch, WARNING_MAX_B);
	fprintf(stderr, "sonde: warning: %s\n", sonde_clean_text(&scratch, text)); /* may contain names of devices */
	sonde_buf_fini(&scratch);
}

void sonde_recording_init(struct sonde_recording *recording)
{
	recording->options = (struct sonde_record_options){
	    .rate_hz = DEFAULT_RATE_HZ, .buffer_b = DEFAULT_BUFFER_B, .warn = say_warning};
}

/* --- options ----------------------------------------------------------------------------------------------------- */

int sonde_recording_set_on_full(void *context, const char *value)
{
	static const char *const names[] = {"drop", "overwrite", "block"};
	struct sonde_recording *recording = context;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(names[i], value)) {
			recording->options.on_full = (enum sonde_on_full)i;
			return 0;
		}
	}
	return sonde_error(EINVAL, "'%s' is not drop, overwrite or block", value);
}

int sonde_recording_set_stack(void *context, const char *value)
{
	struct sonde_recording *recording = context;
	uint64_t size_b = 0;
	int rc = sonde_quantity_bytes(&size_b, value);
	if (!rc && (size_b < 512 || size_b > 64512))
		rc = sonde_error(EINVAL, "'%s' is not between 512 and 63K", value);
	recording->options.stack_b = (uint32_t)(size_b & ~(uint64_t)7);
	return rc;
}

int sonde_recording_set_carbon_intensity(void *context, const char *value)
{
	struct sonde_recording *recording = context;
	double g_kwh;
	recording->options.carbon_intensity = value;
	return sonde_carbon_parse(value, &g_kwh);
}

int sonde_recording_set_country(void *context, const char *value)
{
	struct sonde_recording *recording = context;
	recording->options.country = value;
	return sonde_carbon_check(value);
}

/* --- the file ---------------------------------------------------------------------------------------------------- */

int sonde_recording_check(const struct sonde_recording *recording, const char *command)
{
	const struct sonde_record_options *record = &recording->options;
	const char *wrong = NULL;
	if (record->output && !strcmp(record->output, "-"))
		wrong = "-o -: a recording is a file, not a stream: name a file";
	else if (record->when && !record->keep_ns)
		wrong = "--when needs a flight recorder: add --keep 10s";
	else if (record->heap && record->attach)
		wrong = "--heap needs a command (sonde record --heap -- ./app): earlier allocations of a running "
			"process are unknown";
	else if (record->waits & SONDE_WAIT_WHAT_IO && record->attach)
		wrong = "--io needs a command (sonde record --io -- ./app): calls are recorded inside the process, "
			"which must be started by sonde";
	else if (record->blas && record->attach)
		wrong = "--blas needs a command (sonde record --blas -- ./app): calls are recorded inside the process, "
			"which must be started by sonde";
	else if ((record->heap || record->blas || record->gpu || record->waits & SONDE_WAIT_WHAT_IO) &&
		 record->no_inject)
		wrong = "--heap, --io, --blas and --gpu record inside the process: leave --no-inject out";
	else if (record->when && record->attach)
		wrong = "--when needs a command (sonde record --keep 10s --when EVENT -- ./app): zones and spans of a "
			"running process are not recorded; with -p save by a signal: kill -USR2 to sonde";
	else if ((record->carbon_intensity || record->country) && !record->energy)
		wrong = "--country and --carbon-intensity need --energy: add it";
	if (wrong)
		fprintf(stderr, "sonde %s: %s\n", command, wrong);
	else if (record->buffer_b > PROCESS_BUFFER_MAX_B && !record->quiet)
		fprintf(stderr, "sonde %s: --buffer gives one process at most %u MB\n", command,
			PROCESS_BUFFER_MAX_B >> 20);
	return wrong ? SONDE_EXIT_OURS : 0;
}

char *sonde_recording_manual(void)
{
	struct sonde_buf text;
	sonde_buf_init(&text, MANUAL_MAX_B);
	for (size_t i = 0; i < sonde_source_count; i++)
		if (sonde_sources[i]->manual)
			sonde_buf_text(&text, sonde_sources[i]->manual);
	const char *string = sonde_buf_string(&text);
	char *copy = text.error ? NULL : strdup(string);
	sonde_buf_fini(&text);
	return copy;
}

void sonde_recording_name(struct sonde_recording *recording)
{
	struct sonde_record_options *record = &recording->options;
	if (record->output)
		return;
	const char *name = record->command ? record->command[0] : "attached";
	const char *slash = strrchr(name, '/');
	pid_t pid = record->command ? getpid() : record->attach;
	snprintf(recording->output, sizeof recording->output, "%s.%d.sonde", slash && slash[1] ? slash + 1 : name, pid);
	record->output = recording->output;
}

void sonde_recording_say(const struct sonde_record_options *record, const struct sonde_supervise_result *result,
			 const char *command)
{
	if (result->error)
		fprintf(stderr, "sonde %s: %s: what was written before can be read\n", command, sonde_error_text());
	if (record->quiet || result->error)
		return;
	if (result->kept_nothing) {
		fprintf(stderr, "sonde: '%s' did not happen: %s holds no events\n", record->when, record->output);
		return;
	}
	struct stat file = {0};
	if (stat(record->output, &file))
		return;
	if (record->keep_ns) { /* a flight recording keeps only the last samples */
		fprintf(stderr, "sonde: %.2f s, the last %.3g s before each save, %.1f KB in %s  (sonde report %s)\n",
			(double)result->wall_ns / 1e9, (double)record->keep_ns / 1e9, (double)file.st_size / 1e3,
			record->output, record->output);
		return;
	}
	fprintf(stderr, "sonde: %.2f s, %" PRIu64 " sample%s, %.1f KB in %s  (sonde report %s)\n",
		(double)result->recorded_ns / 1e9, result->samples, result->samples == 1 ? "" : "s",
		(double)file.st_size / 1e3, record->output, record->output);
}
