/* memory.c: GPU memory over time: live bytes at the end, the peak and its time, and the blocks live at the peak. */
#include "analyze/device/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"
#include "analyze/device/memory_kinds.h"
#include "analyze/words.h"
#include "util/error.h"

enum { DEFAULT_ROWS = 20 };

/* Adjacent blocks of one device and kind of memory. */
struct group {
	const struct sonde_device_block *blocks;
	size_t count;
	struct sonde_device_peak peak;
};

static int is_same_group(const struct sonde_device_block *a, const struct sonde_device_block *b)
{
	return a->device == b->device && a->kind == b->kind;
}

/* The group that starts at `from`. */
static int group_at(struct group *out, const struct sonde_device_blocks *blocks, size_t from,
		    const struct sonde_device_times *times)
{
	size_t to = from;
	while (to < blocks->count && is_same_group(&blocks->all[to], &blocks->all[from]))
		to++;
	const struct sonde_window window = sonde_device_window(times, blocks->all[from].device);
	*out = (struct group){.blocks = &blocks->all[from], .count = to - from};
	return sonde_device_peak_of(&out->peak, out->blocks, out->count, &window);
}

static const char *device_of(const struct sonde_session *session, uint32_t device, struct sonde_report *report)
{
	return device ? sonde_device_label(session, device, report) : "unknown";
}

static void note(const struct sonde_device_times *times, const struct sonde_device_blocks *blocks,
		 struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(report, section, 0,
			  "recorded by address, all threads; memory that drivers take on their own is not included");
	if (blocks->unsized)
		sonde_report_note(report, section, 1, "%llu allocation%s of unknown size or address %s left out",
				  (unsigned long long)blocks->unsized, sonde_plural(blocks->unsized),
				  sonde_word(blocks->unsized, "is", "are"));
	if (blocks->unknown_frees)
		sonde_report_note(report, section, 0, "%llu %s freed without a recorded allocation",
				  (unsigned long long)blocks->unknown_frees,
				  sonde_word(blocks->unknown_frees, "block was", "blocks were"));
	if (times->left_out)
		sonde_report_note(
		    report, section, 1, "%llu activit%s exceeded the memory limit: the figures are too low",
		    (unsigned long long)times->left_out, sonde_word(times->left_out, "y has", "ies have"));
}

/* --- by device and kind of memory -------------------------------------------------------------------------------- */

