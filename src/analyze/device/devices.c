/* devices.c: GPUs: how busy each was, with what, and its peak of allocated memory. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/columns.h"
#include "analyze/contents.h"
#include "analyze/device/memory.h"
#include "analyze/device/rows.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"
#include "analyze/device/memory_kinds.h"
#include "sonde/device.h"
#include "util/error.h"

enum {
	DEVICE,
	BUSY,
	KERNELS,
	COPIES,
	COPIED,
	CONCURRENCY,
	BUSY_NS,
	IDLE,
	GAPS,
	ALONE,
	PEAK,
	RESERVED,
	QUEUES,
	KIND,
	UNITS,
	CLOCK,
	MEMORY,
	DRIVER,
	UUID,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [DEVICE] = {SONDE_COLUMN_KEY(devices, device), "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [BUSY] = {"busy_share", "busy", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 0},
    [KERNELS] = {SONDE_COLUMN_KEY(devices, kernel_ns), "kernels", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [COPIES] = {SONDE_COLUMN_KEY(devices, copy_ns), "copies", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 0},
    [COPIED] = {"copied_b", "copied", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [CONCURRENCY] = {SONDE_COLUMN_KEY(devices, concurrency), "at once", SONDE_UNIT_NUMBER, SONDE_BASIS_MEASURED, 0, 1},
    [BUSY_NS] = {SONDE_COLUMN_KEY(devices, busy_ns), "busy time", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [IDLE] = {SONDE_COLUMN_KEY(devices, idle_ns), "in gaps", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 3},
    [GAPS] = {SONDE_COLUMN_KEY(devices, gaps), "gaps", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 4},
    [ALONE] = {SONDE_COLUMN_KEY(devices, copy_alone_ns), "copies alone", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 4},
    [PEAK] = {SONDE_COLUMN_KEY(devices, peak_b), "peak memory", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [RESERVED] = {SONDE_COLUMN_KEY(devices, reserved_b), "reserved", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [QUEUES] = {"queues", "queues", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [KIND] = {SONDE_COLUMN_KEY(devices, kind), "kind", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 3},
    [UNITS] = {"units", "units", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 3},
    [CLOCK] = {"clock_hz", "clock", SONDE_UNIT_HZ, SONDE_BASIS_MEASURED, 0, 4},
    [MEMORY] = {SONDE_COLUMN_KEY(devices, memory_b), "memory", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 3},
    [DRIVER] = {"driver", "driver", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 4},
    [UUID] = {"uuid", "UUID", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 5},
};

static const char *const kind_words[] = {[SONDE_DEVICE_OTHER] = "other",
					 [SONDE_DEVICE_GPU] = "GPU",
					 [SONDE_DEVICE_CPU] = "processor",
					 [SONDE_DEVICE_ACCELERATOR] = "accelerator"};

struct work {
	struct sonde_device_union busy;
	struct sonde_device_union kernels, moves; /* moves: copies between host memory and other memory */
	uint64_t all_ns, kernel_ns, copy_ns, copied_b, copies;
	uint64_t queues;
	struct memory {
		struct sonde_device_peak peak;
		int is_known;
	} allocated, reserved; /* blocks allocated by calls; memory reserved by pools */
};

/* --- adding up --------------------------------------------------------------------------------------------------- */

static int add_unions(struct work *work, const struct sonde_device_times *times, const struct sonde_device_time *row,
		      uint64_t from_ns, uint64_t to_ns)
{
	const struct sonde_operation *operation = sonde_session_operation(times->session, row->operation);
	int rc = sonde_device_union_add(&work->busy, from_ns, to_ns);
	if (!rc && row->kind == SONDE_ACTIVITY_KERNEL)
		rc = sonde_device_union_add(&work->kernels, from_ns, to_ns);
	if (!rc && row->kind == SONDE_ACTIVITY_COPY &&
	    sonde_memory_is_host(operation->from) != sonde_memory_is_host(operation->to))
		rc = sonde_device_union_add(&work->moves, from_ns, to_ns);
	return rc;
}

