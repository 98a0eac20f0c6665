/* present_run.c: opens a recording, runs the passes that a format needs, and writes it.
 *
 * `report` and `export` differ in where the output goes when nothing is said; everything else is here once. Sentences
 * are kept by the layers below and printed here, with the command's name before them.
 */
#include "cli/common/present.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/findings/findings.h"
#include "analyze/resource/carbon.h"
#include "analyze/heap/snapshots.h"
#include "analyze/words.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/reading.h"
#include "cli/common/weigh.h"
#include "export/clean.h"
#include "export/gzip.h"
#include "report/report.h"
#include "run/signals.h"
#include "util/error.h"
#include "util/quantity.h"

#define WHOLE_ROWS 1000u      /* of a section of a report with everything in it */
#define EXPORTED_ROWS 100000u /* of a section that an exchange format puts in */

#define FLAG(member) SONDE_FLAG(offsetof(struct sonde_present, member))
#define TEXT(member) SONDE_TEXT(offsetof(struct sonde_present, member))

const struct sonde_option sonde_present_options[] = {
    {"format", 'f', "FORMAT", "the output's format", TEXT(format)},
    {"output", 'o', "FILE", "write there; - is the standard output", TEXT(output)},
    {"plot", 0, "PLOT", "a plot instead, as svg or png; list says which there are", TEXT(plot)},
    {"section", 0, "SECTION", "only these, with commas between them, or all", TEXT(sections)},
    {"sort", 0, "KEY", "rows in the order of", SONDE_FOUND},
    {"limit", 'n', "N", "rows in a table", SONDE_FOUND},
    {"focus", 0, "FUNCTION", "the function whose callers and lines are shown (the hottest)", TEXT(pass.focus)},
    {"weigh", 0, "WEIGHT", "stacks by CPU time, what they allocated, held or left, or waiting", TEXT(weigh)},
    {"at", 0, "TIME", "the moment of --weigh live, counted from the start", TEXT(at)},
    {"heap-of", 0, "HEAP", "whose blocks are weighed, or a pool's name", TEXT(heap_of)},
    {"diff", 0, "A,B", "compare two snapshots, by their numbers or labels", TEXT(diff)},
    {"threshold", 0, "NAME=VALUE", "when a rule of the findings speaks up (sonde advise --rules)", SONDE_FOUND},
    {"country", 0, "CODE", "grams of CO2e by this country's electricity: FR, DE, US, WORLD", TEXT(pass.country)},
    {"carbon-intensity", 0, "G", "the same by grams a kWh", TEXT(pass.carbon_intensity)},
    {"thread", 0, "THREAD", "only the threads with this tid or this name", TEXT(thread)},
    {"from", 0, "TIME", "only what came after, counted from the start: 1.5s, 200ms", TEXT(from)},
    {"to", 0, "TIME", "only what came before", TEXT(to)},
    {"json", 0, NULL, "the same as -f json", SONDE_FOUND},
    {"no-symbols", 0, NULL, "look nothing up beyond what the recording holds", FLAG(session.no_symbols)},
    {"debuginfod", 0, NULL, "fetch missing debug files from the servers in DEBUGINFOD_URLS", FLAG(session.debuginfod)},
    {"max-size", 0, "SIZE", "of html: thin the timeline until the file is about so large (16M)",
     SONDE_SIZE(offsetof(struct sonde_present, most_b), 64 << 10)},
    {"force", 0, NULL, "overwrite FILE", FLAG(force)},
    {"quiet", 'q', NULL, "say nothing but errors", FLAG(quiet)},
    {0},
};

static int complain(const struct sonde_present *present, int exit_code)
{
	fprintf(stderr, "sonde %s: %s\n", present->command, sonde_error_text());
	return exit_code;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

int sonde_present_number(const struct sonde_present *present, const char *name, const char *value, size_t *out)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (!*value || *end || *value == '-' || errno || number > UINT_MAX) {
		fprintf(stderr, "sonde %s: --%s %s is no number; for instance --%s 20\n", present->command, name, value,
			name);
		return SONDE_EXIT_USAGE;
	}
	*out = (size_t)number;
	return 0;
}

