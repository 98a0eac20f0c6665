/* text.c: the report for a terminal.
 *
 * First what was recorded, lost and not measured, then the sections. Everything is cleaned (clean.h) before it is
 * written, so that names cannot contain terminal control sequences; colours are the only escapes, and only on request.
 */
#include "export/text/text.h"

#include <string.h>

#include "export/clean.h"

enum { TEXT_MAX_B = 1 << 20 };

void sonde_text_wrap(FILE *out, const char *text, int width, int indent)
{
	int at = indent;
	while (*text) {
		size_t len = strcspn(text, " ");
		char word[512] = "";
		memcpy(word, text, len < sizeof word ? len : sizeof word - 1);
		int columns = (int)sonde_clean_columns(word);
		if (at > indent && at + 1 + columns > width) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			putc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += columns;
		text += len + strspn(text + len, " ");
	}
	putc('\n', out);
}

void sonde_text_notes(const struct sonde_note *note, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_buf clean;
	sonde_buf_init(&clean, TEXT_MAX_B);
	for (; note; note = note->next) {
		sonde_buf_clear(&clean);
		sonde_clean(&clean, note->text, options->ascii);
		if (sonde_buf_append(&clean, "", 1))
			continue;
		fputs(note->warning && options->color ? "\033[33m" : "", out);
		fputs(note->warning ? "! " : "  ", out);
		sonde_text_wrap(out, (const char *)clean.data, options->width, 2);
		fputs(note->warning && options->color ? "\033[0m" : "", out);
	}
	sonde_buf_fini(&clean);
}

int sonde_text_title(const char *text, const struct sonde_format_options *options, FILE *out)
{
	struct sonde_buf line;
	sonde_buf_init(&line, TEXT_MAX_B);
	sonde_clean_cut(&line, text, (size_t)options->width, options->ascii);
	if (!sonde_buf_append(&line, "\n", 2))
		fprintf(out, options->color ? "\033[1m%.*s\033[0m\n" : "%.*s\n", (int)line.len_b - 2,
			(const char *)line.data);
	int rc = sonde_buf_error(&line);
	sonde_buf_fini(&line);
	return rc;
}

static int put_section(const struct sonde_section *section, const struct sonde_format_options *options, FILE *out)
{
	putc('\n', out);
	int rc = sonde_text_title(section->title, options, out);
	if (rc)
		return rc;
	sonde_text_notes(section->notes, options, out);
	if (section->kind == SONDE_SECTION_TREE)
		return sonde_text_tree(&section->tree, options, out);
	return sonde_text_table(&section->table, options, out);
}

static int render(const struct sonde_report *report, const struct sonde_format_options *given, FILE *out)
{
	struct sonde_format_options options = *given;
	if (options.width <= 0)
		options.width = 80;
	if (options.width < SONDE_TEXT_WIDTH_MIN)
		options.width = SONDE_TEXT_WIDTH_MIN;
	int rc = 0;
	if (*report->title)
		rc = sonde_text_title(report->title, &options, out);
	if (!rc && *report->path) {
		const struct sonde_note path = {.text = report->path};
		sonde_text_notes(&path, &options, out);
	}
	sonde_text_notes(report->notes, &options, out);
	for (const struct sonde_section *section = report->first; section && !rc; section = section->next)
		rc = put_section(section, &options, out);
	return rc;
}

const struct sonde_format sonde_format_text = {
    .name = "text",
    .extension = ".txt",
    .title = "aligned tables for a terminal",
    .render = render,
};
