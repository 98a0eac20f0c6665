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

static struct sonde_section *section_add(struct sonde_report *report, const char *id, const char *title)
{
	struct sonde_section *section = sonde_arena_alloc(&report->arena, sizeof *section);
	if (!section)
		return NULL;
	section->id = id;
	section->title = title;
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
	struct sonde_section *section = section_add(report, id, title);
	if (!section)
		return NULL;
	section->kind = SONDE_SECTION_TABLE;
	section->table.columns = columns;
	section->table.column_count = column_count;
	return section;
}

struct sonde_section *sonde_report_tree(struct sonde_report *report, const char *id, const char *title,
					enum sonde_unit unit, const char *value)
{
	struct sonde_tree_node *root = sonde_arena_alloc(&report->arena, sizeof *root);
	struct sonde_section *section = root ? section_add(report, id, title) : NULL;
	if (!section)
		return NULL;
	root->name = root->module = root->file = "";
	section->kind = SONDE_SECTION_TREE;
	section->tree.unit = unit;
	section->tree.value = value;
	section->tree.root = root;
	return section;
}

static int rows_grow(struct sonde_report *report, struct sonde_table *table)
{
	size_t cap = table->row_cap ? table->row_cap * 2 : FIRST_ROWS;
	struct sonde_cell *cells;
	if (cap > SIZE_MAX / sizeof *cells / table->column_count)
		return -ENOMEM;
	cells = sonde_arena_alloc(&report->arena, cap * table->column_count * sizeof *cells);
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
	if (table->column_count == 0)
		return NULL;
	if (table->row_count == table->row_cap && rows_grow(report, table) < 0)
		return NULL;
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

static char *arena_vprintf(struct sonde_arena *arena, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int len = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *text = len < 0 ? NULL : sonde_arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, format, arguments);
	return text;
}

int sonde_report_fact(struct sonde_report *report, const char *key, struct sonde_cell cell)
{
	struct sonde_fact *fact = sonde_arena_alloc(&report->arena, sizeof *fact);
	struct sonde_fact **at = &report->facts;
	if (!fact)
		return sonde_error(ENOMEM, "out of memory for a fact of the report");
	*fact = (struct sonde_fact){.key = key, .cell = cell};
	while (*at)
		at = &(*at)->next;
	*at = fact;
	return 0;
}

int sonde_report_note(struct sonde_report *report, struct sonde_section *section, int warning, const char *format, ...)
{
	struct sonde_note *note = sonde_arena_alloc(&report->arena, sizeof *note);
	va_list arguments;
	va_start(arguments, format);
	char *text = note ? arena_vprintf(&report->arena, format, arguments) : NULL;
	va_end(arguments);
	if (!text)
		return sonde_error(ENOMEM, "out of memory for a note of the report");
	note->text = text;
	note->warning = warning;
	struct sonde_note **at = section ? &section->notes : &report->notes;
	while (*at)
		at = &(*at)->next;
	*at = note;
	return 0;
}

void sonde_report_advise(struct sonde_report *report, struct sonde_section *section, enum sonde_action_kind kind,
			 const char *text)
{
	struct sonde_note *note = section ? section->notes : report->notes;
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

int sonde_report_note_first(struct sonde_report *report, const char *text)
{
	struct sonde_note *others = report->notes;
	report->notes = NULL;
	int code =
	    text ? sonde_report_note(report, NULL, 1, "%s", text) : sonde_error(ENOMEM, "out of memory for a note");
	if (report->notes)
		report->notes->next = others;
	else
		report->notes = others;
	return code;
}