static int take_sort(struct sonde_present *present, const char *value)
{
	static const char *const keys[] = {
	    [SONDE_SORT_SELF] = "self", [SONDE_SORT_TOTAL] = "total",     [SONDE_SORT_COUNT] = "count",
	    [SONDE_SORT_NAME] = "name", [SONDE_SORT_LATENCY] = "latency",
	};
	const char *best = NULL;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(keys[i], value) == 0) {
			present->pass.sort = (enum sonde_sort)i;
			return 0;
		}
		sonde_command_nearer(value, keys[i], &best);
	}
	fprintf(stderr, "sonde %s: no order '%s'; %s%s\n", present->command, value,
		best ? "the nearest is " : "known are ", best ? best : "self, total, count, name, latency");
	return SONDE_EXIT_USAGE;
}

static int take_threshold(struct sonde_present *present, const char *value)
{
	double values[SONDE_THRESHOLDS];
	size_t *count = &present->pass.threshold_count;
	if (*count < SONDE_PRESENT_THRESHOLDS_MAX && !sonde_threshold_set(values, value)) {
		present->thresholds[(*count)++] = value;
		return 0;
	}
	fprintf(stderr, "sonde %s: --threshold: %s\n", present->command,
		*count < SONDE_PRESENT_THRESHOLDS_MAX ? sonde_error_text() : "too many");
	return SONDE_EXIT_USAGE;
}

static int take_file(struct sonde_present *present, const char *value)
{
	if (present->file) {
		fprintf(stderr, "sonde %s: one recording at a time; leave '%s' out\n", present->command, value);
		return SONDE_EXIT_USAGE;
	}
	present->file = value;
	return 0;
}

int sonde_present_take(void *context, const struct sonde_option *option, const char *value)
{
	struct sonde_present *present = context;
	if (!option)
		return take_file(present, value);
	if (strcmp(option->name, "json") == 0) {
		present->format = "json";
		return 0;
	}
	if (strcmp(option->name, "sort") == 0)
		return take_sort(present, value);
	if (strcmp(option->name, "threshold") == 0)
		return take_threshold(present, value);
	return sonde_present_number(present, option->name, value, &present->pass.limit);
}

/* --- what is asked for ----------------------------------------------------------------------------------- */

static const struct sonde_format *format_named(const struct sonde_present *present)
{
	const struct sonde_format *format = sonde_format_find(present->format);
	if (format)
		return format;
	const char *best = NULL;
	for (size_t i = 0; i < sonde_format_count; i++)
		sonde_command_nearer(present->format, sonde_formats[i]->name, &best);
	fprintf(stderr, "sonde %s: no format '%s'", present->command, present->format);
	if (best)
		fprintf(stderr, "; the nearest is %s", best);
	fprintf(stderr, " ('sonde %s --help' lists them)\n", present->command);
	return NULL;
}

#define ZIPPED ".gz"
/* Whether the output is compressed because its name says so, and not because its format is. */
static int is_zipped(const struct sonde_present *present, const struct sonde_format *format)
{
	return present->output && sonde_output_ends_with(present->output, ZIPPED) &&
	       !sonde_output_ends_with(format->extension, ZIPPED);
}

/* The format whose extension the output's name ends with, but for .gz; the longest where several do (.speedscope.json,
 * .json). */
static const struct sonde_format *format_of_output(const struct sonde_present *present)
{
	const struct sonde_format *best = NULL;
	for (size_t i = 0; present->output && i < sonde_format_count; i++) {
		char zipped[64];
		const char *extension = sonde_formats[i]->extension;
		snprintf(zipped, sizeof zipped, "%s" ZIPPED, extension);
		if (!sonde_output_ends_with(present->output, extension) &&
		    !sonde_output_ends_with(present->output, zipped))
			continue;
		if (!best || strlen(extension) > strlen(best->extension))
			best = sonde_formats[i];
	}
	return best;
}

/* Whether the output's name has an ending, one that no format has and that is not of texts. */
static int ends_like_another(const struct sonde_present *present)
{
	static const char *const plain[] = {".txt", ".log", ".report", ZIPPED};
	const char *slash = present->output ? strrchr(present->output, '/') : NULL;
	const char *name = slash ? slash + 1 : present->output, *dot = name ? strrchr(name, '.') : NULL;
	if (!dot || dot == name || !dot[1])
		return 0;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (!strcmp(dot, plain[i]))
			return 0;
	return 1;
}

