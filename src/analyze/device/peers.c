/* peers.c: P2P copies between GPUs by source and destination: count, bytes and throughput; and GPU interconnect
 * counters.
 *
 * Copies in one direction may overlap, so a direction's time is the time in which at least one copy was running. Its
 * throughput is bytes ÷ this time. A copy is recorded for the GPU of its queue; the copy's operation names the GPU that
 * owns the memory at the other end. Interconnect counters cover all links of a GPU, not a single direction.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/device/sums.h"
#include "analyze/device/times.h"
#include "analyze/resource/machine_sums.h"
#include "analyze/marks.h"
#include "analyze/device/memory_kinds.h"
#include "base/order.h"
#include "sonde/device.h"
#include "util/error.h"

#define TITLE "P2P copies"

enum { FROM, TO, COUNT, SIZE, RATE, BUSY, SHARE, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [FROM] = {"from", "from", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
    [TO] = {"to", "to", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [COUNT] = {"copies", "copies", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [SIZE] = {"size_b", "bytes", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [RATE] = {"b_per_s", "bytes/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BUSY] = {"busy_ns", "copying", SONDE_UNIT_NS, SONDE_BASIS_MEASURED, 0, 1},
    [SHARE] = {"busy_share", "of the time", SONDE_UNIT_RATIO, SONDE_BASIS_MEASURED, 0, 1},
};

struct copy {
	uint64_t from_ns, to_ns, size_b;
	uint32_t from, to; /* devices; 0 = unknown */
	int is_whole;      /* entirely within the window */
};

/* Adjacent copies of one direction, sorted by start. */
struct way {
	const struct copy *copies;
	size_t count;
	uint64_t size_b, busy_ns;
	uint64_t whole, whole_b, whole_ns; /* of copies entirely within the window */
};

/* --- directions -------------------------------------------------------------------------------------------------- */

/* 0 = not a copy between devices. */
static int copy_of(struct copy *out, const struct sonde_device_times *times, const struct sonde_device_time *row)
{
	const struct sonde_session *session = times->session;
	const struct sonde_operation *operation = sonde_session_operation(session, row->operation);
	if (row->kind != SONDE_ACTIVITY_COPY || !sonde_device_times_busy(times, row, &out->from_ns, &out->to_ns))
		return 0;
	uint8_t from = sonde_memory_kind(operation->from), to = sonde_memory_kind(operation->to);
	uint32_t own = sonde_device_of_queue(session, row->queue);
	out->from = sonde_device_of_end(session, operation->from_device, from, own);
	out->to = sonde_device_of_end(session, operation->to_device, to, own);
	out->size_b = row->size_b;
	out->is_whole = out->from_ns == row->start_ns && out->to_ns == row->end_ns;
	return from == SONDE_MEMORY_PEER || to == SONDE_MEMORY_PEER || (out->from && out->to && out->from != out->to);
}

static int by_way(const void *left, const void *right)
{
	const struct copy *a = left, *b = right;
	int by = sonde_order(a->from, b->from);
	by = by ? by : sonde_order(a->to, b->to);
	by = by ? by : sonde_order(a->from_ns, b->from_ns);
	return by ? by : sonde_order(a->to_ns, b->to_ns);
}

static int by_size(const void *left, const void *right)
{
	const struct way *a = left, *b = right;
	int by = sonde_order(b->size_b, a->size_b);
	return by ? by : by_way(a->copies, b->copies);
}

/* Time in which at least one copy ran. */
static uint64_t union_ns(const struct copy *copies, size_t count, int only_whole)
{
	uint64_t all_ns = 0, until_ns = 0;
	for (size_t i = 0; i < count; i++) {
		const struct copy *copy = &copies[i];
		if ((only_whole && !copy->is_whole) || copy->to_ns <= until_ns)
			continue;
		all_ns += copy->to_ns - (copy->from_ns > until_ns ? copy->from_ns : until_ns);
		until_ns = copy->to_ns;
	}
	return all_ns;
}

static struct way way_of(const struct copy *copies, size_t count)
{
	struct way way = {.copies = copies, .count = count, .busy_ns = union_ns(copies, count, 0)};
	for (size_t i = 0; i < count; i++) {
		way.size_b += copies[i].size_b;
		way.whole += (uint64_t)copies[i].is_whole;
		way.whole_b += copies[i].is_whole ? copies[i].size_b : 0;
	}
	way.whole_ns = union_ns(copies, count, 1);
	return way;
}

/* Collects the copies between devices, and sums them by direction; returns the number of directions. `copies` and
 * `ways` have capacity for all activities. */
