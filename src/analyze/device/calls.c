/* calls.c: work of the host for GPUs: API calls, waiting, compiling, allocating, by name. */
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"

enum { DEFAULT_ROWS = 20 };
enum { TOTAL, CALLS, MEAN, LONGEST, NAME, KIND, SIZE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [TOTAL] = {SONDE_COLUMN_KEY(device_calls, total_ns), "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CALLS] = {SONDE_COLUMN_KEY(device_calls, calls), "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [LONGEST] = {"max_ns", "longest", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [NAME] = {SONDE_COLUMN_KEY(device_calls, call), "call", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [KIND] = {SONDE_COLUMN_KEY(device_calls, kind), "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [SIZE] = {"size_b", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
};

static void row_add(const struct sonde_device_sums *sums, const struct sonde_device_cell *cell,
		    struct sonde_report *report, struct sonde_section *section)
{
	static const char cut[] = "no call lies wholly in the selected time";
	const struct sonde_operation *operation = sonde_session_operation(sums->session, cell->operation);
	const struct sonde_device_sum *sum = &cell->sum;
	struct sonde_cell *row = sonde_report_row(report, section);
	row[TOTAL] = sonde_cell_int(sum->total_ns);
	row[CALLS] = sonde_cell_int(sum->count);
	row[MEAN] = sum->whole ? sonde_cell_int(sum->whole_ns / sum->whole) : sonde_cell_absent(cut);
	row[LONGEST] = sum->whole ? sonde_cell_int(sum->max_ns) : sonde_cell_absent(cut);
	row[NAME] = sonde_cell_text(operation->name);
	row[KIND] = sonde_cell_label(sonde_activity_row(operation->kind)->name, (int)operation->kind);
	row[SIZE] = sum->size_b ? sonde_cell_int(sum->size_b) : sonde_cell_absent("it has no size");
}

static int finish(void *state, struct sonde_report *report)
{
	const uint32_t kinds = 1u << SONDE_ACTIVITY_API | 1u << SONDE_ACTIVITY_SYNC | 1u << SONDE_ACTIVITY_BUILD |
			       1u << SONDE_ACTIVITY_ALLOC | 1u << SONDE_ACTIVITY_FREE | 1u << SONDE_ACTIVITY_OVERHEAD;
	const struct sonde_device_sums *sums = state;
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS;
	struct sonde_device_cell *rows = NULL;
	ptrdiff_t count = sonde_device_sums_by_name(&rows, sums, kinds);
	if (count <= 0) {
		free(rows);
		return count ? (int)count
			     : sonde_pass_nothing(&sums->options, report, "device-calls", "GPU API calls",
						  sonde_device_none(sums->session, report, "GPU API call", "api"));
	}
	struct sonde_section *section = sonde_report_table(report, "device-calls", "GPU API calls", columns, COLUMNS);
	for (size_t i = 0; i < (size_t)count && i < limit; i++)
		row_add(sums, &rows[i], report, section);
	free(rows);
	section->table.omitted = (size_t)count > limit ? (size_t)count - limit : 0;
	sonde_report_note(
	    report, section, 0,
	    "wall time on the host, all threads, nested calls included; overhead: the driver's own figure");
	return 0;
}

const struct sonde_pass sonde_pass_device_calls = {
    .name = "device-calls",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "GPU API calls on the host: calls, waiting, compiling",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_sums),
    .begin = sonde_device_sums_begin,
    .feed = sonde_device_sums_feed,
    .merge = sonde_device_sums_merge,
    .finish = finish,
    .end = sonde_device_sums_end,
};
