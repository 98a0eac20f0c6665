/* report.c: builds the result model. Rows grow by doubling inside the report's arena: the old copy stays there until
 * the report is freed, which costs at most as much again and needs no free of its own. */
#include "report/report.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

enum { FIRST_ROWS = 16 };

int sonde_report_new(struct sonde_report **out)
{
	struct sonde_report *report = calloc(1, sizeof *report);
	if (!report)
		return sonde_error(ENOMEM, "out of memory for a report");
	sonde_arena_init(&report->arena);
	report->title = "";
	report->path = "";
	*out = report;
	return 0;
}

void sonde_report_free(struct sonde_report *report)
{
	if (!report)
		return;
	sonde_arena_fini(&report->arena);
	free(report);
}

int sonde_report_status(const struct sonde_report *report)
{
	return report->is_short ? sonde_error(ENOMEM, "out of memory for a report") : 0;
}

/* Allocates from the arena; NULL when memory is out, which is_short then records. */
static void *take(struct sonde_report *report, size_t size_b)
{
	void *out = sonde_arena_alloc(&report->arena, size_b);
	report->is_short |= !out;
	return out;
}

static struct sonde_section *section_add(struct sonde_report *report, const char *id, const char *title,
					 enum sonde_section_kind kind)
{
	struct sonde_section *section = take(report, sizeof *section);
	if (!section) {
		report->spare = (struct sonde_section){.id = id, .title = title, .kind = kind};
		return &report->spare;
	}
	section->id = id;
	section->title = title;
	section->kind = kind;
	if (report->last)
		report->last->next = section;
	else
		report->first = section;
	report->last = section;
	return section;
}

struct sonde_section *sonde_report_table(struct sonde_report *report, const char *id, const char *title,
					 const struct sonde_column *columns, size_t column_count)
{
	struct sonde_section *section = section_add(report, id, title, SONDE_SECTION_TABLE);
	assert(column_count <= SONDE_COLUMNS_MOST);
	section->table.columns = columns;
	section->table.column_count = column_count;
	return section;
}

struct sonde_section *sonde_report_tree(struct sonde_report *report, const char *id, const char *title,
					enum sonde_unit unit, const char *value)
{
	struct sonde_section *section = section_add(report, id, title, SONDE_SECTION_TREE);
	struct sonde_tree_node *root = take(report, sizeof *root);
	if (!root)
		root = &report->spare_root;
	root->name = root->module = root->file = "";
	section->tree.unit = unit;
	section->tree.value = value;
	section->tree.root = root;
	return section;
}

struct sonde_column *sonde_report_columns(struct sonde_report *report, const struct sonde_column *columns,
					  size_t column_count)
{
	struct sonde_column *copy = take(report, column_count * sizeof *copy);
	assert(column_count <= SONDE_COLUMNS_MOST);
	if (!copy)
		copy = report->spare_columns;
	memcpy(copy, columns, column_count * sizeof *copy);
	return copy;
}

static int rows_grow(struct sonde_report *report, struct sonde_table *table)
{
	size_t cap = table->row_cap ? table->row_cap * 2 : FIRST_ROWS;
	struct sonde_cell *cells = take(report, cap * table->column_count * sizeof *cells);
	if (!cells)
		return -ENOMEM;
	if (table->row_count)
		memcpy(cells, table->cells, table->row_count * table->column_count * sizeof *cells);
	table->cells = cells;
	table->row_cap = cap;
	return 0;
}

struct sonde_cell *sonde_report_row(struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_table *table = &section->table;
	assert(table->column_count > 0);
	if (report->is_short || (table->row_count == table->row_cap && rows_grow(report, table) < 0))
		return report->spare_row;
	return table->cells + table->row_count++ * table->column_count;
}

