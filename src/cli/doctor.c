/* doctor.c: `sonde doctor`: what can be recorded here, what cannot, and the smallest change that would help.
 *
 * It runs every source's own probe, and then the checks of common/checks.c. Text is written here, because a report's
 * table would cut the important messages; the other formats are written like any report. Red means that nothing can be
 * recorded.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/checks.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "export/format.h"
#include "export/text/text.h"
#include "report/report.h"
#include "format/wait.h"
#include "source/record/recorder.h"
#include "source/source.h"

struct row {
	const char *name;
	const char *cost; /* overhead of recording with this source; NULL if not applicable */
	struct sonde_finding finding;
};

struct doctor {
	const char *format, *output;
	int force, quiet;
	struct row *rows;
	size_t count;
	enum sonde_verdict worst;
};

static const struct {
	const char *word, *color;
} verdicts[] = {
    [SONDE_VERDICT_GREEN] = {"green", "\033[32m"},
    [SONDE_VERDICT_YELLOW] = {"yellow", "\033[33m"},
    [SONDE_VERDICT_RED] = {"red", "\033[31m"},
};

/* --- probing ---------------------------------------------------------------------------------------------------- */

static void probe_source(const struct sonde_source *source, struct sonde_finding *out)
{
	const struct sonde_record_options options = {.rate_hz = 1000,
						     .blas = 1,
						     .gpu = SONDE_GPU_API,
						     .flop = 1,
						     .energy = 1,
						     .heap = 1,
						     .waits = SONDE_WAIT_WHAT_LOCKS | SONDE_WAIT_WHAT_IO};
	char why[sizeof out->what] = "";
	int code = source->probe ? source->probe(&options, why, sizeof why) : 0;
	out->verdict = code || *why ? SONDE_VERDICT_YELLOW : SONDE_VERDICT_GREEN;
	snprintf(out->what, sizeof out->what, "%s", *why ? why : source->title);
}

static int look(struct doctor *doctor)
{
	doctor->rows = calloc(sonde_source_count + sonde_check_count + 1, sizeof *doctor->rows);
	if (!doctor->rows)
		return 0;
	size_t unusable = 0;
	for (size_t i = 0; i < sonde_source_count; i++) {
		struct row *row = &doctor->rows[doctor->count++];
		row->name = sonde_sources[i]->name;
		row->cost = sonde_sources[i]->cost;
		probe_source(sonde_sources[i], &row->finding);
		unusable += row->finding.verdict != SONDE_VERDICT_GREEN;
	}
	for (size_t i = 0; i < sonde_source_count && unusable == sonde_source_count; i++)
		doctor->rows[i].finding.verdict = SONDE_VERDICT_RED;
	for (size_t i = 0; i < sonde_check_count; i++) {
		struct row *row = &doctor->rows[doctor->count++];
		row->name = sonde_checks[i].name;
		sonde_checks[i].look(&row->finding);
	}
	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->rows[i].finding.verdict > doctor->worst)
			doctor->worst = doctor->rows[i].finding.verdict;
	return 1;
}

enum { FOUND_AT = 27 }; /* width of the columns before the finding */

/* --- printing --------------------------------------------------------------------------------------------------- */

static const char *summary(const struct doctor *doctor)
{
	static const char *const sentences[] = {
	    [SONDE_VERDICT_GREEN] = "Everything works.",
	    [SONDE_VERDICT_YELLOW] = "Recording works, with the limits marked yellow.",
	    [SONDE_VERDICT_RED] = "Something red cannot be recorded: see its fix.",
	};
	return sentences[doctor->worst];
}

/* Returns the width at which lines are wrapped. If the output's width is unknown, lines are not wrapped, so that grep
 * finds whole messages. */
static int width_of(const struct sonde_format_options *style, FILE *out)
{
	return isatty(fileno(out)) || getenv("COLUMNS") ? style->width : INT_MAX;
}

static void write_more(FILE *out, const char *title, const char *text, int width)
{
	int indent = FOUND_AT + (int)strlen(title);
	fprintf(out, "%*s%s", FOUND_AT, "", title);
	sonde_text_wrap(out, text, width, indent);
}

static void write_text(const struct doctor *doctor, FILE *out)
{
	struct sonde_format_options style;
	sonde_output_style(&style, out);
	int width = width_of(&style, out);
	for (size_t i = 0; i < doctor->count; i++) {
		const struct row *row = &doctor->rows[i];
		if (doctor->quiet && row->finding.verdict != SONDE_VERDICT_RED)
			continue;
		fprintf(out, "%s%-7s%s %-18s ", style.color ? verdicts[row->finding.verdict].color : "",
			verdicts[row->finding.verdict].word, style.color ? "\033[0m" : "", row->name);
		sonde_text_wrap(out, row->finding.what, width, FOUND_AT);
		if (*row->finding.fix && row->finding.verdict != SONDE_VERDICT_GREEN)
			write_more(out, "fix: ", row->finding.fix, width);
		if (row->cost && !doctor->quiet)
			write_more(out, "overhead: ", row->cost, width);
	}
	if (!doctor->quiet)
		fprintf(out, "%s\n", summary(doctor));
}