static int add_times(struct work *works, const struct sonde_device_times *times)
{
	int rc = 0;
	for (size_t i = 0; i < times->count && !rc; i++) {
		const struct sonde_device_time *row = &times->rows[i];
		uint64_t from_ns, to_ns;
		if (!sonde_device_times_busy(times, row, &from_ns, &to_ns))
			continue;
		struct work *work = &works[sonde_device_of_queue(times->session, row->queue)];
		uint64_t ns = to_ns - from_ns;
		work->all_ns += ns;
		work->kernel_ns += row->kind == SONDE_ACTIVITY_KERNEL ? ns : 0;
		if (row->kind == SONDE_ACTIVITY_COPY) {
			work->copies++;
			work->copy_ns += ns;
			work->copied_b += row->size_b;
		}
		rc = add_unions(work, times, row, from_ns, to_ns);
	}
	for (uint32_t id = 1; id <= sonde_session_queue_count(times->session); id++)
		works[sonde_device_of_queue(times->session, id)].queues++;
	return rc;
}

/* Computes the peak of one device's blocks in device memory: of its blocks [from, to), these come before the ones in
 * host memory. */
static int peak_of(struct memory *out, const struct sonde_device_blocks *blocks, size_t from, size_t to,
		   const struct sonde_device_times *times)
{
	struct sonde_window window = sonde_device_window(times, blocks->all[from].device);
	size_t own = from;
	while (own < to && !sonde_memory_is_host(blocks->all[own].kind))
		own++;
	out->is_known = own > from;
	return sonde_device_peak_of(&out->peak, &blocks->all[from], own - from, &window);
}

