/* query_print.c: prints the rows of a query: as a table for people, in other formats for programs as the rows arrive.
 *
 * A table's columns are as wide as their contents, so its rows are buffered, at most TEXT_ROWS of them; further rows
 * are only counted. CSV follows DuckDB and others: a line with the names of columns, values verbatim, an empty field
 * for NULL, and "" for an empty text. JSON numbers are exact within the precision of doubles; bytes are written as in
 * SQL, in hexadecimal: X'…'.
 */
#include "cli/query_print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"
#include "cli/common/output.h"
#include "export/clean.h"
#include "export/text/text.h"
#include "query/query.h"
#include "report/report.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/error.h"
#include "util/json.h"

enum { TEXT_ROWS = 10000, TEXT_MAX_B = 1 << 20, CELLS_MAX_B = 256 << 20 };

static int is_number(const struct sonde_query_value *value)
{
	return value->kind == SONDE_QUERY_INT || value->kind == SONDE_QUERY_FLOAT;
}

/* Writes bytes as X'00ff'. */
static void put_bytes(FILE *out, const struct sonde_query_value *value)
{
	fputs("X'", out);
	for (size_t i = 0; i < value->text_b; i++)
		fprintf(out, "%02x", (unsigned char)value->text[i]);
	putc('\'', out);
}

