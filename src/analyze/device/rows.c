/* rows.c: shared by the tables about GPUs (device/rows.h). */
#include "analyze/device/rows.h"

#include <errno.h>
#include <string.h>

#include "format/meta.h"
#include "util/error.h"

static int differ(const struct sonde_table *table, size_t column)
{
	const struct sonde_cell *first = &table->cells[column];
	for (size_t row = 1; row < table->row_count; row++) {
		const struct sonde_cell *cell = &table->cells[row * table->column_count + column];
		if (cell->kind != first->kind || (cell->kind == SONDE_CELL_TEXT && strcmp(cell->text, first->text)))
			return 1;
	}
	return 0;
}

void sonde_device_rows_apart(struct sonde_report *report, struct sonde_section *section)
{
	struct sonde_table *table = section ? &section->table : NULL;
	size_t device = 0;
	while (table && device < table->column_count && strcmp(table->columns[device].key, "device"))
		device++;
	if (!table || device == table->column_count || !table->row_count || !differ(table, device))
		return;
	struct sonde_column *own = sonde_report_columns(report, table->columns, table->column_count);
	own[device].detail = 0;
	table->columns = own;
}

struct sonde_cell sonde_device_cell(const char *label)
{
	return *label ? sonde_cell_text(label) : sonde_cell_absent("not recorded in any GPU queue");
}

const char *sonde_device_length(struct sonde_report *report, uint64_t ns)
{
	static const struct {
		uint64_t from_ns;
		double unit_ns;
		const char *format;
	} units[] = {{999500000, 1e9, "%.3f s"}, {999500, 1e6, "%.3g ms"}, {1000, 1e3, "%.3g µs"}, {0, 1, "%.0f ns"}};
	size_t i = 0;
	while (ns < units[i].from_ns)
		i++;
	return sonde_report_text(report, units[i].format, (double)ns / units[i].unit_ns);
}

const char *sonde_device_none(const struct sonde_session *session, struct sonde_report *report, const char *what,
			      const char *level)
{
	const struct sonde_source_row *gpu = sonde_session_source_named(session, "gpu");
	if (gpu && gpu->state != SONDE_SOURCE_ON && *gpu->detail)
		return sonde_report_text(report, "no %s was recorded: %s", what, gpu->detail);
	if (gpu && (!level || strstr(gpu->method, level) || strstr(gpu->method, "full")))
		return sonde_report_text(report, "no %s was recorded", what);
	return sonde_report_text(report, "no %s was recorded: use sonde record --gpu%s%s", what, level ? "=" : "",
				 level ? level : "");
}
