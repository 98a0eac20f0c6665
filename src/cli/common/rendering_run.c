/* rendering_run.c: opens a recording, runs the passes that a format needs, and writes the result.
 *
 * `report` and `export` differ only in their default output; everything else is shared here. Messages come from the
 * layers below and are printed here, after the command's name.
 */
#include "cli/common/rendering.h"

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

#define WHOLE_ROWS 1000u /* rows per section of a complete report */

#define FLAG(member) SONDE_FLAG(offsetof(struct sonde_rendering, member))
#define TEXT(member) SONDE_TEXT(offsetof(struct sonde_rendering, member))

const struct sonde_option sonde_rendering_options[] = {
    {"format", 'f', "FORMAT", "output format", TEXT(format)},
    {"output", 'o', "FILE", "output file; - is the standard output", TEXT(output)},
    {"plot", 0, "PLOT", "draw a plot as svg or png; list names them", TEXT(plot)},
    {"section", 0, "SECTION", "only these sections, separated by commas, or all", TEXT(sections)},
    {"sort", 0, "KEY", "order of the rows", SONDE_FOUND},
    {"limit", 'n', "N", "maximum rows in a table", SONDE_FOUND},
    {"focus", 0, "FUNCTION", "show the callers and lines of this function", TEXT(pass.focus)},
    {"metric", 0, "METRIC", "what call trees and flame graphs show", TEXT(weigh)},
    {"weigh", 0, "METRIC", NULL, TEXT(weigh)}, /* until 0.2: its old name */
    {"at", 0, "TIME", "with --metric live: at TIME since the start (1.5s, 200ms)", TEXT(at)},
    {"heap-of", 0, "HEAP", "for memory metrics: the heap, or the name of a pool", TEXT(heap_of)},
    {"diff", 0, "A,B", "compare two snapshots, by number or label", TEXT(diff)},
    {"threshold", 0, "NAME=VALUE", "change the threshold of a finding (sonde advise --rules)", SONDE_FOUND},
    {"country", 0, "CODE", "CO2e at this country's average: FR, DE, US, WORLD", TEXT(pass.country)},
    {"carbon-intensity", 0, "G", "CO2e at this many grams per kWh of electricity", TEXT(pass.carbon_intensity)},
    {"thread", 0, "THREAD", "only threads with this tid or name", TEXT(thread)},
    {"from", 0, "TIME", "only from TIME since the start on (1.5s, 200ms)", TEXT(from)},
    {"to", 0, "TIME", "only up to TIME since the start", TEXT(to)},
    {"json", 0, NULL, "the same as -f json", SONDE_FOUND},
    {"no-symbols", 0, NULL, "use only the symbols in the recording", FLAG(session.no_symbols)},
    {"debuginfod", 0, NULL, "fetch missing debug files from DEBUGINFOD_URLS", FLAG(session.debuginfod)},
    {"max-size", 0, "SIZE", "html: thin the timeline to keep the file below SIZE (16M)",
     SONDE_SIZE(offsetof(struct sonde_rendering, most_b), 64 << 10)},
    {"force", 0, NULL, "overwrite FILE", FLAG(force)},
    {"quiet", 'q', NULL, "print only errors", FLAG(quiet)},
    {0},
};

/* --- options ------------------------------------------------------------------------------------------------------ */

int sonde_rendering_number(const struct sonde_rendering *rendering, const char *name, const char *value, size_t *out)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (!*value || *end || *value == '-' || errno || number > UINT_MAX)
		return sonde_command_wrong(rendering->command, "--%s %s is not a number; for example --%s 20", name,
					   value, name);
	*out = (size_t)number;
	return 0;
}

static int take_sort(struct sonde_rendering *rendering, const char *value)
{
	static const char *const keys[] = {
	    [SONDE_SORT_SELF] = "self", [SONDE_SORT_TOTAL] = "total",     [SONDE_SORT_COUNT] = "count",
	    [SONDE_SORT_NAME] = "name", [SONDE_SORT_LATENCY] = "latency",
	};
	const char *best = NULL;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(keys[i], value) == 0) {
			rendering->pass.sort = (enum sonde_sort)i;
			return 0;
		}
		sonde_command_nearer(value, keys[i], &best);
	}
	return sonde_command_wrong(rendering->command, "unknown order '%s'; %s%s%s", value,
				   best ? "did you mean " : "known orders: ",
				   best ? best : "self, total, count, name, latency", best ? "?" : "");
}

