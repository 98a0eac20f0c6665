/* merge.c: `sonde merge`: several recordings, of processes, ranks or machines, into one.
 *
 * The new file grows beside its name and gets it when it is whole, so that neither a full disk nor an interrupt leaves
 * half of one there.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "merge/merge.h"
#include "run/signals.h"
#include "util/error.h"

struct request {
	const char *output, *align;
	int force, quiet;
	const char **paths;
	size_t count;
	struct sonde_merge_options options;
};

#define AT(member) offsetof(struct request, member)

static const struct sonde_option options[] = {
    {"output", 'o', "FILE", "the recording to make (merged.sonde)", SONDE_TEXT(AT(output))},
    {"align", 0, "real|start|zone=NAME", "one clock by the wall clocks, the starts, or the first NAME",
     SONDE_TEXT(AT(align))},
    {"force", 0, NULL, "overwrite FILE", SONDE_FLAG(AT(force))},
    {"quiet", 'q', NULL, "say nothing but errors", SONDE_FLAG(AT(quiet))},
    {0},
};

/* The file that is being made, for the handler alone. */
static char *volatile unfinished;

static void give_up(int number)
{
	if (unfinished)
		unlink(unfinished);
	signal(number, SIG_DFL);
	raise(number);
}

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
		fprintf(stderr, "sonde merge: --align: %s is not known; it is real, start or zone=NAME\n", text);
		return SONDE_EXIT_USAGE;
	}
	request->options.zone = request->options.align == SONDE_MERGE_ZONES ? text + 5 : NULL;
	return 0;
}

/* --- the file ---------------------------------------------------------------------------------------------------- */

static int check_output(const struct request *request)
{
	struct stat status;
	if (stat(request->output, &status))
		return 0;
	if (!S_ISREG(status.st_mode))
		return sonde_error(EINVAL, "%s is no file; choose another name with -o", request->output);
	if (request->force)
		return 0;
	return sonde_error(EEXIST, "%s exists; choose another name with -o, or overwrite it with --force",
			   request->output);
}

static int create(const struct request *request, char **out)
{
	char *beside;
	if (asprintf(&beside, "%s.XXXXXX", request->output) < 0)
		return sonde_error(ENOMEM, "out of memory");
	int fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0) {
		int code = errno;
		free(beside);
		return sonde_error(code, "%s: %s; choose another place with -o", request->output, strerror(code));
	}
	*out = beside;
	return fd;
}

/* Gives it its name; without --force none that has come to be there meanwhile is replaced. */
static int publish(const struct request *request, const char *beside)
{
	int failed = request->force ? rename(beside, request->output)
				    : renameat2(AT_FDCWD, beside, AT_FDCWD, request->output, RENAME_NOREPLACE);
	if (failed && !request->force && errno == EINVAL) /* the file system cannot do both at once */
		failed = check_output(request) ? -1 : rename(beside, request->output);
	return failed ? sonde_error(errno, "%s: %s; choose another name with -o", request->output, strerror(errno)) : 0;
}

static int merge(struct request *request, struct sonde_merge_result *result)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	char *beside = NULL;
	int fd = check_output(request);
	fd = fd ? fd : create(request, &beside);
	if (fd < 0)
		return fd;
	unfinished = beside;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (signal(signals[i], give_up) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	sonde_signals_ignore_file_limit(NULL); /* a write error, which leaves no half file */
	request->options.fd = fd;
	request->options.name = request->output;
	int error = sonde_merge(result, request->paths, request->count, &request->options);
	if (!error && fsync(fd) && errno != EINVAL) /* its name comes to what is on the disk */
		error = sonde_error(errno, "%s: %s", request->output, strerror(errno));
	close(fd);
	error = error ? error : publish(request, beside);
	unfinished = NULL;
	if (error)
		unlink(beside);
	free(beside);
	return error;
}

static void tell(const struct request *request, const struct sonde_merge_result *result)
{
	fprintf(stderr, "sonde: %s: %zu recording%s", request->output, result->parts, result->parts == 1 ? "" : "s");
	if (result->machines > 1)
		fprintf(stderr, " of %zu machines", result->machines);
	fprintf(stderr, ", %.3f s from the first start to the last end\n", (double)result->wall_ns / 1e9);
	if (result->damaged_b)
		fprintf(stderr, "sonde merge: %llu bytes could not be read; what they held is left out\n",
			(unsigned long long)result->damaged_b);
	if (!result->is_whole)
		fprintf(stderr, "sonde merge: not all recordings were closed in order: what they hold is taken\n");
}

static int run(int argc, char **argv)
{
	struct request request = {.output = "merged.sonde"};
	struct sonde_parse parse = {.command = sonde_command_find("merge"), .found = take, .context = &request};
	struct sonde_merge_result result;
	int code = sonde_command_parse(&parse, argc, argv);
	for (int i = parse.rest; !code && !parse.done && i < argc; i++)
		code = take(&request, NULL, argv[i]);
	if (!code && !parse.done && !request.count) {
		fprintf(stderr, "sonde merge: no recording is named: sonde merge -o ALL.sonde A.sonde B.sonde\n");
		code = SONDE_EXIT_USAGE;
	}
	code = code ? code : align_parse(&request);
	if (!code && !parse.done) {
		int error = merge(&request, &result);
		if (error) {
			fprintf(stderr, "sonde merge: %s\n", sonde_error_text());
			code = error == -ENOMEM || error == -ENOSPC || error == -EFBIG ? SONDE_EXIT_OURS
										       : SONDE_EXIT_UNREADABLE;
		} else if (!request.quiet) {
			tell(&request, &result);
		}
	}
	free(request.paths);
	return code;
}

const struct sonde_command sonde_command_merge = {
    .name = "merge",
    .title = "make one recording of several processes, ranks or machines",
    .usage = "[options] FILE…",
    .options = options,
    .examples = "sonde merge -o all.sonde rank0.sonde rank1.sonde\n"
		"sonde merge --align=zone=step -o both.sonde here.sonde there.sonde\n"
		"sonde report all.sonde\n",
    .run = run,
};
