/* merge.c: `sonde merge`: merges recordings of several processes, ranks or machines into one. The new file gets its
 * name when it is complete (common/atomic_file.h). */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/atomic_file.h"
#include "cli/common/command.h"
#include "merge/merge.h"

struct request {
	const char *output, *align;
	int force, quiet;
	const char **paths;
	size_t count;
	struct sonde_merge_options options;
};

#define AT(member) offsetof(struct request, member)

static const struct sonde_option options[] = {
    {"output", 'o', "FILE", "output recording (default: merged.sonde)", SONDE_TEXT(AT(output))},
    {"align", 0, "real|start|zone=NAME", "align by wall clock, by start, or by the first zone NAME",
     SONDE_TEXT(AT(align))},
    {"force", 0, NULL, "overwrite FILE", SONDE_FLAG(AT(force))},
    {"quiet", 'q', NULL, "print only errors", SONDE_FLAG(AT(quiet))},
    {0},
};

static int take(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	if (option)
		return 0;
	const char **grown = realloc(request->paths, (request->count + 1) * sizeof *grown);
	if (!grown) {
		fprintf(stderr, "sonde merge: out of memory\n");
		return SONDE_EXIT_OURS;
	}
	request->paths = grown;
	request->paths[request->count++] = value;
	return 0;
}

static int align_parse(struct request *request)
{
	const char *text = request->align ? request->align : "real";
	if (!strcmp(text, "real"))
		request->options.align = SONDE_MERGE_CLOCKS;
	else if (!strcmp(text, "start"))
		request->options.align = SONDE_MERGE_STARTS;
	else if (!strncmp(text, "zone=", 5) && text[5])
		request->options.align = SONDE_MERGE_ZONES;
	else {
		return sonde_command_wrong("merge", "--align: unknown value '%s': use real, start or zone=NAME", text);
	}
	request->options.zone = request->options.align == SONDE_MERGE_ZONES ? text + 5 : NULL;
	return 0;
}

/* Rejects an output that is one of the input recordings, which not even --force may replace. */
static int check_same(const struct request *request)
{
	struct stat status, from;
	int is_there = !stat(request->output, &status) && S_ISREG(status.st_mode);
	for (size_t i = 0; is_there && i < request->count; i++) {
		if (stat(request->paths[i], &from) || from.st_dev != status.st_dev || from.st_ino != status.st_ino)
			continue;
		return sonde_command_wrong("merge", "-o %s is one of the inputs; name another file", request->output);
	}
	return 0;
}

static int merge(struct request *request, struct sonde_merge_result *result)
{
	struct sonde_atomic_file file;
	int rc = sonde_atomic_file_open(&file, request->output, request->force);
	if (rc)
		return rc;
	request->options.fd = file.fd;
	request->options.name = request->output;
	rc = sonde_merge(result, request->paths, request->count, &request->options);
	return sonde_atomic_file_close(&file, rc);
}

static void tell(const struct request *request, const struct sonde_merge_result *result)
{
	fprintf(stderr, "sonde: %s: %zu recording%s", request->output, result->parts, result->parts == 1 ? "" : "s");
	if (result->machines > 1)
		fprintf(stderr, " from %zu machines", result->machines);
	fprintf(stderr, ", %.3f s from the first start to the last end\n", (double)result->wall_ns / 1e9);
	if (result->damaged_b)
		fprintf(stderr, "sonde merge: %llu damaged bytes were skipped\n",
			(unsigned long long)result->damaged_b);
	if (!result->is_whole)
		fprintf(stderr, "sonde merge: some recordings are incomplete: what they hold is merged\n");
}

static int run(int argc, char **argv)
{
	struct request request = {.output = "merged.sonde"};
	struct sonde_parse parse = {.command = sonde_command_find("merge"), .found = take, .context = &request};
	struct sonde_merge_result result;
	int code = sonde_command_parse(&parse, argc, argv);
	if (!code && !parse.done && !request.count) {
		fprintf(stderr, "sonde merge: no recording given: sonde merge -o ALL.sonde A.sonde B.sonde\n");
		code = SONDE_EXIT_USAGE;
	}
	code = code ? code : align_parse(&request);
	code = code || parse.done ? code : check_same(&request);
	if (!code && !parse.done) {
		int rc = merge(&request, &result);
		if (rc)
			code = sonde_command_complain("merge", rc == -ENOMEM ? SONDE_EXIT_OURS : SONDE_EXIT_UNREADABLE);
		else if (!request.quiet)
			tell(&request, &result);
	}
	free(request.paths);
	return code;
}

const struct sonde_command sonde_command_merge = {
    .name = "merge",
    .title = "merge recordings of several processes, ranks or machines",
    .usage = "[options] FILE…",
    .options = options,
    .examples = "sonde merge -o all.sonde rank0.sonde rank1.sonde\n"
		"sonde merge --align=zone=step -o both.sonde here.sonde there.sonde\n"
		"sonde report all.sonde\n",
    .run = run,
};