enum { PEAK, PEAK_AT, END, BLOCKS, BEGUN, ALLOCATIONS, KIND, DEVICE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [PEAK] = {"peak_b", "peak", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_AT] = {"peak_at_ns", "at", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [END] = {"end_b", "at exit", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BLOCKS] = {"end_blocks", "blocks at exit", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [BEGUN] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [ALLOCATIONS] = {"allocations", "allocations", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [KIND] = {"memory", "memory", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [DEVICE] = {"device", "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
};

static void row_add(const struct sonde_device_times *times, const struct group *group, struct sonde_report *report,
		    struct sonde_section *section)
{
	const char *device = device_of(times->session, group->blocks->device, report);
	struct sonde_cell *row = sonde_report_row(report, section);
	uint64_t start_ns = sonde_session_run(times->session)->start_ns;
	row[PEAK] = sonde_cell_int(group->peak.peak_b);
	row[PEAK_AT] = group->peak.peak_b && group->peak.peak_ns >= start_ns
			   ? sonde_cell_int(group->peak.peak_ns - start_ns)
			   : sonde_cell_absent("nothing was allocated at that time");
	row[END] = sonde_cell_int(group->peak.end_b);
	row[BLOCKS] = sonde_cell_int(group->peak.end);
	row[BEGUN] = sonde_cell_int(group->peak.begun_b);
	row[ALLOCATIONS] = sonde_cell_int(group->peak.begun);
	row[KIND] = sonde_cell_text(sonde_memory_word(group->blocks->kind));
	row[DEVICE] = sonde_cell_text(device);
}

static int memory_finish(void *state, struct sonde_report *report)
{
	struct sonde_device_times *times = state;
	struct sonde_device_blocks blocks;
	struct group group;
	sonde_device_times_sort(times);
	int rc = sonde_device_blocks_read(&blocks, times);
	if (rc || !blocks.count) {
		sonde_device_blocks_fini(&blocks);
		return rc ? rc
			  : sonde_pass_nothing(
				&times->options, report, "device-memory", "GPU memory",
				sonde_device_none(times->session, report, "GPU memory allocation", "api"));
	}
	struct sonde_section *section = sonde_report_table(report, "device-memory", "GPU memory", columns, COLUMNS);
	rc = 0;
	for (size_t from = 0; !rc && from < blocks.count; from += group.count) {
		rc = group_at(&group, &blocks, from, times);
		if (!rc)
			row_add(times, &group, report, section);
	}
	if (!rc)
		note(times, &blocks, report, section);
	sonde_device_blocks_fini(&blocks);
	return rc;
}

const struct sonde_pass sonde_pass_device_memory = {
    .name = "device-memory",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "GPU memory: peak, and live at exit",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_times),
    .begin = sonde_device_times_begin,
    .feed = sonde_device_times_feed,
    .merge = sonde_device_times_merge,
    .finish = memory_finish,
    .end = sonde_device_times_end,
};

/* --- what held the peak ------------------------------------------------------------------------------------------ */

enum { HELD, HELD_BLOCKS, SIZE, SHARE, LEFT, CALL, HELD_KIND, HELD_DEVICE, HELD_COLUMNS };

static const struct sonde_column held_columns[HELD_COLUMNS] = {
    [HELD] = {"held_b", "held", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [HELD_BLOCKS] = {"blocks", "blocks", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [SIZE] = {"size_b", "of", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [SHARE] = {"share", "of the peak", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [LEFT] = {"left_b", "never freed", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [CALL] = {"call", "allocated by", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [HELD_KIND] = {"memory", "memory", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 1},
    [HELD_DEVICE] = {"device", "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 2},
};

/* Blocks live at the peak that have the same size and were allocated by the same API function. */
struct held {
	const char *call;
	uint64_t size_b, blocks, left, peak_b;
	uint32_t device;
	uint8_t kind;
};

static int by_size(const void *left, const void *right)
{
	const struct held *a = left, *b = right;
	int by = strcmp(a->call, b->call);
	return by ? by : (a->size_b < b->size_b) - (a->size_b > b->size_b);
}

static int by_bytes(const void *left, const void *right)
{
	const struct held *a = left, *b = right;
	uint64_t a_b = a->size_b * a->blocks, b_b = b->size_b * b->blocks;
	if (a_b != b_b)
		return a_b > b_b ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->kind != b->kind ? a->kind - b->kind : by_size(left, right);
}

/* Sums a group's blocks that were live at its peak by API function and size: writes a row for each to `out`, and
 * returns the number of rows. */
static size_t held_of(struct held *out, const struct group *group, const struct sonde_session *session)
{
	size_t all = 0, count = 0;
	for (size_t i = 0; i < group->count; i++) {
		const struct sonde_device_block *block = &group->blocks[i];
		if (!sonde_device_block_lives(block, group->peak.peak_ns))
			continue;
		out[all++] = (struct held){sonde_session_operation(session, block->operation)->name,
					   block->size_b,
					   1,
					   block->ended_ns == UINT64_MAX,
					   group->peak.peak_b,
					   block->device,
					   block->kind};
	}
	qsort(out, all, sizeof *out, by_size);
	for (size_t i = 0; i < all; i++) {
		if (count && by_size(&out[count - 1], &out[i]) == 0) {
			out[count - 1].blocks++;
			out[count - 1].left += out[i].left;
		} else {
			out[count++] = out[i];
		}
	}
	return count;
}

static void held_row_add(const struct sonde_session *session, const struct held *held, struct sonde_report *report,
			 struct sonde_section *section)
{
	const char *device = device_of(session, held->device, report);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[HELD] = sonde_cell_int(held->blocks * held->size_b);
	row[HELD_BLOCKS] = sonde_cell_int(held->blocks);
	row[SIZE] = sonde_cell_int(held->size_b);
	row[SHARE] = held->peak_b
			 ? sonde_cell_real((double)held->blocks * (double)held->size_b / (double)held->peak_b, 0)
			 : sonde_cell_absent("nothing was allocated at that time");
	row[LEFT] = sonde_cell_int(held->left * held->size_b);
	row[CALL] = sonde_cell_text(held->call);
	row[HELD_KIND] = sonde_cell_text(sonde_memory_word(held->kind));
	row[HELD_DEVICE] = sonde_cell_text(device);
}

static int peak_finish(void *state, struct sonde_report *report)
{
	struct sonde_device_times *times = state;
	size_t limit = times->options.limit ? times->options.limit : DEFAULT_ROWS, count = 0;
	struct sonde_device_blocks blocks;
	struct group group;
	sonde_device_times_sort(times);
	int rc = sonde_device_blocks_read(&blocks, times);
	struct held *held = rc ? NULL : calloc(blocks.count + 1, sizeof *held);
	rc = rc || held ? rc : sonde_error(ENOMEM, "out of memory for %zu blocks", blocks.count);
	for (size_t from = 0; !rc && from < blocks.count; from += group.count) {
		rc = group_at(&group, &blocks, from, times);
		count += rc ? 0 : held_of(held + count, &group, times->session);
	}
	if (count)
		qsort(held, count, sizeof *held, by_bytes);
	struct sonde_section *section =
	    count && !rc
		? sonde_report_table(report, "device-peak", "GPU memory at its peak", held_columns, HELD_COLUMNS)
		: NULL;
	for (size_t i = 0; !rc && i < count && i < limit; i++)
		held_row_add(times->session, &held[i], report, section);
	if (!rc && !section)
		rc = sonde_pass_nothing(&times->options, report, "device-peak", "GPU memory at its peak",
					sonde_device_none(times->session, report, "GPU memory allocation", "api"));
	if (!rc && section) {
		section->table.omitted = count > limit ? count - limit : 0;
		sonde_device_rows_apart(report, section);
		sonde_report_note(report, section, 0,
				  "blocks live at the peak of their GPU and kind of memory, by size and "
				  "call; shares are of that peak");
	}
	free(held);
	sonde_device_blocks_fini(&blocks);
	return rc;
}

const struct sonde_pass sonde_pass_device_peak = {
    .name = "device-peak",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "GPU memory: what held it at its peak",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_times),
    .begin = sonde_device_times_begin,
    .feed = sonde_device_times_feed,
    .merge = sonde_device_times_merge,
    .finish = peak_finish,
    .end = sonde_device_times_end,
};