static int take_threshold(struct sonde_rendering *rendering, const char *value)
{
	double values[SONDE_THRESHOLDS];
	size_t *count = &rendering->pass.threshold_count;
	if (*count < SONDE_RENDERING_THRESHOLDS_MAX && !sonde_threshold_set(values, value)) {
		rendering->thresholds[(*count)++] = value;
		return 0;
	}
	return sonde_command_wrong(rendering->command, "--threshold: %s",
				   *count < SONDE_RENDERING_THRESHOLDS_MAX ? sonde_error_text() : "too many");
}

static int take_file(struct sonde_rendering *rendering, const char *value)
{
	if (rendering->file)
		return sonde_command_wrong(rendering->command, "one recording at a time; leave '%s' out", value);
	rendering->file = value;
	return 0;
}

int sonde_rendering_take(void *context, const struct sonde_option *option, const char *value)
{
	struct sonde_rendering *rendering = context;
	if (!option)
		return take_file(rendering, value);
	if (strcmp(option->name, "json") == 0) {
		rendering->format = "json";
		return 0;
	}
	if (strcmp(option->name, "sort") == 0)
		return take_sort(rendering, value);
	if (strcmp(option->name, "threshold") == 0)
		return take_threshold(rendering, value);
	return sonde_rendering_number(rendering, option->name, value, &rendering->pass.limit);
}

/* --- choices --------------------------------------------------------------------------------------------- */

static const struct sonde_format *format_named(const struct sonde_rendering *rendering)
{
	const struct sonde_format *format = sonde_format_find(rendering->format);
	if (format)
		return format;
	const char *best = NULL;
	for (size_t i = 0; i < sonde_format_count; i++)
		sonde_command_nearer(rendering->format, sonde_formats[i]->name, &best);
	fprintf(stderr, "sonde %s: unknown format '%s'", rendering->command, rendering->format);
	if (best)
		fprintf(stderr, "; did you mean %s?", best);
	fprintf(stderr, " ('sonde %s --help' lists them)\n", rendering->command);
	return NULL;
}

#define ZIPPED ".gz"
/* True if the output is compressed because of its name, not because of its format. */
static int is_zipped(const struct sonde_rendering *rendering, const struct sonde_format *format)
{
	return rendering->output && sonde_output_ends_with(rendering->output, ZIPPED) &&
	       !sonde_output_ends_with(format->extension, ZIPPED);
}

/* The format whose extension the output's name has, ignoring .gz; the longest match wins (.speedscope.json, .json). */
static const struct sonde_format *format_of_output(const struct sonde_rendering *rendering)
{
	const struct sonde_format *best = NULL;
	for (size_t i = 0; rendering->output && i < sonde_format_count; i++) {
		char zipped[64];
		const char *extension = sonde_formats[i]->extension;
		snprintf(zipped, sizeof zipped, "%s" ZIPPED, extension);
		if (!sonde_output_ends_with(rendering->output, extension) &&
		    !sonde_output_ends_with(rendering->output, zipped))
			continue;
		if (!best || strlen(extension) > strlen(best->extension))
			best = sonde_formats[i];
	}
	return best;
}

/* True if the output's name has an extension that is neither a format's nor that of a text file. */
static int ends_like_another(const struct sonde_rendering *rendering)
{
	static const char *const plain[] = {".txt", ".log", ".report", ZIPPED};
	const char *slash = rendering->output ? strrchr(rendering->output, '/') : NULL;
	const char *name = slash ? slash + 1 : rendering->output, *dot = name ? strrchr(name, '.') : NULL;
	if (!dot || dot == name || !dot[1])
		return 0;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (!strcmp(dot, plain[i]))
			return 0;
	return 1;
}

