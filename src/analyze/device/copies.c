/* copies.c: GPU copies by source and destination: count, bytes and throughput. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"
#include "analyze/device/memory_kinds.h"
#include "util/error.h"

enum { TOTAL, COUNT, SIZE, RATE, MEAN, FROM, TO, DEVICE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [TOTAL] = {SONDE_COLUMN_KEY(copies, total_ns), "total", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [COUNT] = {SONDE_COLUMN_KEY(copies, copies), "copies", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [SIZE] = {SONDE_COLUMN_KEY(copies, size_b), "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {SONDE_COLUMN_KEY(copies, b_per_s), "bytes/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [MEAN] = {SONDE_COLUMN_KEY(copies, mean_b), "mean size", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [FROM] = {SONDE_COLUMN_KEY(copies, from), "from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [TO] = {SONDE_COLUMN_KEY(copies, to), "to", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [DEVICE] = {SONDE_COLUMN_KEY(copies, device), "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 2},
};

/* Copies of one device between the same kinds of memory. */
struct way {
	struct sonde_device_sum sum;
	uint32_t device;
	uint8_t from, to;
};

static int by_way(const void *left, const void *right)
{
	const struct way *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->from != b->from ? a->from - b->from : a->to - b->to;
}

static int by_time(const void *left, const void *right)
{
	const struct way *a = left, *b = right;
	if (a->sum.total_ns != b->sum.total_ns)
		return a->sum.total_ns > b->sum.total_ns ? -1 : 1;
	return by_way(left, right);
}

static size_t ways_of(struct way *ways, const struct sonde_device_sums *sums)
{
	size_t all = 0, count = 0;
	for (size_t i = 0; i < sums->count; i++) {
		const struct sonde_device_cell *cell = &sums->cells[i];
		const struct sonde_operation *operation = sonde_session_operation(sums->session, cell->operation);
		if (operation && operation->kind == SONDE_ACTIVITY_COPY)
			ways[all++] = (struct way){cell->sum, cell->device, sonde_memory_kind(operation->from),
						   sonde_memory_kind(operation->to)};
	}
	qsort(ways, all, sizeof *ways, by_way);
	for (size_t i = 0; i < all; i++)
		if (count && by_way(&ways[count - 1], &ways[i]) == 0)
			sonde_device_sum_add(&ways[count - 1].sum, &ways[i].sum);
		else
			ways[count++] = ways[i];
	qsort(ways, count, sizeof *ways, by_time);
	return count;
}

static void row_add(const struct sonde_device_sums *sums, const struct way *way, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_device_sum *sum = &way->sum;
	const char *device = sonde_device_label(sums->session, way->device, report);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[TOTAL] = sonde_cell_int(sum->total_ns);
	row[COUNT] = sonde_cell_int(sum->count);
	row[SIZE] = sonde_cell_int(sum->size_b);
	row[RATE] = sum->whole_ns ? sonde_cell_int((uint64_t)((double)sum->whole_b / ((double)sum->whole_ns / 1e9)))
				  : sonde_cell_absent(sum->whole ? "too short for the clock"
								 : "no copy lies wholly in the selected time");
	row[MEAN] = sonde_cell_int(sum->size_b / sum->count);
	row[FROM] = sonde_cell_label(sonde_memory_word(way->from), sonde_memory_kind(way->from));
	row[TO] = sonde_cell_label(sonde_memory_word(way->to), sonde_memory_kind(way->to));
	row[DEVICE] = sonde_device_cell(device);
}

static int copies_finish(void *state, struct sonde_report *report)
{
	const struct sonde_device_sums *sums = state;
	size_t limit = sums->options.limit;
	struct way *ways = calloc(sums->count + 1, sizeof *ways);
	if (!ways)
		return sonde_error(ENOMEM, "out of memory for copies of devices");
	size_t count = ways_of(ways, sums);
	struct sonde_section *section =
	    count ? sonde_report_table(report, "copies", "GPU copies", columns, COLUMNS) : NULL;
	for (size_t i = 0; i < count && (!limit || i < limit); i++)
		row_add(sums, &ways[i], report, section);
	sonde_device_rows_apart(report, section);
	free(ways);
	if (!section)
		return sonde_pass_nothing(&sums->options, report, "copies", "GPU copies",
					  sonde_device_none(sums->session, report, "GPU copy", NULL));
	section->table.omitted = limit && count > limit ? count - limit : 0;
	sonde_report_note(report, section, 0,
			  "bytes/s: only copies wholly in the selected time; peer: memory of another GPU");
	return 0;
}

const struct sonde_pass sonde_pass_copies = {
    .name = "copies",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "copies to and from GPUs: bytes, time, bytes per second",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .standard = 1,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_sums),
    .begin = sonde_device_sums_begin,
    .feed = sonde_device_sums_feed,
    .merge = sonde_device_sums_merge,
    .finish = copies_finish,
    .end = sonde_device_sums_end,
};