static size_t ways_of(struct way *ways, struct copy *copies, const struct sonde_device_times *times)
{
	size_t all = 0, count = 0;
	for (size_t i = 0; i < times->count; i++)
		all += (size_t)copy_of(&copies[all], times, &times->rows[i]);
	qsort(copies, all, sizeof *copies, by_way);
	for (size_t from = 0, to; from < all; from = to) {
		for (to = from; to < all && copies[to].from == copies[from].from && copies[to].to == copies[from].to;)
			to++;
		ways[count++] = way_of(&copies[from], to - from);
	}
	qsort(ways, count, sizeof *ways, by_size);
	return count;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static struct sonde_cell device_cell(const struct sonde_device_times *times, uint32_t device,
				     struct sonde_report *report)
{
	const char *label = device ? sonde_device_label(times->session, device, report) : NULL;
	return label ? sonde_cell_text(label) : sonde_cell_absent("the GPU was not reported");
}

static void row_add(const struct sonde_device_times *times, const struct way *way, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct copy *copy = way->copies;
	const struct sonde_window window = sonde_device_window(times, copy->from ? copy->from : copy->to);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[FROM] = device_cell(times, copy->from, report);
	row[TO] = device_cell(times, copy->to, report);
	row[COUNT] = sonde_cell_int(way->count);
	row[SIZE] = sonde_cell_int(way->size_b);
	row[RATE] = way->whole_ns ? sonde_cell_int((uint64_t)((double)way->whole_b / ((double)way->whole_ns / 1e9)))
				  : sonde_cell_absent(way->whole ? "too short for the clock"
								 : "no copy lies wholly in the selected time");
	row[BUSY] = sonde_cell_int(way->busy_ns);
	row[SHARE] = window.to_ns > window.from_ns
			 ? sonde_cell_real((double)way->busy_ns / (double)(window.to_ns - window.from_ns), 0)
			 : sonde_cell_absent("the selected time is empty");
}

static void rows_add(const struct sonde_device_times *times, const struct way *ways, size_t count,
		     struct sonde_report *report)
{
	size_t limit = times->options.limit;
	struct sonde_section *section = sonde_report_table(report, "peers", TITLE, columns, COLUMNS);
	for (size_t i = 0; i < count && (!limit || i < limit); i++)
		row_add(times, &ways[i], report, section);
	section->table.omitted = limit && count > limit ? count - limit : 0;
	sonde_report_note(report, section, 0,
			  "'of the time': time in which such a copy ran ÷ %s; copies through host memory are not included",
			  sonde_device_times_whole(times, report));
	sonde_device_times_note(times, report, section);
}

/* --- links ------------------------------------------------------------------------------------------------------- */

enum { DEVICE, SENT, SENT_RATE, SENT_MOST, RECEIVED, RECEIVED_RATE, RECEIVED_MOST, LINK_COLUMNS };

static const struct sonde_column link_columns[LINK_COLUMNS] = {
    [DEVICE] = {"device", "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [SENT] = {"sent_b", "sent", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [SENT_RATE] = {"sent_b_per_s", "bytes/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [SENT_MOST] = {"sent_b_per_s_max", "max", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [RECEIVED] = {"received_b", "received", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [RECEIVED_RATE] = {"received_b_per_s", "bytes/s", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [RECEIVED_MOST] = {"received_b_per_s_max", "max", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
};

/* Total, mean and maximum of a counter. */
static void counter_cells(struct sonde_cell cells[3], const struct sonde_series_sum *sum)
{
	cells[0] = cells[1] = cells[2] = sonde_cell_absent("not read");
	if (!sum)
		return;
	double change = sonde_machine_change(sum);
	cells[0] = sonde_cell_int(sonde_series_whole(change));
	cells[1] = cells[2] = sonde_cell_absent("a single reading");
	if (sum->last_ns > sum->first_ns)
		cells[1] = sonde_cell_real(change / ((double)(sum->last_ns - sum->first_ns) / 1e9), 0);
	if (sum->rates)
		cells[2] = sonde_cell_real(sum->rate_max * 1e9, 0);
}

static void links_add(const struct sonde_series_sums *sums, struct sonde_report *report)
{
	struct sonde_machine_object objects[SONDE_MACHINE_OBJECTS_MAX];
	size_t count = sonde_machine_objects(sums, SONDE_MACHINE_NVLINK, objects);
	if (!count)
		return;
	struct sonde_section *section =
	    sonde_report_table(report, "peer-links", "NVLink traffic", link_columns, LINK_COLUMNS);
	for (size_t i = 0; section && i < count; i++) {
		struct sonde_cell *row = sonde_report_row(report, section);
		row[DEVICE] = sonde_cell_text(objects[i].name);
		counter_cells(&row[SENT], objects[i].out);
		counter_cells(&row[RECEIVED], objects[i].in);
	}
	sonde_report_note(report, section, 0,
			  "from each GPU's counters: all links and all programs, from the first to the last reading");
}

static int links_read(const struct sonde_device_times *times, struct sonde_report *report)
{
	struct sonde_series_sums sums;
	int rc = sonde_series_sums_read(&sums, times->session, &times->options);
	if (rc)
		return rc;
	links_add(&sums, report);
	sonde_series_sums_fini(&sums);
	return 0;
}

/* --- the pass ---------------------------------------------------------------------------------------------------- */

static int peers_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct sonde_device_times *times = state;
	int rc = sonde_device_times_begin(times, session, options);
	times->kinds = 1u << SONDE_ACTIVITY_COPY;
	return rc;
}

static int peers_finish(void *state, struct sonde_report *report)
{
	const struct sonde_device_times *times = state;
	struct copy *copies = calloc(times->count + 1, sizeof *copies);
	struct way *ways = calloc(times->count + 1, sizeof *ways);
	int rc = copies && ways ? 0 : sonde_error(ENOMEM, "out of memory for %zu copies of devices", times->count);
	size_t count = rc ? 0 : ways_of(ways, copies, times);
	if (!rc && !count)
		rc = sonde_pass_nothing(&times->options, report, "peers", TITLE, "no P2P copy was recorded");
	else if (!rc)
		rows_add(times, ways, count, report);
	/* without copies, too: kernels can access another device's memory */
	if (!rc && (count || times->options.requested))
		rc = links_read(times, report);
	free(ways);
	free(copies);
	return rc;
}

const struct sonde_pass sonde_pass_peers = {
    .name = "peers",
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "copies between GPUs: source, target, bytes, bytes per second",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .standard = 1,
    .state_b = sizeof(struct sonde_device_times),
    .begin = peers_begin,
    .feed = sonde_device_times_feed,
    .merge = sonde_device_times_merge,
    .finish = peers_finish,
    .end = sonde_device_times_end,
};
