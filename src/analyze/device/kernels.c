/* kernels.c: GPU kernels by name: their durations, and their delays from submission to start. */
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"
#include "analyze/words.h"

enum { DEFAULT_ROWS = 20 };
enum { TOTAL, CALLS, MEAN, SHORTEST, LONGEST, NAME, DELAY, SHARE, OCCUPANCY, LIMIT, FILLED, LANES, DEVICE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [TOTAL] = {SONDE_COLUMN_KEY(kernels, total_ns), "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CALLS] = {SONDE_COLUMN_KEY(kernels, calls), "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {SONDE_COLUMN_KEY(kernels, mean_ns), "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [SHORTEST] = {"min_ns", "shortest", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [LONGEST] = {"max_ns", "longest", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [NAME] = {SONDE_COLUMN_KEY(kernels, kernel), "kernel", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [DELAY] = {"mean_delay_ns", "mean delay", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [SHARE] = {"share", "of kernels", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
    [OCCUPANCY] = {SONDE_COLUMN_KEY(kernels, occupancy), "theoretical occupancy", SONDE_UNIT_RATIO,
		   SONDE_BASIS_MODELLED, 0, 3},
    [LIMIT] = {SONDE_COLUMN_KEY(kernels, limited_by), "limited by", SONDE_UNIT_TEXT, SONDE_BASIS_MODELLED, 0, 4},
    [FILLED] = {SONDE_COLUMN_KEY(kernels, filled_share), "units filled", SONDE_UNIT_RATIO, SONDE_BASIS_MODELLED, 0, 5},
    [LANES] = {SONDE_COLUMN_KEY(kernels, lanes_share), "lanes used", SONDE_UNIT_RATIO, SONDE_BASIS_MODELLED, 0, 5},
    [DEVICE] = {SONDE_COLUMN_KEY(kernels, device), "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
};

/* A cell for a modelled share, weighted by time. */
static struct sonde_cell modelled(const struct sonde_device_sum *sum, double share_ns, const char *why)
{
	why = why ? why : sum->total_ns ? NULL : "its total time is 0";
	return why ? sonde_cell_absent(why) : sonde_cell_real(share_ns / (double)sum->total_ns, 0);
}

static void row_add(const struct sonde_device_sums *sums, const struct sonde_device_cell *cell, uint64_t all_ns,
		    struct sonde_report *report, struct sonde_section *section)
{
	static const char cut[] = "no launch lies wholly in the selected time";
	const struct sonde_operation *operation = sonde_session_operation(sums->session, cell->operation);
	const struct sonde_device_sum *sum = &cell->sum;
	const char *device = sonde_device_label(sums->session, cell->device, report);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[TOTAL] = sonde_cell_int(sum->total_ns);
	row[CALLS] = sonde_cell_int(sum->count);
	row[NAME] = sonde_cell_text(operation->name);
	row[MEAN] = sum->whole ? sonde_cell_int(sum->whole_ns / sum->whole) : sonde_cell_absent(cut);
	row[SHORTEST] = sum->whole ? sonde_cell_int(sum->min_ns) : sonde_cell_absent(cut);
	row[LONGEST] = sum->whole ? sonde_cell_int(sum->max_ns) : sonde_cell_absent(cut);
	row[DELAY] = sum->queued ? sonde_cell_int(sum->queued_ns / sum->queued)
				 : sonde_cell_absent("their submission was not recorded");
	row[SHARE] = all_ns ? sonde_cell_real((double)sum->total_ns / (double)all_ns, 0)
			    : sonde_cell_absent("the total time of kernels is 0");
	const char *why = sum->unoccupied ? sum->unoccupied : sum->total_ns ? NULL : "its total time is 0";
	row[OCCUPANCY] = modelled(sum, sum->occupied_ns, sum->unoccupied);
	row[FILLED] = modelled(sum, sum->filled_ns, sum->unfilled);
	row[LANES] = modelled(sum, sum->lanes_ns, sum->unlaned);
	row[LIMIT] = why ? sonde_cell_absent(why) : sonde_cell_text(sum->limited_by);
	row[DEVICE] = sonde_device_cell(device);
}

static int kernels_finish(void *state, struct sonde_report *report)
{
	const struct sonde_device_sums *sums = state;
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS;
	struct sonde_device_cell *rows = NULL;
	uint64_t all_ns = 0, calls = 0;
	int is_occupied = 0;
	ptrdiff_t count = sonde_device_sums_by_name(&rows, sums, 1u << SONDE_ACTIVITY_KERNEL);
	if (count <= 0) {
		free(rows);
		return count ? (int)count
			     : sonde_pass_nothing(&sums->options, report, "kernels", "Kernels",
						  sonde_device_none(sums->session, report, "kernel", NULL));
	}
	struct sonde_section *section = sonde_report_table(report, "kernels", "Kernels", columns, COLUMNS);
	for (ptrdiff_t i = 0; i < count; i++) {
		all_ns += rows[i].sum.total_ns;
		calls += rows[i].sum.count;
		is_occupied |= rows[i].sum.limited_by != NULL;
	}
	for (size_t i = 0; i < (size_t)count && i < limit; i++)
		row_add(sums, &rows[i], all_ns, report, section);
	sonde_device_rows_apart(report, section);
	free(rows);
	section->table.omitted = (size_t)count > limit ? (size_t)count - limit : 0;
	sonde_report_note(report, section, 0, "%llu kernel%s took %s in all queues; delay: from submission to start",
			  (unsigned long long)calls, sonde_plural(calls), sonde_device_length(report, all_ns));
	if (is_occupied)
		sonde_report_note(report, section, 0,
				  "theoretical occupancy: modelled from the launch configuration, not measured");
	return 0;
}

const struct sonde_pass sonde_pass_kernels = {
    .name = "kernels",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "GPU kernels by name",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .standard = 1,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_sums),
    .begin = sonde_device_sums_begin,
    .feed = sonde_device_sums_feed,
    .merge = sonde_device_sums_merge,
    .finish = kernels_finish,
    .end = sonde_device_sums_end,
};