static const struct sonde_format *choose_format(const struct sonde_present *present)
{
	if (present->picture)
		return present->picture;
	if (present->format)
		return format_named(present);
	const struct sonde_format *format = format_of_output(present);
	if (format)
		return format;
	if (!present->beside && ends_like_another(present) && !present->quiet)
		fprintf(stderr, "sonde %s: '%s' ends like no format: it is written as text; -f names another\n",
			present->command, present->output);
	if (!present->beside)
		return sonde_format_find("text");
	if (present->output)
		fprintf(stderr, "sonde %s: '%s' ends like no format; name one with -f\n", present->command,
			present->output);
	else
		fprintf(stderr, "sonde %s: which format? Name one with -f, or a file with -o\n", present->command);
	return NULL;
}

static int add_section(struct sonde_present *present, const char *name)
{
	const struct sonde_pass *pass = sonde_pass_find(name);
	if (pass && present->pass_count < SONDE_PRESENT_PASSES_MAX) {
		present->passes[present->pass_count++] = pass;
		return 0;
	}
	const char *best = NULL;
	for (size_t i = 0; i < sonde_pass_count; i++)
		sonde_command_nearer(name, sonde_passes[i]->name, &best);
	fprintf(stderr, "sonde %s: no section '%s'", present->command, name);
	if (best)
		fprintf(stderr, "; the nearest is %s", best);
	fprintf(stderr, " ('sonde %s --help' lists them)\n", present->command);
	return SONDE_EXIT_USAGE;
}

static int add_sections(struct sonde_present *present)
{
	const char *list = present->sections;
	while (*list) {
		size_t name_b = strcspn(list, ",");
		char name[64];
		snprintf(name, sizeof name, "%.*s", (int)name_b, list);
		int code = *name ? add_section(present, name) : 0;
		if (code)
			return code;
		list += name_b + (list[name_b] == ',');
	}
	return 0;
}

/* A report with everything in it. */
static int is_whole(const struct sonde_format *format)
{
	return format->section && strcmp(format->section, SONDE_FORMAT_ALL) == 0;
}

/* What --section names, else what the format needs or a weight is for, else the passes of a plain report. */
static int choose_passes(struct sonde_present *present, const struct sonde_format *format)
{
	int all = present->sections ? strcmp(present->sections, "all") == 0 : is_whole(format);
	if (is_whole(format) && !present->pass.limit)
		present->pass.limit = WHOLE_ROWS;
	present->pass.asked = present->sections && !all;
	if (present->pass.asked)
		return add_sections(present);
	const char *needed = format->section && !is_whole(format) ? format->section
			     : present->diff                      ? "snapshots"
			     : sonde_weigh_is_given(present)      ? "calltree"
								  : NULL;
	if (needed) {
		present->pass.asked = 1;
		return add_section(present, needed);
	}
	for (size_t i = 0; i < sonde_pass_count && present->pass_count < SONDE_PRESENT_PASSES_MAX; i++)
		if (sonde_passes[i]->standard || all)
			present->passes[present->pass_count++] = sonde_passes[i];
	return 0;
}

/* A time after the start of the recording. */
static int parse_time(const struct sonde_present *present, const char *text, uint64_t start_ns, uint64_t *out)
{
	uint64_t after_ns;
	if (!text)
		return 0;
	int code = sonde_quantity_duration(&after_ns, text);
	if (code)
		return complain(present, SONDE_EXIT_USAGE);
	*out = after_ns < UINT64_MAX - start_ns ? start_ns + after_ns : UINT64_MAX;
	return 0;
}

/* --from and --to, which must leave something of the recording. */
static int choose_time(struct sonde_present *present, const struct sonde_run *run)
{
	struct sonde_pass_options *pass = &present->pass;
	int code = parse_time(present, present->from, run->start_ns, &pass->from_ns);
	if (!code)
		code = parse_time(present, present->to, run->start_ns, &pass->to_ns);
	if (code)
		return code;
	if (present->from && pass->from_ns >= run->end_ns)
		fprintf(stderr, "sonde %s: --from %s is the end of the recording or later: it has %.3f s\n",
			present->command, present->from, (double)(run->end_ns - run->start_ns) / 1e9);
	else if (present->to && pass->to_ns <= (present->from ? pass->from_ns : run->start_ns))
		fprintf(stderr, "sonde %s: --to %s leaves nothing: it must be later than %s\n", present->command,
			present->to, present->from ? present->from : "0");
	else
		return 0;
	return SONDE_EXIT_USAGE;
}

