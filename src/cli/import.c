/* import.c: `sonde import`: converts another profiler's file to a recording. The new file gets its name when it is
 * complete (common/atomic_file.h). */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/atomic_file.h"
#include "cli/common/command.h"
#include "import/import.h"
#include "roof/machine.h"
#include "util/error.h"
#include "util/memory_limit.h"

struct request {
	const char *output, *from, *type, *path;
	uint64_t memory_b;
	int force, quiet;
	char *chosen; /* the default output name */
};

#define MEMORY_LEAST_B (UINT64_C(128) << 20) /* JSON alone reserves 64 MB */
#define MEMORY_DEFAULT_B (UINT64_C(1) << 30)

#define AT(member) offsetof(struct request, member)

static const struct sonde_option options[] = {
    {"output", 'o', "FILE", "output recording (default: FILE's name with .sonde)", SONDE_TEXT(AT(output))},
    {"from", 0, "perf|chrome|pprof|folded", "format of the file (default: detected from its content)",
     SONDE_TEXT(AT(from))},
    {"type", 0, "NAME", "sample type to import from a pprof profile (default: cpu)", SONDE_TEXT(AT(type))},
    {"max-memory", 0, "SIZE", "memory limit (default: 1G, at most half the free memory)",
     SONDE_SIZE(AT(memory_b), MEMORY_LEAST_B)},
    {"force", 0, NULL, "overwrite the output", SONDE_FLAG(AT(force))},
    {"quiet", 'q', NULL, "print only errors", SONDE_FLAG(AT(quiet))},
    {0},
};

static int take(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	if (option)
		return 0;
	if (request->path)
		return sonde_command_wrong("import", "%s: one file at a time; sonde merge combines several recordings",
					   value);
	request->path = value;
	return 0;
}

/* "traces/app.trace.json.gz" → "app.trace.sonde" in the working directory. */
static int name_output(struct request *request)
{
	static const char *const endings[] = {".gz", ".json", ".pb", ".data", ".txt"};
	const char *slash = strrchr(request->path, '/');
	if (request->output)
		return 0;
	request->chosen = strdup(!strcmp(request->path, "-") ? "imported" : slash ? slash + 1 : request->path);
	for (size_t i = 0; request->chosen && i < sizeof endings / sizeof *endings; i++) {
		size_t len_b = strlen(request->chosen), end_b = strlen(endings[i]);
		if (len_b > end_b && !strcmp(request->chosen + len_b - end_b, endings[i]))
			request->chosen[len_b - end_b] = 0;
	}
	char *name;
	if (!request->chosen || asprintf(&name, "%s.sonde", request->chosen) < 0)
		return sonde_error(ENOMEM, "out of memory");
	free(request->chosen);
	request->output = request->chosen = name;
	return 0;
}

/* Rejects an output that is the input file, which not even --force may replace. */
static int check_same(const struct request *request)
{
	struct stat status, from;
	if (stat(request->output, &status) || !S_ISREG(status.st_mode) || stat(request->path, &from) ||
	    from.st_dev != status.st_dev || from.st_ino != status.st_ino)
		return 0;
	return sonde_error(EINVAL, "%s is the imported file itself; choose another name with -o", request->output);
}

/* Returns the folder for temporary files: the output's folder, since it must have space for the recording. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

static int limit_memory(struct request *request)
{
	uint64_t half_b = sonde_roof_memory("") / 2;
	if (!request->memory_b)
		request->memory_b = half_b && half_b < MEMORY_DEFAULT_B ? half_b : MEMORY_DEFAULT_B;
	if (request->memory_b < MEMORY_LEAST_B)
		request->memory_b = MEMORY_LEAST_B;
	return sonde_memory_limit_set(request->memory_b);
}

/* Reports that memory is short. Any allocation may be the one that exceeds the limit, so the message names the limit
 * instead of the allocation. */
