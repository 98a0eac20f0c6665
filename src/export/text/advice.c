/* advice.c: findings as a to-do list, each with its saving, its evidence, and its steps. */
#include <stdio.h>
#include <string.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/format.h"
#include "export/text/text.h"

#define SECTION "findings"
#define LABEL 9 /* columns of "    why  " */

static void put_line(const char *label, const char *text, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_buf clean;
	sonde_buf_init(&clean, 1 << 16);
	sonde_clean(&clean, text, options->ascii);
	if (!sonde_buf_append(&clean, "", 1)) {
		fprintf(out, "    %-*s", LABEL - 4, label);
		sonde_text_wrap(out, (const char *)clean.data, options->width, LABEL);
	}
	sonde_buf_fini(&clean);
}

/* Writes the factor of a gain, unless the gain rounds to nothing or the factor is above 10, which would not be
 * credible. */
static void put_factor(struct sonde_buf *line, const struct sonde_cell *factor)
{
	if (factor->kind == SONDE_CELL_REAL && factor->real >= 1.005 && factor->real <= 10)
		sonde_buf_printf(line, ", %.2f× faster", factor->real);
}

/* Writes "; at most 1.20 s within next_word, 3.40× faster". */
static void put_at_most(struct sonde_buf *line, const struct sonde_section *section, size_t row,
			const struct sonde_format_options *options)
{
	const struct sonde_cell *most = sonde_report_cell(section, row, "at_most_ns"),
				*factor = sonde_report_cell(section, row, "at_most_speedup");
	const struct sonde_cell *within = sonde_report_cell(section, row, "within");
	if (most->kind == SONDE_CELL_ABSENT)
		return;
	sonde_buf_text(line, "; at most ");
	sonde_figure(line, SONDE_UNIT_NS, most, options->ascii);
	if (within->kind == SONDE_CELL_TEXT)
		sonde_buf_printf(line, " within %s", within->text);
	else if (factor->kind == SONDE_CELL_ABSENT && within->kind == SONDE_CELL_ABSENT && within->text)
		sonde_buf_printf(line, " (%s)", within->text);
	put_factor(line, factor);
}

/* Writes "saves about 0.84 s (49.2 % of the critical path), 1.97× faster". */
static void put_gain(const struct sonde_section *section, size_t row, const struct sonde_format_options *options,
		     FILE *out)
{
	const struct sonde_cell *saves = sonde_report_cell(section, row, "saves_ns"),
				*bytes = sonde_report_cell(section, row, "bytes");
	struct sonde_buf line;
	sonde_buf_init(&line, 1 << 12);
	if (saves->kind != SONDE_CELL_ABSENT) {
		const struct sonde_cell *factor = sonde_report_cell(section, row, "expected_speedup");
		sonde_buf_text(&line, "saves about ");
		sonde_figure(&line, SONDE_UNIT_NS, saves, options->ascii);
		sonde_buf_text(&line, " (");
		sonde_figure(&line, SONDE_UNIT_RATIO, sonde_report_cell(section, row, "saves_share"), options->ascii);
		sonde_buf_text(&line, " of the critical path)");
		put_factor(&line, factor);
		put_at_most(&line, section, row, options);
	} else if (bytes->kind != SONDE_CELL_ABSENT) {
		sonde_figure(&line, SONDE_UNIT_BYTES, bytes, options->ascii);
		sonde_buf_text(&line, " of memory; no time");
	} else {
		sonde_buf_text(&line, "unknown");
	}
	put_line("gain", sonde_buf_string(&line), options, out);
	sonde_buf_fini(&line);
}

static void put_steps(const struct sonde_section *section, size_t row, const struct sonde_format_options *options,
		      FILE *out)
{
	const char *label = "do";
	for (const char *at = sonde_report_cell_text(section, row, "steps"); *at; label = "") {
		const char *end = strstr(at, "; ");
		size_t length = end ? (size_t)(end - at) : strlen(at);
		char step[512];
		snprintf(step, sizeof step, "- %.*s", (int)length, at);
		put_line(label, step, options, out);
		at += length + (end ? 2 : 0);
	}
}

static void put_finding(const struct sonde_section *section, size_t row, const struct sonde_format_options *options,
			FILE *out)
{
	static const struct {
		const char *severity, *color;
	} colors[] = {{"critical", "\033[1;31m"}, {"high", "\033[31m"}, {"medium", "\033[33m"}, {"low", ""}};
	const char *severity = sonde_report_cell_text(section, row, "severity"), *color = "";
	char head[1024], limit[256];
	for (size_t i = 0; options->color && i < sizeof colors / sizeof *colors; i++)
		color = strcmp(colors[i].severity, severity) ? color : colors[i].color;
	snprintf(head, sizeof head, "%s: %s", sonde_report_cell_text(section, row, "title"),
		 sonde_report_cell_text(section, row, "subject"));
	fprintf(out, "\n%2zu. %s%s%s\n", row + 1, color, severity, *color ? "\033[0m" : "");
	put_line("what", head, options, out);
	put_gain(section, row, options, out);
	put_line("why", sonde_report_cell_text(section, row, "evidence"), options, out);
	snprintf(
	    limit, sizeof limit, "%s; confidence %.0f %%; rule %s", sonde_report_cell_text(section, row, "limiter"),
	    100 * sonde_report_cell(section, row, "confidence")->real, sonde_report_cell_text(section, row, "rule"));
	put_line("by", limit, options, out);
	put_steps(section, row, options, out);
	put_line("then", sonde_report_cell_text(section, row, "measure_again"), options, out);
}

static int render(const struct sonde_report *report, const struct sonde_format_options *given, FILE *out)
{
	struct sonde_format_options options = *given;
	if (options.width <= 0)
		options.width = 80;
	if (options.width < SONDE_TEXT_WIDTH_MIN)
		options.width = SONDE_TEXT_WIDTH_MIN;
	struct sonde_report head = *report;
	const struct sonde_section *found = sonde_report_find(report, SECTION);
	head.first = head.last = NULL;
	int rc = sonde_format_text.render(&head, &options, out);
	if (found && !rc) {
		putc('\n', out);
		rc = sonde_text_title(found->title, &options, out);
		sonde_text_notes(found->notes, &options, out);
	}
	for (size_t i = 0; found && !rc && i < found->table.row_count; i++)
		put_finding(found, i, &options, out);
	if (found && found->table.omitted)
		fprintf(out, "\n    (%zu more: -n %zu)\n", found->table.omitted,
			found->table.row_count + found->table.omitted);
	return rc;
}

const struct sonde_format sonde_format_advice = {
    .name = "advice",
    .extension = ".advice.txt",
    .title = "findings as a list of actions",
    .section = SECTION,
    .render = render,
};
