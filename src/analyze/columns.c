/* columns.c: looks up the columns of columns.def in a report, and checks that they have the declared units. */
#include "analyze/columns.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* The allowed units of a column's cells; a column of numbers may have any unit. */
enum {
	text = 1u << SONDE_UNIT_TEXT,
	ns = 1u << SONDE_UNIT_NS,
	bytes = 1u << SONDE_UNIT_BYTES,
	count = 1u << SONDE_UNIT_COUNT,
	ratio = 1u << SONDE_UNIT_RATIO,
	joules = 1u << SONDE_UNIT_JOULES,
	id = 1u << SONDE_UNIT_ID,
	number = INT_MAX & ~text
};

static struct sonde_columns_rows rows_of(const struct sonde_report *report, const char *section_id)
{
	for (const struct sonde_section *section = report->first; section; section = section->next)
		if (section->kind == SONDE_SECTION_TABLE && section->table.row_count &&
		    !strcmp(section->id, section_id))
			return (struct sonde_columns_rows){&section->table, section->table.row_count};
	return (struct sonde_columns_rows){0};
}

static int find(const struct sonde_columns_rows *of, const char *key, unsigned units)
{
	for (size_t i = 0; of->table && i < of->table->column_count; i++) {
		if (strcmp(of->table->columns[i].key, key) != 0)
			continue;
		assert(1u << of->table->columns[i].unit & units);
		return (int)i;
	}
	return -1;
}

#define SONDE_COLUMNS_OF(section, id)                                                                       \
	static void read_##section(struct sonde_columns_##section *view, const struct sonde_report *report) \
	{                                                                                                   \
		view->of = rows_of(report, id);
#define SONDE_COLUMN(kind, key) view->key.at = find(&view->of, #key, kind);
#define SONDE_COLUMN_LABEL(type, key) view->key.at = find(&view->of, #key, text);
#define SONDE_COLUMNS_END(section) }
#include "analyze/columns.def"

static void read_metrics(struct sonde_columns *out)
{
	static const char *const names[SONDE_SUMMARY_ROWS] = {
#define SONDE_SUMMARY(group, key) SONDE_SUMMARY_KEY(group, key),
#include "analyze/metrics.def"
#undef SONDE_SUMMARY
	};
	for (size_t k = 0; k < SONDE_SUMMARY_ROWS; k++)
		out->summarised[k] = NAN;
	for (size_t i = out->summary.of.rows; i-- > 0;)
		for (size_t k = 0; k < SONDE_SUMMARY_ROWS; k++)
			if (!strcmp(sonde_column_text(&out->summary, i, metric), names[k]))
				out->summarised[k] = sonde_column_number(&out->summary, i, value);
}

void sonde_columns_read(struct sonde_columns *out, const struct sonde_report *report)
{
#define SONDE_COLUMNS_OF(section, id) read_##section(&out->section, report);
#include "analyze/columns.def"
	read_metrics(out);
}

static const struct sonde_cell *cell_of(const struct sonde_columns_rows *of, size_t row, int at)
{
	static const struct sonde_cell none;
	return at < 0 || row >= of->rows ? &none : &of->table->cells[row * of->table->column_count + (size_t)at];
}

double sonde_columns_value(const struct sonde_columns_rows *of, size_t row, int at)
{
	const struct sonde_cell *cell = cell_of(of, row, at);
	return cell->kind == SONDE_CELL_INT ? (double)cell->integer : cell->kind == SONDE_CELL_REAL ? cell->real : NAN;
}

int sonde_columns_label(const struct sonde_columns_rows *of, size_t row, int at)
{
	const struct sonde_cell *cell = cell_of(of, row, at);
	return cell->kind == SONDE_CELL_TEXT ? cell->label - 1 : -1;
}

const char *sonde_columns_text(const struct sonde_columns_rows *of, size_t row, struct sonde_column_at_text column)
{
	const struct sonde_cell *cell = cell_of(of, row, column.at);
	return cell->kind == SONDE_CELL_TEXT && cell->text ? cell->text : "";
}