/* Writes a number as in JSON: the shortest text that gives the same number. Writes nothing if it is not finite. */
static void put_real(FILE *out, double value)
{
	struct sonde_json json;
	if (!isfinite(value))
		return;
	sonde_json_init(&json, out, 0);
	sonde_json_real(&json, value);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static const char *cell_text(struct sonde_arena *arena, const struct sonde_query_value *value)
{
	char *text = NULL;
	size_t text_b = 0;
	if (value->kind == SONDE_QUERY_INT)
		return sonde_arena_printf(arena, "%" PRId64, value->integer);
	if (value->kind == SONDE_QUERY_STRING)
		return sonde_arena_strndup(arena, value->text,
					   value->text_b < TEXT_MAX_B / 8 ? value->text_b : TEXT_MAX_B / 8);
	FILE *stream = open_memstream(&text, &text_b);
	if (!stream)
		return NULL;
	struct sonde_query_value part = *value;
	part.text_b = part.text_b < TEXT_MAX_B / 8 ? part.text_b : TEXT_MAX_B / 8;
	if (value->kind == SONDE_QUERY_FLOAT)
		put_real(stream, value->real);
	else
		put_bytes(stream, &part);
	if (fclose(stream))
		return NULL;
	const char *copy = sonde_arena_strndup(arena, text, text_b);
	free(text);
	return copy;
}

struct page {
	struct sonde_arena arena;
	struct sonde_column *columns;
	struct sonde_table table;
};

static int begin_page(struct page *page, const struct sonde_query *query)
{
	size_t count = sonde_query_columns(query);
	page->columns = sonde_arena_alloc(&page->arena, count * sizeof *page->columns);
	for (size_t i = 0; page->columns && i < count; i++) {
		const char *name = sonde_query_column(query, i);
		page->columns[i] = (struct sonde_column){.key = name, .title = name, .unit = SONDE_UNIT_NUMBER};
	}
	page->table = (struct sonde_table){.columns = page->columns, .column_count = count};
	return page->columns ? 0 : sonde_error(ENOMEM, "out of memory for a table");
}

/* Adds the current row. A column that contains a text becomes a text column, which may be cut on a narrow terminal. */
static int add_row(struct page *page, const struct sonde_query *query)
{
	struct sonde_table *table = &page->table;
	if (table->row_count == TEXT_ROWS || page->arena.total_b > CELLS_MAX_B) {
		table->omitted++;
		return 0;
	}
	if (sonde_array_reserve(&table->cells, &table->row_cap, table->row_count + 1,
				table->column_count * sizeof *table->cells))
		return sonde_error(ENOMEM, "out of memory for a table of %zu rows", table->row_count + 1);
	struct sonde_cell *cells = &table->cells[table->row_count++ * table->column_count];
	for (size_t i = 0; i < table->column_count; i++) {
		struct sonde_query_value value;
		sonde_query_value(query, i, &value);
		if (value.kind != SONDE_QUERY_NULL && !is_number(&value))
			page->columns[i].unit = SONDE_UNIT_TEXT;
		cells[i] = sonde_cell_absent(NULL);
		if (value.kind == SONDE_QUERY_NULL)
			continue;
		const char *text = cell_text(&page->arena, &value);
		if (!text)
			return sonde_error(ENOMEM, "out of memory for a table of %zu rows", table->row_count);
		cells[i] = sonde_cell_text(text);
	}
	return 0;
}

static int print_text(struct sonde_query *query, FILE *out)
{
	struct page page = {0};
	struct sonde_format_options style;
	sonde_output_style(&style, out);
	int code = begin_page(&page, query), found = 0;
	while (!code && (found = sonde_query_next(query)) > 0)
		code = add_row(&page, query);
	if (!code && !found)
		code = sonde_text_table(&page.table, &style, out);
	if (!code && !found && page.table.omitted)
		fprintf(out, "  (--format csv, json or jsonl prints all rows)\n");
	free(page.table.cells);
	sonde_arena_fini(&page.arena);
	return code ? code : found;
}

/* --- CSV ---------------------------------------------------------------------------------------------------------- */

/* True if CSV needs no quotes: the text starts with a letter, a digit or the like, and is ASCII. */
static int is_plain(const char *text)
{
	if (!*text || strchr("=+-@ ", *text))
		return 0;
	while (*text >= ' ' && *text <= '~' && *text != ',' && *text != '"' && *text != '\\')
		text++;
	return !*text;
}

static void put_integer(int64_t value, FILE *out)
{
	char digits[24], *at = digits + sizeof digits;
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	fwrite_unlocked(at, 1, (size_t)(digits + sizeof digits - at), out);
}

/* Writes a text by RFC 4180. Control characters and invalid UTF-8 are written as escapes; a text that a spreadsheet
 * would run as a formula is prefixed with an apostrophe. */
static int put_csv_text(struct sonde_buf *scratch, const char *text, FILE *out)
{
	if (is_plain(text)) { /* a fast path: most texts are plain, and there may be millions */
		fputs_unlocked(text, out);
		return 0;
	}
	const char *clean = sonde_clean_text(scratch, text);
	if (sonde_buf_error(scratch))
		return sonde_buf_error(scratch);
	const char *guard = *clean && strchr("=+-@", *clean) ? "'" : "";
	if (*clean && !strpbrk(clean, ",\"") && *clean != ' ') {
		fprintf(out, "%s%s", guard, clean);
		return 0;
	}
	fprintf(out, "\"%s", guard);
	for (; *clean; clean++)
		fprintf(out, *clean == '"' ? "\"\"" : "%c", *clean);
	putc('"', out);
	return 0;
}

static int put_csv_value(struct sonde_buf *scratch, const struct sonde_query_value *value, FILE *out)
{
	if (value->kind == SONDE_QUERY_INT)
		put_integer(value->integer, out);
	else if (value->kind == SONDE_QUERY_FLOAT)
		put_real(out, value->real);
	else if (value->kind == SONDE_QUERY_BLOB)
		put_bytes(out, value);
	else if (value->kind == SONDE_QUERY_STRING)
		return put_csv_text(scratch, value->text, out);
	return 0;
}

static int print_csv(struct sonde_query *query, FILE *out)
{
	size_t count = sonde_query_columns(query);
	struct sonde_buf scratch;
	struct sonde_query_value value;
	int code = 0, found = 0;
	sonde_buf_init(&scratch, TEXT_MAX_B);
	for (size_t i = 0; !code && i < count; i++) {
		fputs(i ? "," : "", out);
		code = put_csv_text(&scratch, sonde_query_column(query, i), out);
	}
	fputs("\r\n", out);
	while (!code && !ferror(out) && (found = sonde_query_next(query)) > 0) {
		for (size_t i = 0; !code && i < count; i++) {
			if (i)
				putc_unlocked(',', out);
			sonde_query_value(query, i, &value);
			code = put_csv_value(&scratch, &value, out);
		}
		fputs_unlocked("\r\n", out);
	}
	sonde_buf_fini(&scratch);
	return code ? code : found < 0 ? found : 0;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static int put_json_value(struct sonde_json *json, const struct sonde_query_value *value)
{
	if (value->kind == SONDE_QUERY_INT)
		sonde_json_int(json, value->integer);
	else if (value->kind == SONDE_QUERY_FLOAT)
		sonde_json_real(json, value->real);
	else if (value->kind == SONDE_QUERY_STRING)
		sonde_json_text(json, value->text);
	else if (value->kind == SONDE_QUERY_NULL)
		sonde_json_null(json);
	else {
		char *text = NULL;
		size_t text_b;
		FILE *stream = open_memstream(&text, &text_b);
		if (!stream)
			return sonde_error(ENOMEM, "out of memory for a value");
		put_bytes(stream, value);
		if (fclose(stream) == 0)
			sonde_json_text(json, text);
		else
			sonde_json_null(json);
		free(text);
	}
	return 0;
}

static int put_json_row(struct sonde_json *json, const struct sonde_query *query)
{
	int code = 0;
	sonde_json_object(json);
	for (size_t i = 0; !code && i < sonde_query_columns(query); i++) {
		struct sonde_query_value value;
		sonde_query_value(query, i, &value);
		sonde_json_key(json, sonde_query_column(query, i));
		code = put_json_value(json, &value);
	}
	sonde_json_end(json);
	return code;
}

static int print_json(struct sonde_query *query, FILE *out)
{
	struct sonde_json json;
	int code = 0, found = 0;
	sonde_json_init(&json, out, 2);
	sonde_json_array(&json);
	while (!code && !ferror(out) && (found = sonde_query_next(query)) > 0)
		code = put_json_row(&json, query);
	if (!code && found >= 0)
		sonde_json_end(&json);
	return code ? code : found < 0 ? found : 0;
}

static int print_jsonl(struct sonde_query *query, FILE *out)
{
	struct sonde_json json;
	int code = 0, found = 0;
	while (!code && !ferror(out) && (found = sonde_query_next(query)) > 0) {
		sonde_json_init(&json, out, 0);
		code = put_json_row(&json, query);
	}
	return code ? code : found < 0 ? found : 0;
}

const struct sonde_query_format *sonde_query_format_find(const char *name)
{
	static const struct sonde_query_format formats[] = {
	    {"text", print_text}, {"csv", print_csv}, {"json", print_json}, {"jsonl", print_jsonl}};
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* Prefix of a column's meaning: "(ns) ", "(text) ", "" for a plain number. */
static const char *kind_of(const struct sonde_query_about *column)
{
	if (*column->unit)
		return column->unit;
	return strcmp(column->type, "TEXT") == 0 ? "text" : strcmp(column->type, "REAL") == 0 ? "real" : "";
}

int sonde_query_print_tables(void)
{
	struct sonde_query_about about;
	char *lines = NULL;
	size_t lines_b;
	FILE *stream = open_memstream(&lines, &lines_b);
	for (size_t i = 0; stream && sonde_query_about(i, &about); i++) {
		fprintf(stream, "%s, %s\n", about.name, about.meaning);
		for (size_t c = 0; sonde_query_about_column(i, c, &about); c++) {
			const char *kind = kind_of(&about);
			fprintf(stream, "%s\t%s%s%s%s\n", about.name, *kind ? "(" : "", kind, *kind ? ") " : "",
				about.meaning);
		}
	}
	int bad = !stream || fclose(stream);
	if (!bad)
		sonde_command_glossary(lines);
	free(lines);
	return bad ? sonde_error(ENOMEM, "out of memory for the list of tables") : 0;
}
