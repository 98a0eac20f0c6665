/* launches.c: kernels by launch configuration: the same name with another grid, block or memory is another row.
 *
 * Several recorded operations with the same configuration are merged. Occupancy is that of the configuration, and
 * modelled (device/occupancy.h). A 0 in a configuration means unknown.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/device/occupancy.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };
enum { TOTAL, CALLS, MEAN, NAME, GRID, BLOCK, REGISTERS, SHARED, LOCAL, DELAY, OCCUPANCY, LIMIT, DEVICE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [TOTAL] = {"total_ns", "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {"mean_ns", "mean", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 2},
    [NAME] = {"kernel", "kernel", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [GRID] = {"grid", "blocks", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [BLOCK] = {"block", "threads", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [REGISTERS] = {"registers", "registers", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [SHARED] = {"shared_b", "shared", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 2},
    [LOCAL] = {"local_b", "local", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [DELAY] = {"mean_delay_ns", "mean delay", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [OCCUPANCY] = {"occupancy", "theoretical occupancy", SONDE_UNIT_RATIO, SONDE_BASIS_MODELLED, 0, 1},
    [LIMIT] = {"limited_by", "limited by", SONDE_UNIT_TEXT, SONDE_BASIS_MODELLED, 0, 3},
    [DEVICE] = {"device", "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
};

struct launch {
	struct sonde_device_cell cell;
	const struct sonde_operation *operation;
};

/* --- rows -------------------------------------------------------------------------------------------------------- */

static int by_sizes(const struct sonde_operation *a, const struct sonde_operation *b)
{
	const uint32_t pairs[][2] = {
	    {a->grid[0], b->grid[0]},
	    {a->grid[1], b->grid[1]},
	    {a->grid[2], b->grid[2]},
	    {a->block[0], b->block[0]},
	    {a->block[1], b->block[1]},
	    {a->block[2], b->block[2]},
	    {a->registers, b->registers},
	    {a->local_b, b->local_b},
	    {a->static_shared_b, b->static_shared_b},
	    {a->dynamic_shared_b, b->dynamic_shared_b},
	    {a->shared_unit_b, b->shared_unit_b},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] < pairs[i][1] ? -1 : 1;
	return 0;
}

static int by_configuration(const void *left, const void *right)
{
	const struct launch *a = left, *b = right;
	if (a->cell.device != b->cell.device)
		return a->cell.device < b->cell.device ? -1 : 1;
	int order = strcmp(a->operation->name, b->operation->name);
	return order ? order : by_sizes(a->operation, b->operation);
}

static int by_time(const void *left, const void *right)
{
	const struct launch *a = left, *b = right;
	if (a->cell.sum.total_ns != b->cell.sum.total_ns)
		return a->cell.sum.total_ns > b->cell.sum.total_ns ? -1 : 1;
	return by_configuration(left, right);
}

/* One row per configuration, longest total time first. NULL if out of memory. */
static struct launch *launches_of(const struct sonde_device_sums *sums, size_t *count)
{
	struct launch *rows = calloc(sums->count + 1, sizeof *rows);
	size_t all = 0, kept = 0;
	for (size_t i = 0; rows && i < sums->count; i++) {
		const struct sonde_operation *operation =
		    sonde_session_operation(sums->session, sums->cells[i].operation);
		if (operation && operation->kind == SONDE_ACTIVITY_KERNEL)
			rows[all++] = (struct launch){sums->cells[i], operation};
	}
	if (all)
		qsort(rows, all, sizeof *rows, by_configuration);
	for (size_t i = 0; i < all; i++)
		if (kept && !by_configuration(&rows[kept - 1], &rows[i]))
			sonde_device_sum_add(&rows[kept - 1].cell.sum, &rows[i].cell.sum);
		else
			rows[kept++] = rows[i];
	if (kept)
		qsort(rows, kept, sizeof *rows, by_time);
	*count = kept;
	return rows;
}

/* --- cells ------------------------------------------------------------------------------------------------------- */