static int add_memory(struct work *works, const struct sonde_device_times *times, int is_reserved)
{
	struct sonde_device_blocks blocks;
	int rc = is_reserved ? sonde_device_pools_read(&blocks, times) : sonde_device_blocks_read(&blocks, times);
	if (rc)
		return rc;
	for (size_t from = 0, to; from < blocks.count && !rc; from = to) {
		struct work *work = &works[blocks.all[from].device];
		for (to = from; to < blocks.count && blocks.all[to].device == blocks.all[from].device;)
			to++;
		rc = peak_of(is_reserved ? &work->reserved : &work->allocated, &blocks, from, to, times);
	}
	sonde_device_blocks_fini(&blocks);
	return rc;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static struct sonde_cell known(uint64_t value)
{
	return value ? sonde_cell_int(value) : sonde_cell_absent("not reported by the driver");
}

static struct sonde_cell said(const char *text)
{
	return *text ? sonde_cell_text(text) : sonde_cell_absent("not reported by the driver");
}

/* Idle time between the first and the last activity. */
static uint64_t idle_of(const struct sonde_device_union *busy)
{
	return busy->count ? busy->all[busy->count - 1].to_ns - busy->all[0].from_ns - busy->total_ns : 0;
}

static uint64_t alone_of(const struct work *work)
{
	uint64_t alone_ns = work->moves.total_ns;
	for (size_t i = 0; i < work->moves.count; i++)
		alone_ns -=
		    sonde_device_union_covers(&work->kernels, work->moves.all[i].from_ns, work->moves.all[i].to_ns);
	return alone_ns;
}

static void row_add(const struct sonde_device_times *times, uint32_t id, const struct work *work,
		    struct sonde_report *report, struct sonde_section *section)
{
	const struct sonde_device *device = sonde_session_device(times->session, id);
	const struct sonde_window window = sonde_device_window(times, id);
	const char *label = sonde_device_label(times->session, id, report);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[DEVICE] = sonde_cell_text(label);
	row[BUSY] = window.to_ns > window.from_ns
			? sonde_cell_real((double)work->busy.total_ns / (double)(window.to_ns - window.from_ns), 0)
			: sonde_cell_absent("the selected time is empty");
	row[KERNELS] = sonde_cell_int(work->kernel_ns);
	row[COPIES] = sonde_cell_int(work->copy_ns);
	row[COPIED] = sonde_cell_int(work->copied_b);
	row[CONCURRENCY] = work->busy.total_ns ? sonde_cell_real((double)work->all_ns / (double)work->busy.total_ns, 0)
					       : sonde_cell_absent("it was idle");
	row[BUSY_NS] = sonde_cell_int(work->busy.total_ns);
	row[IDLE] = sonde_cell_int(idle_of(&work->busy));
	row[GAPS] = sonde_cell_int(work->busy.count ? work->busy.count - 1 : 0);
	row[ALONE] = sonde_cell_int(alone_of(work));
	row[PEAK] = work->allocated.is_known ? sonde_cell_int(work->allocated.peak.peak_b)
					     : sonde_cell_absent("no allocation of its memory was recorded");
	row[RESERVED] = work->reserved.is_known ? sonde_cell_int(work->reserved.peak.peak_b)
						: sonde_cell_absent("the reserve of its pools was not reported");
	row[QUEUES] = sonde_cell_int(work->queues);
	uint32_t kind = device->kind <= SONDE_DEVICE_ACCELERATOR ? device->kind : SONDE_DEVICE_OTHER;
	row[KIND] = sonde_cell_label(kind_words[kind], (int)kind);
	row[UNITS] = known(device->units);
	row[CLOCK] = device->clock_mhz ? sonde_cell_real(1e6 * device->clock_mhz, 0) : known(0);
	row[MEMORY] = known(device->memory_b);
	row[DRIVER] = said(device->driver);
	row[UUID] = said(device->uuid);
}

static void rows_add(const struct sonde_device_times *times, const struct work *works, struct sonde_report *report)
{
	size_t all = sonde_session_device_count(times->session), limit = times->options.limit, count = 0;
	struct sonde_section *section = sonde_report_table(report, "devices", "Devices", columns, COLUMNS);
	for (uint32_t id = 1; id <= all; id++)
		if (sonde_device_same(times->session, id) == id && (!limit || count++ < limit))
			row_add(times, id, &works[id], report, section);
	section->table.omitted = limit && count > limit ? count - limit : 0;
	sonde_report_note(report, section, 0,
			  "busy: time with at least one queue active ÷ %s; kernels and copies: the sum over all queues",
			  sonde_device_times_whole(times, report));
	sonde_device_times_note(times, report, section);
}

static int devices_finish(void *state, struct sonde_report *report)
{
	struct sonde_device_times *times = state;
	size_t count = sonde_session_device_count(times->session);
	if (!count)
		return sonde_pass_nothing(&times->options, report, "devices", "Devices",
					  sonde_device_none(times->session, report, "device", NULL));
	struct work *works = calloc(count + 1, sizeof *works);
	int rc = works ? 0 : sonde_error(ENOMEM, "out of memory for %zu devices", count);
	sonde_device_times_sort(times);
	rc = rc ? rc : add_times(works, times);
	rc = rc ? rc : add_memory(works, times, 0);
	rc = rc ? rc : add_memory(works, times, 1);
	if (!rc)
		rows_add(times, works, report);
	for (size_t i = 0; works && i <= count; i++) {
		sonde_device_union_fini(&works[i].busy);
		sonde_device_union_fini(&works[i].kernels);
		sonde_device_union_fini(&works[i].moves);
	}
	free(works);
	return rc;
}

const struct sonde_pass sonde_pass_devices = {
    .name = "devices",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "GPUs: utilisation, kernels, copies, memory",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .standard = 1,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_times),
    .begin = sonde_device_times_begin,
    .feed = sonde_device_times_feed,
    .merge = sonde_device_times_merge,
    .finish = devices_finish,
    .end = sonde_device_times_end,
};
