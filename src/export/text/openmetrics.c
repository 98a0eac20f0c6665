/* openmetrics.c: the figures of a report's tables as OpenMetrics text, for Prometheus and compatible readers.
 *
 * One gauge per column, sonde_SECTION_COLUMN with its base unit: nothing is a counter, because the figures of a
 * finished recording do not grow any more. Text columns become the row's labels, and so do numbers that only identify
 * something; if two rows have the same labels, `row` distinguishes them. Absent cells have no sample. A table that has
 * only texts becomes an info metric. Call trees are not metrics and are left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "export/clean.h"
#include "export/format.h"
#include "util/error.h"
#include "util/json.h"
#include "util/map.h"

enum { TEXT_MAX_B = 1 << 20, FAMILY_B = 160 };

struct writer {
	FILE *out;
	struct sonde_buf scratch;
	const struct sonde_section *section;
	struct sonde_buf *labels; /* common to all rows, without braces */
};

/* --- names ---------------------------------------------------------------------------------------------------------*/

/* A column's unit in metric names, and the key suffix that it replaces. */
struct unit {
	const char *name, *suffix;
	int nano; /* stored in billionths of the unit */
};

static struct unit unit_of(enum sonde_unit unit)
{
	static const struct unit units[] = {
	    [SONDE_UNIT_NS] = {"seconds", "_ns", 1},
	    [SONDE_UNIT_BYTES] = {"bytes", "_b", 0},
	    [SONDE_UNIT_RATIO] = {"ratio", "", 0},
	    [SONDE_UNIT_HZ] = {"hertz", "_hz", 0},
	};
	return unit < sizeof units / sizeof *units && units[unit].name ? units[unit] : (struct unit){"", "", 0};
}

/* "sonde_functions_self_seconds" */
static void name_family(char out[FAMILY_B], const char *section, const struct sonde_column *column, const char *more)
{
	struct unit unit = unit_of(column->unit);
	size_t key_b = strlen(column->key), suffix_b = strlen(unit.suffix);
	if (suffix_b && key_b > suffix_b && strcmp(column->key + key_b - suffix_b, unit.suffix) == 0)
		key_b -= suffix_b;
	snprintf(out, FAMILY_B, "sonde_%s_%.*s%s%s%s", section, (int)key_b, column->key, more, *unit.name ? "_" : "",
		 unit.name);
	for (char *at = out; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *at))
			*at = '_';
}