static const struct sonde_format *choose_format(const struct sonde_rendering *rendering)
{
	if (rendering->picture)
		return rendering->picture;
	if (rendering->format)
		return format_named(rendering);
	const struct sonde_format *format = format_of_output(rendering);
	if (format)
		return format;
	if (!rendering->is_named_like_recording && ends_like_another(rendering) && !rendering->quiet)
		fprintf(stderr, "sonde %s: unknown extension '%s': writing text; -f sets the format\n",
			rendering->command, rendering->output);
	if (!rendering->is_named_like_recording)
		return sonde_format_find("text");
	if (rendering->output)
		fprintf(stderr, "sonde %s: unknown extension '%s'; set the format with -f\n", rendering->command,
			rendering->output);
	else
		fprintf(stderr, "sonde %s: which format? Set it with -f, or name a file with -o\n", rendering->command);
	return NULL;
}

static int add_section(struct sonde_rendering *rendering, const char *name)
{
	const struct sonde_pass *pass = sonde_pass_find(name);
	if (pass && rendering->pass_count < SONDE_RENDERING_PASSES_MAX) {
		rendering->passes[rendering->pass_count++] = pass;
		return 0;
	}
	const char *best = NULL;
	for (size_t i = 0; i < sonde_pass_count; i++)
		sonde_command_nearer(name, sonde_passes[i]->name, &best);
	fprintf(stderr, "sonde %s: unknown section '%s'", rendering->command, name);
	if (best)
		fprintf(stderr, "; did you mean %s?", best);
	fprintf(stderr, " ('sonde %s --help' lists them)\n", rendering->command);
	return SONDE_EXIT_USAGE;
}

static int add_sections(struct sonde_rendering *rendering)
{
	const char *list = rendering->sections;
	while (*list) {
		size_t name_b = strcspn(list, ",");
		char name[64];
		snprintf(name, sizeof name, "%.*s", (int)name_b, list);
		int code = *name ? add_section(rendering, name) : 0;
		if (code)
			return code;
		list += name_b + (list[name_b] == ',');
	}
	return 0;
}

/* True for a complete report. */
static int is_whole(const struct sonde_format *format)
{
	return format->section && strcmp(format->section, SONDE_FORMAT_ALL) == 0;
}

/* The sections of --section, else those needed by the format or a weight, else those of a default report. */
static int choose_passes(struct sonde_rendering *rendering, const struct sonde_format *format)
{
	int all = rendering->sections ? strcmp(rendering->sections, "all") == 0 : is_whole(format);
	if (is_whole(format) && !rendering->pass.limit)
		rendering->pass.limit = WHOLE_ROWS;
	rendering->pass.requested = rendering->sections && !all;
	if (rendering->pass.requested)
		return add_sections(rendering);
	const char *needed = format->section && !is_whole(format) ? format->section
			     : rendering->diff                    ? "snapshots"
			     : sonde_weigh_is_given(rendering)    ? "calltree"
								  : NULL;
	if (needed) {
		rendering->pass.requested = 1;
		return add_section(rendering, needed);
	}
	for (size_t i = 0; i < sonde_pass_count && rendering->pass_count < SONDE_RENDERING_PASSES_MAX; i++)
		if (sonde_passes[i]->standard || all)
			rendering->passes[rendering->pass_count++] = sonde_passes[i];
	return 0;
}

/* Parses a time after the start of the recording. */
static int parse_time(const struct sonde_rendering *rendering, const char *text, uint64_t start_ns, uint64_t *out)
{
	uint64_t after_ns;
	if (!text)
		return 0;
	int code = sonde_quantity_duration(&after_ns, text);
	if (code)
		return sonde_command_complain(rendering->command, SONDE_EXIT_USAGE);
	*out = after_ns < UINT64_MAX - start_ns ? start_ns + after_ns : UINT64_MAX;
	return 0;
}

/* Applies --from and --to, which must not exclude the whole recording. */
static int choose_time(struct sonde_rendering *rendering, const struct sonde_run *run)
{
	struct sonde_pass_options *pass = &rendering->pass;
	int code = parse_time(rendering, rendering->from, run->start_ns, &pass->selection.from_ns);
	if (!code)
		code = parse_time(rendering, rendering->to, run->start_ns, &pass->selection.to_ns);
	if (code)
		return code;
	if (rendering->from && pass->selection.from_ns >= run->end_ns)
		fprintf(stderr, "sonde %s: --from %s is past the end of the recording (%.3f s)\n", rendering->command,
			rendering->from, (double)(run->end_ns - run->start_ns) / 1e9);
	else if (rendering->to && pass->selection.to_ns <= (rendering->from ? pass->selection.from_ns : run->start_ns))
		fprintf(stderr, "sonde %s: --to %s must be later than %s\n", rendering->command, rendering->to,
			rendering->from ? rendering->from : "0");
	else
		return 0;
	return SONDE_EXIT_USAGE;
}