static int choose_threads(struct sonde_present *present, const struct sonde_session *session)
{
	struct sonde_selection *selection = &present->selection;
	if (!present->thread)
		return 0;
	if (sonde_selection_find(selection, session, present->thread) < 0)
		return complain(present, SONDE_EXIT_USAGE);
	snprintf(present->thread_is, sizeof present->thread_is, "%zu thread%s %s %s", selection->count,
		 sonde_plural(selection->count), selection->by_name ? "named" : "with tid", present->thread);
	present->pass.thread = selection->threads;
	present->pass.thread_is = present->thread_is;
	return 0;
}

static int check_carbon(const struct sonde_present *present)
{
	const struct sonde_pass_options *pass = &present->pass;
	double g_kwh;
	if (pass->carbon_intensity && sonde_carbon_parse(pass->carbon_intensity, &g_kwh))
		return complain(present, SONDE_EXIT_USAGE);
	if (pass->country && sonde_carbon_check(pass->country))
		return complain(present, SONDE_EXIT_USAGE);
	return 0;
}

static int choose_snapshots(struct sonde_present *present, const struct sonde_session *session)
{
	struct sonde_pass_options *pass = &present->pass;
	if (present->diff && sonde_snapshots_find(session, present->diff, &pass->diff_from, &pass->diff_to) < 0)
		return complain(present, SONDE_EXIT_USAGE);
	return 0;
}

/* --- writing --------------------------------------------------------------------------------------------- */

static int render(struct sonde_present *present, struct sonde_session *session, const struct sonde_format *format,
		  FILE *file)
{
	struct sonde_format_options style;
	sonde_output_style(&style, file);
	style.from_ns = present->pass.from_ns;
	style.to_ns = present->pass.to_ns;
	style.thread = present->pass.thread;
	style.weigh = present->pass.weigh;
	style.session = session;
	style.most_b = present->most_b;
	if (format->export && !format->section)
		return format->export(session, &style, file);
	struct sonde_report *report;
	int code = sonde_report_new(&report);
	if (code)
		return code;
	present->pass.thresholds = present->thresholds;
	code = sonde_pass_run(session, present->passes, present->pass_count, &present->pass, report);
	style.report = code ? NULL : report;
	if (code && format->export) { /* it goes without what would be put in */
		fprintf(stderr, "sonde %s: without %s: %s\n", present->command, format->section, sonde_error_text());
		code = 0;
	}
	if (!code)
		code = format->export ? format->export(session, &style, file) : format->render(report, &style, file);
	sonde_report_free(report);
	return code;
}

static int render_zipped(struct sonde_present *present, struct sonde_session *session,
			 const struct sonde_format *format, FILE *file)
{
	FILE *zipped;
	int code = sonde_gzip_stream(&zipped, file);
	if (code)
		return code;
	code = render(present, session, format, zipped);
	int bad = ferror(zipped);
	bad |= fclose(zipped);
	return !code && bad && !ferror(file) ? sonde_error(EIO, "%s: what was written is not whole", present->output)
					     : code;
}

/* An option that chooses what a report shows has no meaning where there is no report. */
static int check_options(const struct sonde_present *present, const struct sonde_format *format)
{
	const char *wrong = present->sections               ? "section"
			    : present->pass.sort            ? "sort"
			    : present->pass.limit           ? "limit"
			    : present->pass.focus           ? "focus"
			    : present->diff                 ? "diff"
			    : present->pass.threshold_count ? "threshold"
							    : NULL;
	const char *part = present->from                   ? "from"
			   : present->to                   ? "to"
			   : present->thread               ? "thread"
			   : present->pass.focus           ? "focus"
			   : present->pass.sort            ? "sort"
			   : sonde_weigh_is_given(present) ? "weigh"
							   : NULL;
	if (part && is_whole(format)) {
		fprintf(stderr, "sonde %s: --%s: %s is of the whole run; leave it out, or choose in sonde view\n",
			present->command, part, format->name);
		return SONDE_EXIT_USAGE;
	}
	if (!format->export || !wrong)
		return 0;
	fprintf(stderr,
		"sonde %s: --%s is for reports, and %s is none; leave it out (--thread, --from and --to work)\n",
		present->command, wrong, format->name);
	return SONDE_EXIT_USAGE;
}