static int is_label(const struct sonde_column *column)
{
	return column->unit == SONDE_UNIT_TEXT || column->unit == SONDE_UNIT_ADDRESS || column->unit == SONDE_UNIT_ID ||
	       !strcmp(column->key, "line");
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

static void add_label(struct writer *writer, struct sonde_buf *labels, const char *key, const char *value)
{
	sonde_buf_printf(labels, "%s%s=\"", labels->len_b ? "," : "", key);
	for (const char *at = sonde_clean_text(&writer->scratch, value); *at; at++) {
		char escaped[2] = {'\\', *at};
		int plain = *at != '"' && *at != '\\';
		sonde_buf_append(labels, escaped + plain, 2u - (size_t)plain);
	}
	sonde_buf_text(labels, "\"");
}

/* Titles can contain function names: an unescaped newline would start a new metric. */
static void put_help(struct writer *writer, const char *text)
{
	for (const char *at = sonde_clean_text(&writer->scratch, text); *at; at++)
		fprintf(writer->out, *at == '\\' || *at == '"' ? "\\%c" : "%c", *at);
}

static void add_labels(struct writer *writer, struct sonde_buf *labels, const struct sonde_cell *cells)
{
	const struct sonde_table *table = &writer->section->table;
	char number[32];
	for (size_t i = 0; i < table->column_count; i++) {
		const struct sonde_cell *cell = &cells[i];
		if (!is_label(&table->columns[i]) || cell->kind == SONDE_CELL_ABSENT)
			continue;
		snprintf(number, sizeof number, "%" PRIu64, cell->integer);
		add_label(writer, labels, table->columns[i].key, cell->kind == SONDE_CELL_TEXT ? cell->text : number);
	}
}

static int is_same(const struct sonde_buf *a, const struct sonde_buf *b)
{
	return a->len_b == b->len_b && (!a->len_b || !memcmp(a->data, b->data, a->len_b));
}

struct labelled {
	const struct sonde_buf *labels;
	const struct sonde_buf *row;
};

static int same_labels(const void *context, uint32_t value)
{
	const struct labelled *labelled = context;
	return is_same(&labelled->labels[value - 1], labelled->row);
}

/* Appends `row` to the existing labels; a report's own labels never contain it. */
static int part_rows(struct writer *writer, size_t count)
{
	struct sonde_map seen = {0};
	int rc = 0;
	unsigned char *again = calloc(count + 1, 1);
	if (!again)
		return sonde_error(ENOMEM, "out of memory for %zu rows", count);
	for (size_t i = 0; i < count && !rc; i++) {
		const struct sonde_buf *row = &writer->labels[i];
		struct labelled labelled = {writer->labels, row};
		uint64_t hash = sonde_hash_bytes(row->data, row->len_b);
		again[i] = sonde_map_find(&seen, hash, same_labels, &labelled) != 0;
		if (!again[i])
			rc = sonde_map_add(&seen, hash, (uint32_t)i + 1);
	}
	for (size_t i = 0; i < count; i++) {
		char number[32];
		snprintf(number, sizeof number, "%zu", i + 1);
		if (again[i])
			add_label(writer, &writer->labels[i], "row", number);
		rc = rc ? rc : sonde_buf_error(&writer->labels[i]);
	}
	sonde_map_fini(&seen);
	free(again);
	return rc ? sonde_error(ENOMEM, "out of memory for the labels of %zu rows", count) : 0;
}

/* --- samples -------------------------------------------------------------------------------------------------------*/

static void put_sample(struct writer *writer, const char *name, const struct sonde_buf *labels)
{
	fprintf(writer->out, "%s{%.*s} ", name, (int)labels->len_b, (const char *)labels->data);
}

static void put_real(struct writer *writer, double value)
{
	if (!isfinite(value)) {
		fputs(isnan(value) ? "NaN\n" : value < 0 ? "-Inf\n" : "+Inf\n", writer->out);
		return;
	}
	struct sonde_json number; /* the same digits as in JSON */
	sonde_json_init(&number, writer->out, 0);
	sonde_json_real(&number, value);
	putc('\n', writer->out);
}

static void put_value(struct writer *writer, const struct sonde_cell *cell, int nano)
{
	if (cell->kind == SONDE_CELL_REAL)
		put_real(writer, nano ? cell->real / 1e9 : cell->real);
	else if (nano)
		fprintf(writer->out, "%" PRIu64 ".%09" PRIu64 "\n", cell->integer / 1000000000,
			cell->integer % 1000000000);
	else
		fprintf(writer->out, "%" PRIu64 "\n", cell->integer);
}

static void put_head(struct writer *writer, const char *family, const struct sonde_column *column, const char *more)
{
	static const char *const basis[] = {"measured", "estimated", "modelled"};
	struct unit unit = unit_of(column->unit);
	fprintf(writer->out, "# TYPE %s gauge\n", family);
	if (*unit.name)
		fprintf(writer->out, "# UNIT %s %s\n", family, unit.name);
	fprintf(writer->out, "# HELP %s ", family);
	put_help(writer, writer->section->title);
	fputs(": ", writer->out);
	put_help(writer, column->title);
	fprintf(writer->out, "%s, %s\n", more, basis[column->basis]);
}

/* `interval`: writes the half widths of the column's intervals, if it has any. */
static void put_column(struct writer *writer, size_t index, int interval)
{
	const struct sonde_table *table = &writer->section->table;
	const struct sonde_column *column = &table->columns[index];
	char family[FAMILY_B];
	int begun = 0;
	name_family(family, writer->section->id, column, interval ? "_plus_minus" : "");
	for (size_t row = 0; row < table->row_count; row++) {
		const struct sonde_cell *cell = &table->cells[row * table->column_count + index];
		if ((cell->kind != SONDE_CELL_INT && cell->kind != SONDE_CELL_REAL) ||
		    (interval && cell->plus_minus <= 0))
			continue;
		if (!begun++)
			put_head(writer, family, column, interval ? ", half width of the 95 % interval" : "");
		struct sonde_cell half = {.kind = SONDE_CELL_REAL, .real = cell->plus_minus};
		put_sample(writer, family, &writer->labels[row]);
		put_value(writer, interval ? &half : cell, unit_of(column->unit).nano);
	}
}

/* Writes a table without figures. */
static void put_info(struct writer *writer)
{
	const struct sonde_table *table = &writer->section->table;
	char family[FAMILY_B], sample[FAMILY_B + 8];
	snprintf(family, sizeof family, "sonde_%s", writer->section->id);
	snprintf(sample, sizeof sample, "%s_info", family);
	fprintf(writer->out, "# TYPE %s info\n# HELP %s ", family, family);
	put_help(writer, writer->section->title);
	putc('\n', writer->out);
	for (size_t row = 0; row < table->row_count; row++) {
		put_sample(writer, sample, &writer->labels[row]);
		fputs("1\n", writer->out);
	}
}

static int put_table(struct writer *writer)
{
	const struct sonde_table *table = &writer->section->table;
	size_t figures = 0;
	writer->labels = calloc(table->row_count + 1, sizeof *writer->labels);
	if (!writer->labels)
		return sonde_error(ENOMEM, "out of memory for %zu rows", table->row_count);
	for (size_t row = 0; row < table->row_count; row++) {
		sonde_buf_init(&writer->labels[row], TEXT_MAX_B);
		add_labels(writer, &writer->labels[row], &table->cells[row * table->column_count]);
	}
	int rc = part_rows(writer, table->row_count);
	for (size_t i = 0; i < table->column_count && !rc; i++) {
		if (is_label(&table->columns[i]) || table->columns[i].unit == SONDE_UNIT_BAR)
			continue;
		figures++;
		put_column(writer, i, 0);
		put_column(writer, i, 1);
	}
	if (!figures && table->row_count && !rc)
		put_info(writer);
	for (size_t row = 0; row < table->row_count; row++)
		sonde_buf_fini(&writer->labels[row]);
	free(writer->labels);
	return rc;
}

/* True if the section was already written: a metric family must not be repeated. */
static int is_repeated(const struct writer *writer, const struct sonde_report *report)
{
	const struct sonde_section *section = report->first;
	while (strcmp(section->id, writer->section->id) != 0)
		section = section->next;
	return section != writer->section;
}

static int render(const struct sonde_report *report, const struct sonde_format_options *options, FILE *out)
{
	(void)options;
	struct writer writer = {.out = out};
	struct sonde_buf labels;
	int rc = 0;
	sonde_buf_init(&writer.scratch, TEXT_MAX_B);
	sonde_buf_init(&labels, TEXT_MAX_B);
	add_label(&writer, &labels, "command", report->title ? report->title : "");
	add_label(&writer, &labels, "recording", report->path ? report->path : "");
	fputs("# TYPE sonde_report info\n# HELP sonde_report The recording of these figures\n", out);
	put_sample(&writer, "sonde_report_info", &labels);
	fputs("1\n", out);
	for (writer.section = report->first; writer.section && !rc; writer.section = writer.section->next)
		if (writer.section->kind == SONDE_SECTION_TABLE && !is_repeated(&writer, report))
			rc = put_table(&writer);
	fputs("# EOF\n", out);
	sonde_buf_fini(&labels);
	sonde_buf_fini(&writer.scratch);
	return rc;
}

const struct sonde_format sonde_format_openmetrics = {
    .name = "openmetrics",
    .extension = ".prom",
    .title = "the tables' figures, for Prometheus (OpenMetrics 1.0)",
    .render = render,
};