static int too_big(const struct request *request)
{
	char limit[24], more[24];
	return sonde_error(
	    EFBIG, "%s needs more than %s of memory; if you trust the file, raise the limit: --max-memory %s",
	    strcmp(request->path, "-") ? request->path : "standard input",
	    sonde_memory_limit_text(request->memory_b, limit), sonde_memory_limit_text(2 * request->memory_b, more));
}

static int import(struct request *request, struct sonde_import_result *result)
{
	struct sonde_atomic_file file;
	int rc = name_output(request);
	rc = rc ? rc : check_same(request);
	rc = rc ? rc : sonde_atomic_file_open(&file, request->output, request->force);
	if (rc)
		return rc;
	char *folder = folder_of(request->output);
	struct sonde_import_options how = {.path = request->path,
					   .format = request->from,
					   .type = request->type,
					   .folder = folder,
					   .fd = file.fd,
					   .name = request->output};
	rc = limit_memory(request);
	rc = rc ? rc : sonde_import(result, &how);
	rc = rc == -ENOMEM ? too_big(request) : rc;
	free(folder);
	return sonde_atomic_file_close(&file, rc);
}

static void tell(const struct request *request, const struct sonde_import_result *result)
{
	const struct {
		uint64_t count;
		const char *one, *many;
	} parts[] = {
	    {result->samples, "sample", "samples"}, {result->zones, "zone", "zones"},
	    {result->spans, "span", "spans"},       {result->marks, "mark", "marks"},
	    {result->values, "value", "values"},
	};
	fprintf(stderr, "sonde: %s: imported from %s", request->output, result->format);
	const char *between = ": ";
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i].count)
			continue;
		fprintf(stderr, "%s%llu %s", between, (unsigned long long)parts[i].count,
			parts[i].count == 1 ? parts[i].one : parts[i].many);
		between = ", ";
	}
	fputc('\n', stderr);
	for (size_t i = 0; i < result->note_count; i++)
		fprintf(stderr, "sonde import: %s\n", result->notes[i]);
}

static int code_of(int error)
{
	if (error == -EINVAL)
		return SONDE_EXIT_USAGE;
	return error == -ENOMEM ? SONDE_EXIT_OURS : SONDE_EXIT_UNREADABLE;
}

static int check_from(const struct request *request)
{
	for (size_t i = 0; request->from && i < sonde_import_format_count; i++)
		if (!strcmp(sonde_import_formats[i]->name, request->from))
			return 0;
	if (!request->from)
		return 0;
	return sonde_command_wrong("import", "--from: unknown format '%s': use perf, chrome, pprof or folded",
				   request->from);
}

static int run(int argc, char **argv)
{
	struct request request = {0};
	struct sonde_parse parse = {.command = sonde_command_find("import"), .found = take, .context = &request};
	struct sonde_import_result result = {0};
	int code = sonde_command_parse(&parse, argc, argv);
	if (!code && !parse.done && !request.path) {
		fprintf(stderr, "sonde import: no file given: sonde import trace.json\n");
		code = SONDE_EXIT_USAGE;
	}
	code = code ? code : check_from(&request);
	if (!code && !parse.done) {
		int rc = import(&request, &result);
		if (rc)
			code = sonde_command_complain("import", code_of(rc));
		else if (!request.quiet)
			tell(&request, &result);
	}
	sonde_import_result_fini(&result);
	free(request.chosen);
	return code;
}

const struct sonde_command sonde_command_import = {
    .name = "import",
    .title = "convert another profiler's file to a recording",
    .usage = "[options] FILE",
    .options = options,
    .examples = "sonde import trace.json.gz            makes trace.sonde here\n"
		"sonde import perf.data && sonde view perf.sonde\n"
		"sonde import --type alloc_space -o heap.sonde heap.pb.gz\n"
		"stackcollapse-perf.pl out | sonde import -o stacks.sonde -\n",
    .run = run,
};