/* Whether the output would take the place of what it is made of. */
static int is_recording(const struct sonde_present *present)
{
	struct stat in, out;
	return present->output && strcmp(present->output, "-") && !stat(present->file, &in) &&
	       !stat(present->output, &out) && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* Positive codes are exit codes with their sentence printed, negative ones errnos with their sentence kept. */
static int write_out(struct sonde_present *present, struct sonde_session *session, const struct sonde_format *format)
{
	const struct sonde_run *run = sonde_session_run(session);
	int code = check_options(present, format);
	if (!code && (format->section || !format->export))
		code = choose_passes(present, format);
	if (format->export)
		present->pass.limit = EXPORTED_ROWS;
	if (!code)
		code = choose_threads(present, session);
	if (!code)
		code = choose_snapshots(present, session);
	if (!code)
		code = choose_time(present, run);
	if (!code)
		code = check_carbon(present);
	if (!code)
		code = sonde_weigh_choose(present, session, format);
	if (code)
		return code;
	if (is_recording(present)) {
		fprintf(stderr, "sonde %s: -o %s is the recording itself; name another file\n", present->command,
			present->output);
		return SONDE_EXIT_USAGE;
	}
	struct sonde_output output;
	code = sonde_output_open(&output, present->output, present->force);
	if (code)
		return code;
	code = sonde_output_close(&output, is_zipped(present, format)
					       ? render_zipped(present, session, format, output.file)
					       : render(present, session, format, output.file));
	if (!code && format->export && !present->quiet)
		sonde_present_say_lacks(present, session);
	if (!code && output.path && !present->quiet) {
		struct sonde_buf clean;
		sonde_buf_init(&clean, 8 * PATH_MAX);
		fprintf(stderr, "sonde %s: wrote %s\n", present->command, sonde_clean_text(&clean, output.path));
		sonde_buf_fini(&clean);
	}
	return code;
}

/* The recording's name without its directory and .sonde, with the format's extension. */
static void name_beside(char *out, size_t out_b, const char *recording, const struct sonde_format *format)
{
	const char *slash = strrchr(recording, '/');
	const char *name = slash ? slash + 1 : recording;
	size_t name_b = strlen(name);
	if (sonde_output_ends_with(name, ".sonde"))
		name_b -= 6;
	snprintf(out, out_b, "%.*s%s", (int)name_b, name, format->extension);
}

int sonde_present_run(struct sonde_present *present)
{
	char newest[PATH_MAX], beside[PATH_MAX];
	int plot_code = present->plot ? sonde_plot_choose(present) : 0;
	const struct sonde_format *format = plot_code ? NULL : choose_format(present);
	if (!format)
		return SONDE_EXIT_USAGE;
	if (!present->file && sonde_output_newest(newest, sizeof newest) < 0)
		return complain(present, SONDE_EXIT_USAGE);
	if (!present->file)
		present->file = newest;
	if (!present->output && present->beside) {
		name_beside(beside, sizeof beside, present->file, format);
		present->output = beside;
	}
	if (!present->output && format->binary && isatty(STDOUT_FILENO)) {
		fprintf(stderr, "sonde %s: %s is nothing for a terminal; name a file with -o\n", present->command,
			format->name);
		return SONDE_EXIT_USAGE;
	}
	struct sonde_session *session;
	sonde_signals_ignore_file_limit(NULL); /* a write error, which leaves no half file */
	if (!present->quiet)
		sonde_progress_begin(
		    "sonde: reading the recording and looking up symbols; --no-symbols takes what it holds\n");
	int code = sonde_reading_open(&session, present->file, &present->session);
	sonde_progress_end();
	if (code < 0)
		return complain(present, SONDE_EXIT_UNREADABLE);
	code = write_out(present, session, format);
	free(present->selection.threads);
	sonde_session_close(session);
	int exit_code = code == -EEXIST || code == -EINVAL ? SONDE_EXIT_USAGE : SONDE_EXIT_UNREADABLE;
	return code < 0 ? complain(present, exit_code) : code;
}
