/* advise.c: `sonde advise`: what to fix first in a recorded run, what the fix would save, and how much faster the run
 * would be if parts of it were faster. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analyze/critical/replay.h"
#include "analyze/findings/findings.h"
#include "cli/common/rendering.h"
#include "util/error.h"

enum { WHAT_IFS_MAX = 16 };

struct request {
	struct sonde_rendering rendering; /* must be first: the options of reports refer to it */
	const char *what_if[WHAT_IFS_MAX];
	size_t what_ifs;
	int rules; /* list the rules */
};

#define AT(member) offsetof(struct sonde_rendering, member)

static const struct sonde_option options[] = {
    {"what-if", 0, "KIND=NAME,speed=N", "predict the run time if a zone, function, … were N× faster", SONDE_FOUND},
    {"threshold", 0, "NAME=VALUE", "change the threshold of a rule", SONDE_FOUND},
    {"device", 0, "NAME", "show peak rates of cpu, or of a GPU by part of its name", SONDE_TEXT(AT(pass.device))},
    {"batch-size", 0, "N", "predict the saving if N items are handled at once", SONDE_FOUND},
    {"rules", 0, NULL, "list the rules and their thresholds", SONDE_FLAG(offsetof(struct request, rules))},
    {"format", 'f', "FORMAT", "output format", SONDE_TEXT(AT(format))},
    {"output", 'o', "FILE", "output file; - is the standard output", SONDE_TEXT(AT(output))},
    {"limit", 'n', "N", "maximum rows in a table", SONDE_FOUND},
    {"thread", 0, "THREAD", "only threads with this tid or name", SONDE_TEXT(AT(thread))},
    {"from", 0, "TIME", "only from TIME since the start on (1.5s, 200ms)", SONDE_TEXT(AT(from))},
    {"to", 0, "TIME", "only up to TIME since the start", SONDE_TEXT(AT(to))},
    {"json", 0, NULL, "the same as -f json", SONDE_FOUND},
    {"no-symbols", 0, NULL, "use only the symbols in the recording", SONDE_FLAG(AT(session.no_symbols))},
    {"force", 0, NULL, "overwrite FILE", SONDE_FLAG(AT(force))},
    {"quiet", 'q', NULL, "print only errors", SONDE_FLAG(AT(quiet))},
    {0},
};

static int take_batch(struct sonde_rendering *rendering, const char *name, const char *value)
{
	int code = sonde_rendering_number(rendering, name, value, &rendering->pass.batch);
	if (code || rendering->pass.batch)
		return code;
	return sonde_command_wrong("advise", "--%s 0: a batch holds at least 1 item", name);
}

static int take(void *context, const struct sonde_option *option, const char *value)
{
	struct request *request = context;
	struct sonde_critical_scale scale;
	if (option && !strcmp(option->name, "batch-size"))
		return take_batch(&request->rendering, option->name, value);
	if (!option || strcmp(option->name, "what-if") != 0)
		return sonde_rendering_take(context, option, value);
	if (request->what_ifs == WHAT_IFS_MAX)
		return sonde_command_wrong("advise", "at most %d --what-if options are allowed", WHAT_IFS_MAX);
	if (sonde_critical_scale_parse(&scale, value))
		return sonde_command_wrong("advise", "--what-if: %s", sonde_error_text());
	request->what_if[request->what_ifs++] = value;
	return 0;
}

/* Prints a threshold, on one line if that fits into 80 columns. */
static void print_threshold(const struct sonde_threshold_row *threshold, double value)
{
	int length = snprintf(NULL, 0, "    %s = %.10g  %s", threshold->name, value, threshold->meaning);
	printf("    %s = %.10g%s%s\n", threshold->name, value, length <= 80 ? "  " : "\n        ", threshold->meaning);
}

static int list_rules(const struct sonde_rendering *rendering)
{
	double values[SONDE_THRESHOLDS];
	struct sonde_pass_options given = rendering->pass;
	given.thresholds = rendering->thresholds;
	if (sonde_thresholds_read(values, &given))
		return sonde_command_wrong("advise", "%s", sonde_error_text());
	for (size_t i = 0; i < sonde_rule_count; i++) {
		const struct sonde_rule *rule = &sonde_rules[i];
		size_t length = strlen(rule->id);
		printf("%s%s: %s\n", i ? "\n" : "", rule->id, rule->title);
		if (*rule->record)
			printf("    record %s\n", rule->record);
		for (size_t k = 0; k < SONDE_THRESHOLDS; k++)
			if (!strncmp(sonde_thresholds[k].name, rule->id, length) &&
			    sonde_thresholds[k].name[length] == '.')
				print_threshold(&sonde_thresholds[k], values[k]);
	}
	return 0;
}

static int run(int argc, char **argv)
{
	struct request request = {.rendering = {.command = "advise"}};
	struct sonde_parse parse = {.command = sonde_command_find("advise"), .found = take, .context = &request};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	if (request.rules)
		return list_rules(&request.rendering);
	request.rendering.sections = request.what_ifs ? "what-if" : "findings";
	if (!request.what_ifs && !request.rendering.format && !request.rendering.output)
		request.rendering.format = "advice";
	request.rendering.pass.what_if = request.what_if;
	request.rendering.pass.what_ifs = request.what_ifs;
	return sonde_rendering_run(&request.rendering);
}

const struct sonde_command sonde_command_advise = {
    .name = "advise",
    .title = "list what to fix first, and what it would save",
    .usage = "[options] [FILE]",
    .options = options,
    .examples = "sonde advise app.sonde\n"
		"sonde advise --threshold hot-function.share=5% app.sonde\n"
		"sonde advise --batch-size 32 app.sonde\n"
		"sonde advise --what-if zone=parse,speed=2 app.sonde\n"
		"sonde advise --what-if lock=queue,speed=inf --what-if thread=writer,speed=1.5\n",
    .run = run,
};