const struct sonde_section *sonde_report_find(const struct sonde_report *report, const char *id)
{
	const struct sonde_section *section = report ? report->first : NULL;
	while (section && strcmp(section->id, id) != 0)
		section = section->next;
	return section && section->kind == SONDE_SECTION_TABLE ? section : NULL;
}

const struct sonde_cell *sonde_report_cell(const struct sonde_section *section, size_t row, const char *key)
{
	static const struct sonde_cell none;
	const struct sonde_table *table = section ? &section->table : NULL;
	for (size_t i = 0; table && row < table->row_count && i < table->column_count; i++)
		if (strcmp(table->columns[i].key, key) == 0)
			return &table->cells[row * table->column_count + i];
	return &none;
}

const char *sonde_report_cell_text(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	return cell->kind == SONDE_CELL_TEXT && cell->text ? cell->text : "";
}

uint64_t sonde_report_cell_uint(const struct sonde_section *section, size_t row, const char *key)
{
	const struct sonde_cell *cell = sonde_report_cell(section, row, key);
	return cell->kind == SONDE_CELL_INT ? cell->integer : 0;
}

static const char *text_of(struct sonde_report *report, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *text = take(report, len < 0 ? SIZE_MAX : (size_t)len + 1);
	if (!text)
		return "";
	vsnprintf(text, (size_t)len + 1, format, arguments);
	return text;
}

const char *sonde_report_text(struct sonde_report *report, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	const char *text = text_of(report, format, arguments);
	va_end(arguments);
	return text;
}

void sonde_report_fact(struct sonde_report *report, const char *key, struct sonde_cell cell)
{
	struct sonde_fact *fact = take(report, sizeof *fact);
	struct sonde_fact **at = &report->facts;
	if (!fact)
		return;
	*fact = (struct sonde_fact){.key = key, .cell = cell};
	while (*at)
		at = &(*at)->next;
	*at = fact;
}

void sonde_report_note(struct sonde_report *report, struct sonde_section *section, int warning, const char *format, ...)
{
	struct sonde_note *note = take(report, sizeof *note);
	struct sonde_note **at = section ? &section->notes : &report->notes;
	va_list arguments;
	if (!note)
		return;
	va_start(arguments, format);
	note->text = text_of(report, format, arguments);
	va_end(arguments);
	note->warning = warning;
	while (*at)
		at = &(*at)->next;
	*at = note;
}

void sonde_report_note_of(struct sonde_report *report, int warning, struct sonde_buf *text)
{
	report->is_short |= sonde_buf_error(text) != 0;
	sonde_report_note(report, NULL, warning, "%.*s", (int)text->len_b, (const char *)text->data);
	sonde_buf_fini(text);
}

void sonde_report_advise(struct sonde_report *report, struct sonde_section *section, enum sonde_action_kind kind,
			 const char *text)
{
	struct sonde_note *note = section ? section->notes : report->notes;
	if (report->is_short)
		return;
	while (note && note->next)
		note = note->next;
	assert(note && strstr(note->text, text));
	note->action = (struct sonde_action){kind, text};
}

const char *sonde_action_name(enum sonde_action_kind kind)
{
	static const char *const names[SONDE_ACTION_KINDS] = {
	    [SONDE_ACTION_NONE] = "none",     [SONDE_ACTION_RECORD] = "record",     [SONDE_ACTION_TIME] = "time",
	    [SONDE_ACTION_THREAD] = "thread", [SONDE_ACTION_FUNCTION] = "function", [SONDE_ACTION_SECTION] = "section",
	    [SONDE_ACTION_METRIC] = "metric", [SONDE_ACTION_HEAP] = "heap",         [SONDE_ACTION_PROCESS] = "process"};
	return names[kind];
}

void sonde_report_note_first(struct sonde_report *report, const char *text)
{
	struct sonde_note *others = report->notes;
	report->notes = NULL;
	sonde_report_note(report, NULL, 1, "%s", text);
	if (report->notes)
		report->notes->next = others;
	else
		report->notes = others;
}
