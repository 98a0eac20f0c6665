/* md.c: GitHub Markdown: a heading and a table per section, trees as preformatted text.
 *
 * Texts are cleaned (clean.h: no newlines, no controls), then every character with a meaning in Markdown is escaped,
 * HTML with entities: a name is shown verbatim and cannot become a link, an image, a mention or markup.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "export/clean.h"
#include "export/text/figure.h"
#include "export/format.h"
#include "export/text/text.h"
#include "util/error.h"

enum { TEXT_MAX_B = 1 << 20, TREE_WIDTH = 110 };

struct writer {
	FILE *out;
	struct sonde_buf scratch;
};

static void put_text(struct writer *writer, const char *text)
{
	const char *clean = sonde_clean_text(&writer->scratch, text);
	for (const char *at = clean; *at; at++) {
		if (*at == '<' || *at == '>')
			fputs(*at == '<' ? "&lt;" : "&gt;", writer->out);
		else if (*at == '&')
			fputs("&amp;", writer->out);
		else if (*at == '@' ||
			 /* prevents mentions and issue links: an empty comment separates the sign from the word */
			 *at == '#')
			fprintf(writer->out, "%s%c<!-- -->", *at == '#' ? "\\" : "", *at);
		else if (*at == ':' && at[1] == '/')
			fputs("&#58;", writer->out); /* prevents bare links */
		else if (*at == '.' && at - clean >= 3 && !strncasecmp(at - 3, "www", 3))
			fputs("<!-- -->.", writer->out); /* prevents links without a scheme */
		else if (strchr("\\`*_{}[]()!|~$", *at))
			fprintf(writer->out, "\\%c", *at);
		else
			putc(*at, writer->out);
	}
}

static void put_notes(struct writer *writer, const struct sonde_note *note)
{
	if (!note)
		return;
	for (; note; note = note->next) {
		fputs(note->warning ? "- **Warning:** " : "- ", writer->out);
		put_text(writer, note->text);
		putc('\n', writer->out);
	}
	putc('\n', writer->out);
}

static void put_cell(struct writer *writer, const struct sonde_column *column, const struct sonde_cell *cell)
{
	if (cell->kind == SONDE_CELL_TEXT) {
		put_text(writer, cell->text);
		return;
	}
	sonde_buf_clear(&writer->scratch);
	sonde_figure(&writer->scratch, column->unit, cell, 0);
	sonde_clean_markup(writer->out, sonde_buf_string(&writer->scratch)); /* "<0.1 %" */
}

static void put_header(struct writer *writer, const struct sonde_table *table)
{
	static const char *const basis[] = {"", " (estimated)", " (modelled)"};
	for (size_t i = 0; i < table->column_count; i++) {
		fputs("| ", writer->out);
		put_text(writer, table->columns[i].title);
		fprintf(writer->out, "%s ",
			table->columns[i].unit == SONDE_UNIT_TEXT ? "" : basis[table->columns[i].basis]);
	}
	fputs("|\n", writer->out);
	for (size_t i = 0; i < table->column_count; i++)
		fputs(table->columns[i].unit == SONDE_UNIT_TEXT ? "| --- " : "| ---: ", writer->out);
	fputs("|\n", writer->out);
}

static void put_table(struct writer *writer, const struct sonde_table *table)
{
	put_header(writer, table);
	for (size_t row = 0; row < table->row_count; row++) {
		for (size_t i = 0; i < table->column_count; i++) {
			fputs("| ", writer->out);
			put_cell(writer, &table->columns[i], &table->cells[row * table->column_count + i]);
			putc(' ', writer->out);
		}
		fputs("|\n", writer->out);
	}
	if (table->omitted)
		fprintf(writer->out, "\n%zu more row%s.\n", table->omitted, table->omitted == 1 ? "" : "s");
	putc('\n', writer->out);
}

/* Writes a tree in a <pre> element and not in a fenced block, in which `<` would not be escaped and would act as markup
 * in anything that treats the file as HTML. */
static int put_tree(struct writer *writer, const struct sonde_tree *tree)
{
	const struct sonde_format_options options = {.width = TREE_WIDTH};
	char *text = NULL;
	size_t text_b = 0;
	FILE *stream = open_memstream(&text, &text_b);
	if (!stream)
		return sonde_error(ENOMEM, "out of memory for a tree");
	int rc = sonde_text_tree(tree, &options, stream);
	if (fclose(stream) && !rc)
		rc = sonde_error(ENOMEM, "out of memory for a tree");
	if (!rc) {
		fputs("<pre>\n", writer->out);
		sonde_clean_markup(writer->out, text);
		fputs("</pre>\n\n", writer->out);
	}
	free(text);
	return rc;
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	(void)options;
	struct writer writer = {.out = out};
	sonde_buf_init(&writer.scratch, TEXT_MAX_B);
	int rc = 0;
	fputs("# ", out);
	put_text(&writer, *report->title ? report->title : "Report");
	fputs("\n\n", out);
	put_notes(&writer, report->notes);
	for (const struct sonde_section *section = report->first; section && !rc; section = section->next) {
		fputs("## ", out);
		put_text(&writer, section->title);
		fputs("\n\n", out);
		put_notes(&writer, section->notes);
		if (section->kind == SONDE_SECTION_TREE)
			rc = put_tree(&writer, &section->tree);
		else
			put_table(&writer, &section->table);
	}
	sonde_buf_fini(&writer.scratch);
	return rc;
}

const struct sonde_format sonde_format_md = {
    .name = "md",
    .extension = ".md",
    .title = "Markdown tables, as on GitHub",
    .render = render,
};