static void fill_report(const struct doctor *doctor, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
	    {.key = "check", .title = "check"},
	    {.key = "verdict", .title = "verdict"},
	    {.key = "found", .title = "found", .wide = 1},
	    {.key = "fix", .title = "fix", .wide = 1},
	    {.key = "cost", .title = "recording overhead", .wide = 1},
	};
	report->title = "sonde doctor";
	struct sonde_section *section = sonde_report_table(report, "doctor", "What can be recorded here", columns,
							   sizeof columns / sizeof *columns);
	for (size_t i = 0; i < doctor->count; i++) {
		struct sonde_cell *cells = sonde_report_row(report, section);
		const struct sonde_finding *finding = &doctor->rows[i].finding;
		cells[0] = sonde_cell_text(doctor->rows[i].name);
		cells[1] = sonde_cell_text(verdicts[finding->verdict].word);
		cells[2] = sonde_cell_text(finding->what);
		cells[3] = *finding->fix ? sonde_cell_text(finding->fix) : sonde_cell_absent(NULL);
		cells[4] = doctor->rows[i].cost ? sonde_cell_text(doctor->rows[i].cost) : sonde_cell_absent(NULL);
	}
	sonde_report_note(report, section, doctor->worst != SONDE_VERDICT_GREEN, "%s", summary(doctor));
}

static int write_report(const struct doctor *doctor, const struct sonde_format *format, FILE *out)
{
	struct sonde_report *report;
	int code = sonde_report_new(&report);
	if (code)
		return code;
	struct sonde_format_options style;
	sonde_output_style(&style, out);
	fill_report(doctor, report);
	code = sonde_report_status(report);
	code = code ? code : format->render(report, &style, out);
	sonde_report_free(report);
	return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static const struct sonde_option options[] = {
    {"format", 'f', "FORMAT", "output format", SONDE_TEXT(offsetof(struct doctor, format))},
    {"output", 'o', "FILE", "output file; - is the standard output", SONDE_TEXT(offsetof(struct doctor, output))},
    {"json", 0, NULL, "the same as -f json", SONDE_FOUND},
    {"force", 0, NULL, "overwrite FILE", SONDE_FLAG(offsetof(struct doctor, force))},
    {"quiet", 'q', NULL, "only the failed checks", SONDE_FLAG(offsetof(struct doctor, quiet))},
    {0},
};

static int found(void *context, const struct sonde_option *option, const char *value)
{
	struct doctor *doctor = context;
	if (!option)
		return sonde_command_wrong("doctor", "unexpected argument '%s': doctor takes no file", value);
	doctor->format = "json";
	return 0;
}

static const struct sonde_format *find_format(const char *name)
{
	const struct sonde_format *format = sonde_format_find(name);
	if (!format)
		fprintf(stderr, "sonde doctor: unknown format '%s' ('sonde doctor --help' lists them)\n", name);
	else if (!format->render || format->section)
		fprintf(stderr, "sonde doctor: %s is for recordings; use text, json, csv or md\n", name);
	else
		return format;
	return NULL;
}

static int run(int argc, char **argv)
{
	struct doctor doctor = {.format = "text"};
	struct sonde_parse parse = {.command = sonde_command_find("doctor"), .found = found, .context = &doctor};
	int code = sonde_command_parse(&parse, argc, argv);
	if (code || parse.done)
		return code;
	const struct sonde_format *format = find_format(doctor.format);
	if (!format)
		return SONDE_EXIT_USAGE;
	struct sonde_output output;
	if (sonde_output_open(&output, doctor.output, doctor.force) < 0 || !look(&doctor))
		return sonde_command_complain("doctor", SONDE_EXIT_UNREADABLE);
	if (strcmp(format->name, "text") == 0)
		write_text(&doctor, output.file);
	else
		code = write_report(&doctor, format, output.file);
	code = sonde_output_close(&output, code);
	free(doctor.rows);
	if (code)
		sonde_command_complain("doctor", code);
	return code || doctor.worst == SONDE_VERDICT_RED ? SONDE_EXIT_NEGATIVE : SONDE_EXIT_OK;
}

const struct sonde_command sonde_command_doctor = {
    .name = "doctor",
    .title = "check what can be recorded here, and how to enable more",
    .usage = "[options]",
    .options = options,
    .examples = "sonde doctor\nsonde doctor --json | jq .\n",
    .run = run,
};
