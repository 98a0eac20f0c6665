/* lines.c: the source lines of one function, with the time spent on each line and in its callees.
 *
 * A line's self time comes from samples on the line; its total also includes its callees and the kernel, once per
 * stack. Surrounding lines are shown if the source file is readable here and is the version that was compiled
 * (cpu/source_text.h).
 */
#include "analyze/cpu/by_function.h"
#include "analyze/cpu/source_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/contents.h"
#include "util/array.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 200, AROUND = 2 };
enum { LINE, SELF, TOTAL, SELF_NS, TOTAL_NS, SAMPLES, SOURCE, FILE_NAME, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [LINE] = {"line", "line", SONDE_UNIT_ID, SONDE_BASIS_MEASURED, 0, 0},
    [SELF] = {"self_share", "self", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL] = {"total_share", "total", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [SELF_NS] = {"self_ns", "self time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [TOTAL_NS] = {"total_ns", "total time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [SAMPLES] = {"samples", "samples", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [SOURCE] = {"source", "source", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [FILE_NAME] = {"file", "file", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 6},
};

struct line {
	const char *file;
	uint32_t line;
	uint32_t active; /* occurrences on the current path */
	struct sonde_weight self, total;
};

struct fold {
	const struct sonde_session *session;
	uint32_t focus;
	struct line *lines; /* few: only the lines of one function that were seen */
	size_t count, cap;
	int error;
};

static struct line *line_of(struct fold *fold, const char *file, uint32_t line)
{
	for (size_t i = 0; i < fold->count; i++)
		if (fold->lines[i].line == line && strcmp(fold->lines[i].file, file) == 0)
			return &fold->lines[i];
	if (SONDE_ARRAY_RESERVE(fold->lines, fold->cap, fold->count + 1)) {
		fold->error = sonde_error(ENOMEM, "out of memory for %zu lines", fold->count + 1);
		return NULL;
	}
	fold->lines[fold->count] = (struct line){.file = file, .line = line};
	return &fold->lines[fold->count++];
}

static void visit_line(void *state, const struct sonde_visit *visit)
{
	struct fold *fold = state;
	uint32_t count = visit->frame ? visit->frame->location_count : 0;
	for (uint32_t i = 0; i < count && fold->error == 0; i++) {
		const struct sonde_location *location = &visit->frame->locations[i];
		if (sonde_function_of(fold->session, visit->frame, i) != fold->focus)
			continue;
		struct line *line = line_of(fold, location->file, location->line);
		if (!line)
			return;
		if (visit->leaving) {
			line->active--;
			continue;
		}
		if (line->active++ == 0)
			sonde_weight_add(&line->total, visit->total);
		if (i == 0)
			sonde_weight_add(&line->self, visit->self);
	}
}

static int compare(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	int by = strcmp(a->file, b->file);
	return by ? by : (a->line > b->line) - (a->line < b->line);
}

/* --- the section ------------------------------------------------------------------------------------------------ */

struct output {
	const struct sonde_samples *samples;
	struct sonde_report *report;
	struct sonde_section *section;
	uint32_t module; /* module of the function */
	size_t limit;
};

/* `text`: text of the line, or an absent cell with the reason. */
static int row_add(const struct output *output, const char *file, uint32_t number, const struct line *line,
		   struct sonde_cell text)
{
	if (output->section->table.row_count == output->limit) {
		output->section->table.omitted++;
		return 0;
	}
	struct sonde_cell *row = sonde_report_row(output->report, output->section);
	if (number)
		row[LINE] = sonde_cell_int(number);
	else
		row[LINE] = sonde_cell_absent("no line information");
	if (line) {
		row[SELF] = sonde_samples_share(output->samples, line->self.ns);
		row[TOTAL] = sonde_samples_share(output->samples, line->total.ns);
		row[SELF_NS] = sonde_cell_int(line->self.ns);
		row[TOTAL_NS] = sonde_cell_int(line->total.ns);
		row[SAMPLES] = sonde_cell_int(line->self.count);
	}
	row[SOURCE] = text;
	row[FILE_NAME] = sonde_cell_text(file);
	return 0;
}

static struct sonde_cell text_of(const struct output *output, struct sonde_source_text *source, uint32_t line)
{
	const char *text = sonde_source_text_line(source, line, output->report);
	return text ? sonde_cell_text(text) : sonde_cell_absent(source->why);
}

/* Adds the lines [from, to) around those seen, if the source is available. */
static int around_add(const struct output *output, struct sonde_source_text *source, const char *file, uint32_t from,
		      uint32_t to)
{
	int rc = 0;
	for (uint32_t n = from; source->text && n < to && rc == 0; n++) {
		struct sonde_cell text = text_of(output, source, n);
		rc = text.kind == SONDE_CELL_TEXT ? row_add(output, file, n, NULL, text) : 0;
	}
	return rc;
}

/* Adds the lines of one file, lines[0 … count), and those around them. */
static int file_add(const struct output *output, const struct line *lines, size_t count)
{
	struct sonde_source_text source;
	uint32_t shown = 0;
	int rc = 0;
	sonde_source_text_open(&source, output->samples->session, output->module, lines[0].file);
	for (size_t i = 0; i < count && rc == 0; i++) {
		uint32_t at = lines[i].line, from = at > AROUND + 1 ? at - AROUND : 1, end = at + 1;
		uint32_t before = i + 1 < count ? lines[i + 1].line : UINT32_MAX;
		rc = around_add(output, &source, lines[i].file, from > shown ? from : shown + 1, at);
		rc = rc ? rc : row_add(output, lines[i].file, at, &lines[i], text_of(output, &source, at));
		if (at && at < UINT32_MAX - AROUND - 1)
			end = at + AROUND + 1 < before ? at + AROUND + 1 : before;
		rc = rc ? rc : around_add(output, &source, lines[i].file, at + 1, end);
		shown = end - 1;
	}
	sonde_source_text_close(&source);
	return rc;
}

/* What would provide the function with line numbers. */
static const char *advice(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_function *function = sonde_session_function(session, id);
	const struct sonde_module *module = function ? sonde_session_module(session, function->module) : NULL;
	if (module && module->flags & SONDE_MODULE_ANONYMOUS)
		return "generated code: its runtime may name it, but not its lines";
	if (module && *module->path == '/' && access(module->path, F_OK) && errno == ENOENT)
		return "its file is gone: keep the program's files until the report";
	return "compile with -g, or add --debuginfod";
}

static int section_build(struct fold *fold, const struct sonde_samples *samples, struct sonde_report *report)
{
	const char *name = sonde_function_name(fold->session, fold->focus);
	const char *title = sonde_report_text(report, "Source lines of %s", name);
	const struct sonde_function *function = sonde_session_function(fold->session, fold->focus);
	struct output output = {samples, report, NULL, function ? function->module : 0,
				samples->options.limit ? samples->options.limit : DEFAULT_ROWS};
	output.section = sonde_report_table(report, "lines", title, columns, COLUMNS);
	int rc = sonde_samples_walk(samples, visit_line, fold);
	if (rc == 0)
		rc = fold->error;
	if (rc == 0 && fold->count)
		qsort(fold->lines, fold->count, sizeof *fold->lines, compare);
	for (size_t i = 0, end; rc == 0 && i < fold->count; i = end) {
		end = i + 1;
		while (end < fold->count && strcmp(fold->lines[end].file, fold->lines[i].file) == 0)
			end++;
		rc = file_add(&output, fold->lines + i, end - i);
	}
	if (rc == 0)
		sonde_samples_note_shares(samples, report, output.section);
	if (rc == 0 && fold->count && fold->lines[fold->count - 1].line == 0)
		sonde_report_note(report, output.section, 1, "%s has no line information: %s", name,
				  advice(samples->session, fold->focus));
	return rc;
}

static void focus_missing(const struct sonde_samples *samples, struct sonde_report *report)
{
	struct sonde_section *section = sonde_report_table(report, "lines", "Source lines", columns, COLUMNS);
	sonde_report_note(report, section, 1, "no sampled stack contains the function %s", samples->options.focus);
}

static int lines_finish(void *state, struct sonde_report *report)
{
	struct sonde_samples *samples = state;
	struct sonde_function_weight *functions;
	struct fold fold = {.session = samples->session};
	size_t count;
	if (!sonde_weight_is_any(samples->all))
		return sonde_samples_none(samples, report, "lines", "Source lines");
	int rc = sonde_samples_fold(samples);
	if (rc == 0)
		rc = sonde_by_function(samples, &functions, &count);
	if (rc < 0)
		return rc;
	fold.focus = sonde_function_pick(samples->session, functions, count, samples->options.focus);
	free(functions);
	if (!fold.focus && !samples->options.focus) /* all time is measured time, which belongs to no function */
		return sonde_samples_none(samples, report, "lines", "Source lines");
	if (fold.focus)
		rc = section_build(&fold, samples, report);
	else
		focus_missing(samples, report);
	free(fold.lines);
	return rc;
}

const struct sonde_pass sonde_pass_lines = {
    .name = "lines",
    .needs = SONDE_NEEDS(CPU),
    .has = sonde_has_samples,
    .title = "source lines of one function (--focus NAME)",
    .types = 1u << SONDE_CHUNK_SAMPLES,
    .state_b = sizeof(struct sonde_samples),
    .begin = sonde_samples_begin,
    .feed = sonde_samples_feed,
    .merge = sonde_samples_merge,
    .finish = lines_finish,
    .end = sonde_samples_end,
};
