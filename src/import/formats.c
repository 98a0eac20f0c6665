/* formats.c: detects the format of a file by its content and runs the import (import.h). */
#include "import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/out.h"
#include "import/proto.h"
#include "util/error.h"

enum { PEEK_B = 64 << 10, PACKETS_LOOKED_AT = 16 };

#define SONDE_IMPORT_FORMAT(name, file) extern const struct sonde_import_format sonde_import_format_##name;
#include "import/formats.def"
#undef SONDE_IMPORT_FORMAT

#define SONDE_IMPORT_FORMAT(name, file) &sonde_import_format_##name,
const struct sonde_import_format *const sonde_import_formats[] = {
#include "import/formats.def"
};
#undef SONDE_IMPORT_FORMAT
const size_t sonde_import_format_count = sizeof sonde_import_formats / sizeof *sonde_import_formats;

static const struct sonde_import_format *named(const char *name)
{
	for (size_t i = 0; i < sonde_import_format_count; i++)
		if (!strcmp(sonde_import_formats[i]->name, name))
			return sonde_import_formats[i];
	return NULL;
}

/* Perfetto traces and pprof profiles both begin with messages in field 1. They differ in that a pprof value type has
 * only two fields, and a trace packet has others. */
static int is_perfetto(const uint8_t *bytes, size_t size_b)
{
	struct sonde_proto in = sonde_proto_of(bytes, size_b);
	for (int i = 0; i < PACKETS_LOOKED_AT && sonde_proto_next(&in); i++) {
		if (in.field != 1 || !in.is_bytes)
			return 0;
		struct sonde_proto packet = sonde_proto_of(in.bytes, in.bytes_b);
		int others = 0;
		while (sonde_proto_next(&packet))
			others |= packet.field > 2;
		if (packet.broken)
			return 0;
		if (others)
			return 1;
	}
	return 0;
}

/* Recognises other known kinds of files, so that the message can name them. */
static const char *foreign(const uint8_t *bytes, size_t size_b)
{
	static const struct {
		const char *magic;
		size_t size_b;
		const char *what;
	} kinds[] = {
	    {"SONDEREC", 8, "already a sonde recording: use sonde report or sonde view"},
	    {"\x7f"
	     "ELF",
	     4, "a program, not a profile"},
	    {"PK\3\4", 4, "a zip archive: unpack it, and import its contents"},
	    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd: unpack it first (zstd -d)"},
	    {"BZh", 3, "compressed with bzip2: unpack it first"},
	    {"\xfd"
	     "7zXZ",
	     5, "compressed with xz: unpack it first"},
	    {"2ELIFREP", 8, "perf.data of a machine with the other byte order, which cannot be read here"},
	    {"PERFFILE", 8, "perf.data of an old version (before Linux 3.2), which cannot be read"},
	    {"SQLite format 3", 15, "a SQLite database (Nsight and others export one), which cannot be imported"},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (size_b >= kinds[i].size_b && !memcmp(bytes, kinds[i].magic, kinds[i].size_b))
			return kinds[i].what;
	return is_perfetto(bytes, size_b)
		   ? "a native Perfetto trace: convert it to JSON first (traceconv json TRACE TRACE.json)"
		   : NULL;
}

static const struct sonde_import_format *detect(const uint8_t *bytes, size_t size_b, int gz)
{
	const struct sonde_import_format *best = NULL;
	int surest = 0;
	for (size_t i = 0; i < sonde_import_format_count; i++) {
		int sure = sonde_import_formats[i]->matches(bytes, size_b, gz);
		if (sure > surest) {
			best = sonde_import_formats[i];
			surest = sure;
		}
	}
	return best;
}

/* Determines the format: the requested one, or the detected one. */
static int choose(const struct sonde_import_format **out, struct sonde_import_job *job)
{
	const char *name = sonde_input_name(job->input);
	uint8_t *bytes = malloc(PEEK_B);
	if (!bytes)
		return sonde_error(ENOMEM, "out of memory");
	ssize_t got_b = sonde_input_read(job->input, bytes, PEEK_B);
	int rc = got_b < 0 ? (int)got_b : 0;
	const char *what = got_b > 0 ? foreign(bytes, (size_t)got_b) : NULL;
	if (!rc && what)
		rc = sonde_error(EBADMSG, "%s is %s", name, what);
	if (!rc && !got_b)
		rc = sonde_error(EBADMSG, "%s: the file is empty", name);
	if (!rc && job->options->format)
		*out = named(job->options->format);
	else if (!rc)
		*out = detect(bytes, (size_t)got_b, sonde_input_is_gz(job->input));
	free(bytes);
	if (!rc && !*out)
		rc = sonde_error(
		    EBADMSG,
		    "%s has no format that can be imported: perf.data, trace events in JSON, pprof, folded stacks",
		    name);
	return rc ? rc : sonde_input_rewind(job->input);
}

const char *sonde_import_title(const char *path)
{
	struct stat status;
	struct sonde_input *input;
	if (stat(path, &status) || !S_ISREG(status.st_mode) || sonde_input_open(&input, path, NULL))
		return NULL;
	const struct sonde_import_format *format = NULL;
	uint8_t *bytes = malloc(PEEK_B);
	ssize_t got_b = bytes ? sonde_input_read(input, bytes, PEEK_B) : 0;
	if (got_b > 0 && !foreign(bytes, (size_t)got_b))
		format = detect(bytes, (size_t)got_b, sonde_input_is_gz(input));
	free(bytes);
	sonde_input_close(input);
	return format ? format->title : NULL;
}

int sonde_import(struct sonde_import_result *out, const struct sonde_import_options *options)
{
	struct sonde_import_result result = {0};
	struct sonde_import_job job = {.options = options, .result = &result};
	const struct sonde_import_format *format = NULL;
	if (options->format && !named(options->format))
		return sonde_error(EINVAL, "%s is not an import format", options->format);
	int rc = sonde_input_open(&job.input, options->path, options->folder);
	if (rc)
		return rc;
	rc = choose(&format, &job);
	if (!rc) {
		result.format = format->title;
		if (options->type && strcmp(format->name, "pprof"))
			rc = sonde_error(EINVAL, "--type is for pprof, but %s is %s", sonde_input_name(job.input),
					 format->title);
	}
	rc = rc ? rc : format->run(&job);
	sonde_out_fini(&job);
	sonde_input_close(job.input);
	if (rc)
		sonde_import_result_fini(&result);
	else
		*out = result;
	return rc;
}

void sonde_import_result_fini(struct sonde_import_result *result)
{
	for (size_t i = 0; i < result->note_count; i++)
		free(result->notes[i]);
	free(result->notes);
	*result = (struct sonde_import_result){0};
}