static int choose_threads(struct sonde_rendering *rendering, const struct sonde_session *session)
{
	struct sonde_thread_selection *selection = &rendering->threads;
	if (!rendering->thread)
		return 0;
	if (sonde_thread_selection_find(selection, session, rendering->thread) < 0)
		return sonde_command_complain(rendering->command, SONDE_EXIT_USAGE);
	snprintf(rendering->thread_is, sizeof rendering->thread_is, "%zu thread%s %s %s", selection->count,
		 sonde_plural(selection->count), selection->by_name ? "named" : "with tid", rendering->thread);
	rendering->pass.selection.thread = selection->threads;
	rendering->pass.thread_is = rendering->thread_is;
	return 0;
}

static int check_carbon(const struct sonde_rendering *rendering)
{
	const struct sonde_pass_options *pass = &rendering->pass;
	double g_kwh;
	if (pass->carbon_intensity && sonde_carbon_parse(pass->carbon_intensity, &g_kwh))
		return sonde_command_complain(rendering->command, SONDE_EXIT_USAGE);
	if (pass->country && sonde_carbon_check(pass->country))
		return sonde_command_complain(rendering->command, SONDE_EXIT_USAGE);
	return 0;
}

static int choose_snapshots(struct sonde_rendering *rendering, const struct sonde_session *session)
{
	struct sonde_pass_options *pass = &rendering->pass;
	if (rendering->diff && sonde_snapshots_find(session, rendering->diff, &pass->diff_from, &pass->diff_to) < 0)
		return sonde_command_complain(rendering->command, SONDE_EXIT_USAGE);
	return 0;
}

/* --- writing --------------------------------------------------------------------------------------------- */

static int render(struct sonde_rendering *rendering, struct sonde_session *session, const struct sonde_format *format,
		  FILE *file)
{
	struct sonde_format_options style;
	sonde_output_style(&style, file);
	style.selection = rendering->pass.selection;
	style.weigh = rendering->pass.weigh;
	style.session = session;
	style.most_b = rendering->most_b;
	if (format->export)
		return format->export(session, &style, file);
	struct sonde_report *report;
	int code = sonde_report_new(&report);
	if (code)
		return code;
	rendering->pass.thresholds = rendering->thresholds;
	code = sonde_pass_run(session, rendering->passes, rendering->pass_count, &rendering->pass, report);
	if (!code)
		code = format->render(report, &style, file);
	sonde_report_free(report);
	return code;
}

static int render_zipped(struct sonde_rendering *rendering, struct sonde_session *session,
			 const struct sonde_format *format, FILE *file)
{
	FILE *zipped;
	int code = sonde_gzip_stream(&zipped, file);
	if (code)
		return code;
	code = render(rendering, session, format, zipped);
	int bad = ferror(zipped);
	bad |= fclose(zipped);
	return !code && bad && !ferror(file) ? sonde_error(EIO, "%s: the output is incomplete", rendering->output)
					     : code;
}

/* Options that select report contents are errors for formats without a report. */
static int check_options(const struct sonde_rendering *rendering, const struct sonde_format *format)
{
	const char *wrong = rendering->sections               ? "section"
			    : rendering->pass.sort            ? "sort"
			    : rendering->pass.limit           ? "limit"
			    : rendering->pass.focus           ? "focus"
			    : rendering->diff                 ? "diff"
			    : rendering->pass.threshold_count ? "threshold"
							      : NULL;
	const char *part = rendering->from                   ? "from"
			   : rendering->to                   ? "to"
			   : rendering->thread               ? "thread"
			   : rendering->pass.focus           ? "focus"
			   : rendering->pass.sort            ? "sort"
			   : sonde_weigh_is_given(rendering) ? "metric"
							     : NULL;
	if (part && is_whole(format))
		return sonde_command_wrong(
		    rendering->command,
		    "--%s: %s always shows the whole run; leave the option out, or select in sonde view", part,
		    format->name);
	if (!format->export || !wrong)
		return 0;
	return sonde_command_wrong(
	    rendering->command,
	    "--%s works only with reports, not with %s; leave it out (--thread, --from and --to work)", wrong,
	    format->name);
}