/* "64", "16 × 16": trailing dimensions of 1 are omitted. */
static struct sonde_cell size_cell(struct sonde_report *report, const uint32_t sizes[3], const char *why)
{
	if (!sizes[0])
		return sonde_cell_absent(why);
	const char *text = sizes[2] > 1 ? sonde_report_text(report, "%" PRIu32 " × %" PRIu32 " × %" PRIu32, sizes[0],
							    sizes[1] ? sizes[1] : 1, sizes[2])
			   : sizes[1] > 1 ? sonde_report_text(report, "%" PRIu32 " × %" PRIu32, sizes[0], sizes[1])
					  : sonde_report_text(report, "%" PRIu32, sizes[0]);
	return text ? sonde_cell_text(text) : sonde_cell_absent("out of memory");
}

static struct sonde_cell reported(uint64_t value)
{
	return value ? sonde_cell_int(value) : sonde_cell_absent("none, or not reported");
}

static void row_add(const struct sonde_device_sums *sums, const struct launch *launch, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_operation *operation = launch->operation;
	const struct sonde_device_sum *sum = &launch->cell.sum;
	const struct sonde_device *device = sonde_session_device(sums->session, launch->cell.device);
	const char *label = sonde_device_label(sums->session, launch->cell.device, report);
	struct sonde_device_occupancy occupancy;
	struct sonde_cell *row = sonde_report_row(report, section);
	const char *why = sonde_device_occupancy(&occupancy, device, operation);
	row[TOTAL] = sonde_cell_int(sum->total_ns);
	row[CALLS] = sonde_cell_int(sum->count);
	row[MEAN] = sum->whole ? sonde_cell_int(sum->whole_ns / sum->whole)
			       : sonde_cell_absent("no launch lies wholly in the selected time");
	row[NAME] = sonde_cell_text(operation->name);
	row[GRID] = size_cell(report, operation->grid, "not reported");
	row[BLOCK] =
	    size_cell(report, operation->block,
		      operation->grid[0] ? "chosen by the driver; the grid is given in threads" : "not reported");
	row[REGISTERS] = reported(operation->registers);
	row[SHARED] = reported((uint64_t)operation->static_shared_b + operation->dynamic_shared_b);
	row[LOCAL] = reported(operation->local_b);
	row[DELAY] = sum->queued ? sonde_cell_int(sum->queued_ns / sum->queued)
				 : sonde_cell_absent("their submission was not recorded");
	row[OCCUPANCY] = why ? sonde_cell_absent(why) : sonde_cell_real(occupancy.share, 0);
	row[LIMIT] = why ? sonde_cell_absent(why) : sonde_cell_text(occupancy.limited_by);
	row[DEVICE] = sonde_device_cell(label);
}

static int finish(void *state, struct sonde_report *report)
{
	static const char title[] = "Kernel launch configurations";
	const struct sonde_device_sums *sums = state;
	size_t limit = sums->options.limit ? sums->options.limit : DEFAULT_ROWS, count = 0;
	struct launch *rows = launches_of(sums, &count);
	if (!rows)
		return sonde_error(ENOMEM, "out of memory for %zu operations of devices", sums->count);
	if (!count) {
		free(rows);
		return sonde_pass_nothing(&sums->options, report, "launches", title,
					  sonde_device_none(sums->session, report, "kernel", NULL));
	}
	struct sonde_section *section = sonde_report_table(report, "launches", title, columns, COLUMNS);
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(sums, &rows[i], report, section);
	sonde_device_rows_apart(report, section);
	free(rows);
	section->table.omitted = count > limit ? count - limit : 0;
	sonde_report_note(
	    report, section, 0,
	    "grid in blocks, block in threads; registers and local memory per thread; occupancy: modelled");
	return 0;
}

const struct sonde_pass sonde_pass_launches = {
    .name = "launches",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "kernels by launch configuration",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_sums),
    .begin = sonde_device_sums_begin,
    .feed = sonde_device_sums_feed,
    .merge = sonde_device_sums_merge,
    .finish = finish,
    .end = sonde_device_sums_end,
};
