/* csv.c: tidy tables by RFC 4180: one header row per section, CRLF, stored units as named by the column keys.
 *
 * With several sections, every row begins with its section's id, and the notes form a table, too; with one section,
 * only that section's table is written. A column whose cells have intervals is followed by KEY_plus_minus. Absent cells
 * are empty. Texts are cleaned (clean.h), because RFC 4180 allows no control characters; and a text that a spreadsheet
 * would run as a formula (it begins with = + - @) is prefixed with an apostrophe. For exact names use the JSON format.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/format.h"
#include "export/text/preorder.h"
#include "util/error.h"
#include "util/json.h"

enum { TEXT_MAX_B = 1 << 20 };

struct writer {
	FILE *out;
	struct sonde_buf scratch;
	const char *section; /* NULL = no section column */
	size_t fields;       /* in this row so far */
};

static void put_raw(struct writer *writer, const char *text)
{
	fprintf(writer->out, "%s%s", writer->fields++ ? "," : "", text);
}

static void put_text(struct writer *writer, const char *text)
{
	const char *clean = sonde_clean_text(&writer->scratch, text);
	const char *guard = *clean && strchr("=+-@", *clean) ? "'" : "";
	if (!strpbrk(clean, ",\"") && *clean != ' ') {
		fprintf(writer->out, "%s%s%s", writer->fields++ ? "," : "", guard, clean);
		return;
	}
	fprintf(writer->out, "%s\"%s", writer->fields++ ? "," : "", guard);
	for (; *clean; clean++)
		fprintf(writer->out, *clean == '"' ? "\"\"" : "%c", *clean);
	putc('"', writer->out);
}

static void put_uint(struct writer *writer, uint64_t value)
{
	fprintf(writer->out, "%s%" PRIu64, writer->fields++ ? "," : "", value);
}

static void put_real(struct writer *writer, double value)
{
	if (!isfinite(value)) {
		put_raw(writer, "");
		return;
	}
	if (writer->fields++)
		putc(',', writer->out);
	struct sonde_json number; /* the same digits as in JSON */
	sonde_json_init(&number, writer->out, 0);
	sonde_json_real(&number, value);
}

static void begin_row(struct writer *writer, const char *first)
{
	writer->fields = 0;
	if (writer->section)
		put_raw(writer, first);
}

static void end_row(struct writer *writer)
{
	fputs("\r\n", writer->out);
}

static int has_interval(const struct sonde_table *table, size_t column)
{
	for (size_t row = 0; row < table->row_count; row++)
		if (table->cells[row * table->column_count + column].plus_minus > 0)
			return 1;
	return 0;
}

static void put_cell(struct writer *writer, const struct sonde_cell *cell)
{
	if (cell->kind == SONDE_CELL_TEXT)
		put_text(writer, cell->text);
	else if (cell->kind == SONDE_CELL_INT)
		put_uint(writer, cell->integer);
	else if (cell->kind == SONDE_CELL_REAL)
		put_real(writer, cell->real);
	else
		put_raw(writer, "");
}

static int put_table(struct writer *writer, const struct sonde_table *table)
{
	int *intervals = calloc(table->column_count + 1, sizeof *intervals);
	if (!intervals)
		return sonde_error(ENOMEM, "out of memory for a table of %zu columns", table->column_count);
	begin_row(writer, "section");
	for (size_t i = 0; i < table->column_count; i++) {
		intervals[i] = has_interval(table, i);
		put_text(writer, table->columns[i].key);
		if (intervals[i])
			fprintf(writer->out, ",%s_plus_minus", table->columns[i].key);
	}
	end_row(writer);
	for (size_t row = 0; row < table->row_count; row++) {
		begin_row(writer, writer->section);
		for (size_t i = 0; i < table->column_count; i++) {
			const struct sonde_cell *cell = &table->cells[row * table->column_count + i];
			put_cell(writer, cell);
			if (intervals[i] && cell->kind != SONDE_CELL_ABSENT && cell->plus_minus > 0)
				put_real(writer, cell->plus_minus);
			else if (intervals[i])
				put_raw(writer, "");
		}
		end_row(writer);
	}
	free(intervals);
	return 0;
}

static int put_node(void *context, const struct sonde_preorder *at)
{
	struct writer *writer = context;
	begin_row(writer, writer->section);
	put_uint(writer, at->index);
	if (at->depth)
		put_uint(writer, at->parent);
	else
		put_raw(writer, "");
	put_uint(writer, at->depth);
	put_text(writer, at->node->name);
	put_text(writer, at->node->module);
	put_text(writer, at->node->file);
	put_uint(writer, at->node->line);
	put_uint(writer, at->node->self);
	put_uint(writer, at->node->total);
	put_uint(writer, at->node->count);
	end_row(writer);
	return 0;
}

static int put_tree(struct writer *writer, const struct sonde_tree *tree)
{
	const char *suffix = tree->unit == SONDE_UNIT_NS ? "_ns" : tree->unit == SONDE_UNIT_BYTES ? "_b" : "";
	begin_row(writer, "section");
	fprintf(writer->out, "%sid,parent,depth,name,module,file,line,self%s,total%s,count", writer->fields ? "," : "",
		suffix, suffix);
	end_row(writer);
	return sonde_preorder_walk(tree->root, put_node, writer);
}

static void put_notes(struct writer *writer, const char *about, const struct sonde_note *note)
{
	for (; note; note = note->next) {
		begin_row(writer, "notes");
		put_text(writer, about);
		put_raw(writer, note->warning ? "1" : "0");
		put_text(writer, note->text);
		end_row(writer);
	}
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	(void)options;
	struct writer writer = {.out = out};
	sonde_buf_init(&writer.scratch, TEXT_MAX_B);
	int rc = 0, several = report->first && report->first->next;
	if (several) {
		writer.section = "notes";
		fputs("section,about,warning,text\r\n", out);
		put_notes(&writer, "report", report->notes);
		for (const struct sonde_section *section = report->first; section; section = section->next)
			put_notes(&writer, section->id, section->notes);
	}
	for (const struct sonde_section *section = report->first; section && !rc; section = section->next) {
		writer.section = several ? section->id : NULL;
		rc = section->kind == SONDE_SECTION_TREE ? put_tree(&writer, &section->tree)
							 : put_table(&writer, &section->table);
	}
	sonde_buf_fini(&writer.scratch);
	return rc;
}

const struct sonde_format sonde_format_csv = {
    .name = "csv",
    .extension = ".csv",
    .title = "a tidy table per section (RFC 4180), stored units",
    .render = render,
};