/* True if the output would overwrite its own input. */
static int is_recording(const struct sonde_rendering *rendering)
{
	struct stat in, out;
	return rendering->output && strcmp(rendering->output, "-") && !stat(rendering->file, &in) &&
	       !stat(rendering->output, &out) && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* Positive results are exit codes whose message was printed, negative ones errnos whose message is still pending. */
static int write_out(struct sonde_rendering *rendering, struct sonde_session *session,
		     const struct sonde_format *format)
{
	const struct sonde_run *run = sonde_session_run(session);
	int code = check_options(rendering, format);
	if (!code && !format->export)
		code = choose_passes(rendering, format);
	if (!code)
		code = choose_threads(rendering, session);
	if (!code)
		code = choose_snapshots(rendering, session);
	if (!code)
		code = choose_time(rendering, run);
	if (!code)
		code = check_carbon(rendering);
	if (!code)
		code = sonde_weigh_choose(rendering, session, format);
	if (code)
		return code;
	if (is_recording(rendering))
		return sonde_command_wrong(rendering->command, "-o %s is the recording itself; name another file",
					   rendering->output);
	struct sonde_output output;
	code = sonde_output_open(&output, rendering->output, rendering->force);
	if (code)
		return code;
	code = sonde_output_close(&output, is_zipped(rendering, format)
					       ? render_zipped(rendering, session, format, output.file)
					       : render(rendering, session, format, output.file));
	if (!code && format->export && !rendering->quiet)
		sonde_rendering_say_missing(rendering, session);
	if (!code && output.path && !rendering->quiet) {
		struct sonde_buf clean;
		sonde_buf_init(&clean, 8 * PATH_MAX);
		fprintf(stderr, "sonde %s: wrote %s\n", rendering->command, sonde_clean_text(&clean, output.path));
		sonde_buf_fini(&clean);
	}
	return code;
}

/* The recording's name without its directory and .sonde, with the format's extension. */
static void name_like(char *out, size_t out_b, const char *recording, const struct sonde_format *format)
{
	const char *slash = strrchr(recording, '/');
	const char *name = slash ? slash + 1 : recording;
	size_t name_b = strlen(name);
	if (sonde_output_ends_with(name, ".sonde"))
		name_b -= 6;
	snprintf(out, out_b, "%.*s%s", (int)name_b, name, format->extension);
}

int sonde_rendering_run(struct sonde_rendering *rendering)
{
	char newest[PATH_MAX], is_named_like_recording[PATH_MAX];
	int plot_code = rendering->plot ? sonde_plot_choose(rendering) : 0;
	const struct sonde_format *format = plot_code ? NULL : choose_format(rendering);
	if (!format)
		return SONDE_EXIT_USAGE;
	if (!rendering->file && sonde_output_newest(newest, sizeof newest) < 0)
		return sonde_command_complain(rendering->command, SONDE_EXIT_USAGE);
	if (!rendering->file)
		rendering->file = newest;
	if (!rendering->output && rendering->is_named_like_recording) {
		name_like(is_named_like_recording, sizeof is_named_like_recording, rendering->file, format);
		rendering->output = is_named_like_recording;
	}
	if (!rendering->output && format->binary && isatty(STDOUT_FILENO))
		return sonde_command_wrong(rendering->command, "%s cannot be shown on a terminal; name a file with -o",
					   format->name);
	struct sonde_session *session;
	/* exceeding the limit becomes a write error, which leaves no partial file */
	sonde_signals_ignore_file_limit(NULL);
	if (!rendering->quiet)
		sonde_progress_begin(
		    "sonde: reading the recording and looking up symbols; --no-symbols skips the lookup\n");
	int code = sonde_reading_open(&session, rendering->file, &rendering->session);
	sonde_progress_end();
	if (code < 0)
		return sonde_command_complain(rendering->command, SONDE_EXIT_UNREADABLE);
	code = write_out(rendering, session, format);
	free(rendering->threads.threads);
	sonde_session_close(session);
	int exit_code = code == -EEXIST || code == -EINVAL ? SONDE_EXIT_USAGE : SONDE_EXIT_UNREADABLE;
	return code < 0 ? sonde_command_complain(rendering->command, exit_code) : code;
}
