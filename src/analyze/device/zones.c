/* zones.c: GPU memory that a process had allocated while each of its zones ran, including nested zones.
 *
 * The blocks of a process and device form a curve: points sorted by time, with a tree of maxima above them. Zones are
 * then read once: each looks up the bytes at its begin and end, and the maximum in between, in the curves of its
 * process. Zones are independent of each other, so depth, order and threads do not matter, and no zone has to be kept.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/device/memory.h"
#include "analyze/device/sums.h"
#include "analyze/marks.h"
#include "analyze/device/memory_kinds.h"
#include "analyze/cpu/samples.h"
#include "analyze/words.h"
#include "base/order.h"
#include "util/array.h"
#include "util/error.h"

#define ID "device-zones"
#define TITLE "GPU memory by zone"

enum { DEFAULT_ROWS = 20, CURVES_MAX = 64, ROWS_MAX = 1 << 20 };
enum {
	ZONE,
	CALLS,
	BEGIN_B,
	PEAK_B,
	RISE_B,
	END_B,
	CHANGE_B,
	BEGUN_B,
	BEGUN,
	RESERVED_B,
	RESERVED_CHANGE_B,
	DEVICE,
	COLUMNS
};

static const struct sonde_column columns[COLUMNS] = {
    [ZONE] = {"zone", "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 1},
    [BEGIN_B] = {"begin_b", "at start", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_B] = {"peak_b", "peak inside", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [RISE_B] = {"rise_b", "above start", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [END_B] = {"end_b", "at end", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [CHANGE_B] = {"change_b", "change", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [BEGUN] = {"allocations", "allocations", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [RESERVED_B] = {"reserved_peak_b", "reserved max", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [RESERVED_CHANGE_B] = {"reserved_change_b", "reserved change", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
    [DEVICE] = {"device", "device", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 0, 0},
};

/* State after a time: bytes held, and bytes allocated so far. */
struct point {
	uint64_t time_ns, held_b, begun_b, begun;
};

struct curve {
	uint32_t process, device;
	size_t count;
	const struct point *points;
	/* the tree: [count + i] belongs to point i, [i] is the larger of [2 i] and [2 i + 1] */
	const uint64_t *most_b;
	const struct curve *pools; /* curve of memory reserved by pools; NULL = unknown */
};

struct curves {
	struct point *points;
	uint64_t *most_b;
	struct curve *all; /* by process, device */
	size_t count;
};

/* Figures of the outermost calls of a site's zones, except `calls` and the maxima, which cover all calls. */
struct row {
	uint32_t site, device;
	size_t next; /* row of the same site, + 1; 0 = none */
	uint64_t calls, outermost, begun_b, begun, peak_b, rise_b;
	double begin_b, end_b; /* sums */
	int64_t change_b;
	int is_reserved; /* true if memory reserved by pools is known; its figures follow */
	uint64_t reserved_b;
	int64_t reserved_change_b;
};

struct zones {
	const struct sonde_device_times *times;
	struct curves blocks, pools;
	size_t *first; /* by site id: its first row, + 1 */
	struct row *rows;
	size_t count, cap;
	uint64_t beyond; /* zones and devices without a row */
	int unread;
};

/* --- curves ------------------------------------------------------------------------------------------------------ */

struct change {
	uint64_t time_ns, size_b;
	uint32_t process, device;
	int is_end;
};

static int by_curve(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	int by = sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->device, b->device);
	by = by ? by : sonde_order(a->time_ns, b->time_ns);
	return by ? by : b->is_end - a->is_end;
}

/* Converts blocks into changes of live bytes, without blocks in host memory; returns the number of changes. */
static size_t changes_of(struct change *out, const struct sonde_device_blocks *blocks)
{
	size_t count = 0;
	for (size_t i = 0; i < blocks->count; i++) {
		const struct sonde_device_block *block = &blocks->all[i];
		if (sonde_memory_is_host(block->kind) || block->ended_ns <= block->begun_ns)
			continue;
		out[count++] = (struct change){block->begun_ns, block->size_b, block->process, block->device, 0};
		if (block->ended_ns != UINT64_MAX)
			out[count++] =
			    (struct change){block->ended_ns, block->size_b, block->process, block->device, 1};
	}
	qsort(out, count, sizeof *out, by_curve);
	return count;
}

/* Fills the points of one curve, and the tree above them. */
static void curve_fill(struct point *points, uint64_t *most_b, const struct change *changes, size_t count)
{
	struct point now = {0};
	for (size_t i = 0; i < count; i++) {
		const struct change *change = &changes[i];
		now.time_ns = change->time_ns;
		now.held_b = change->is_end ? now.held_b - change->size_b : now.held_b + change->size_b;
		now.begun_b += change->is_end ? 0 : change->size_b;
		now.begun += !change->is_end;
		points[i] = now;
		most_b[count + i] = now.held_b;
	}
	for (size_t i = count; i-- > 1;)
		most_b[i] = most_b[2 * i] > most_b[2 * i + 1] ? most_b[2 * i] : most_b[2 * i + 1];
}

static int is_same_curve(const struct change *a, const struct change *b)
{
	return a->process == b->process && a->device == b->device;
}

static int curves_fill(struct curves *curves, const struct change *changes, size_t count)
{
	size_t most = 0;
	for (size_t i = 0; i < count; i++)
		most += !i || !is_same_curve(&changes[i], &changes[i - 1]);
	curves->points = calloc(count + 1, sizeof *curves->points);
	curves->most_b = calloc(2 * count + 1, sizeof *curves->most_b);
	curves->all = calloc(most + 1, sizeof *curves->all);
	if (!curves->points || !curves->most_b || !curves->all)
		return sonde_error(ENOMEM, "out of memory for %zu allocations", count);
	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && is_same_curve(&changes[to], &changes[from]))
			to++;
		curve_fill(curves->points + from, curves->most_b + 2 * from, changes + from, to - from);
		curves->all[curves->count++] = (struct curve){.process = changes[from].process,
							      .device = changes[from].device,
							      .count = to - from,
							      .points = curves->points + from,
							      .most_b = curves->most_b + 2 * from};
	}
	return 0;
}

static int curves_make(struct curves *curves, const struct sonde_device_blocks *blocks)
{
	struct change *changes = calloc(2 * blocks->count + 1, sizeof *changes);
	if (!changes)
		return sonde_error(ENOMEM, "out of memory for %zu allocations", blocks->count);
	int rc = curves_fill(curves, changes, changes_of(changes, blocks));
	free(changes);
	return rc;
}

static void curves_fini(struct curves *curves)
{
	free(curves->points);
	free(curves->most_b);
	free(curves->all);
}

/* Start of the curves of a process. */
static size_t curves_from(const struct curves *curves, uint32_t process)
{
	size_t low = 0, high = curves->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (curves->all[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Finds the pool curve of each block curve: both arrays are sorted by process and device. */
static void pools_find(struct curves *blocks, const struct curves *pools)
{
	for (size_t i = 0, k = 0; i < blocks->count; i++) {
		struct curve *curve = &blocks->all[i];
		const struct curve *pool = pools->all;
		while (k < pools->count && (pool[k].process < curve->process ||
					    (pool[k].process == curve->process && pool[k].device < curve->device)))
			k++;
		if (k < pools->count && pool[k].process == curve->process && pool[k].device == curve->device)
			curve->pools = &pool[k];
	}
}

/* Number of points at or before a time. */
static size_t points_until(const struct curve *curve, uint64_t time_ns)
{
	size_t low = 0, high = curve->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (curve->points[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Maximum over the points from `from` up to, but excluding, `to`. */
static uint64_t most_between(const struct curve *curve, size_t from, size_t to)
{
	uint64_t most_b = 0;
	for (from += curve->count, to += curve->count; from < to; from /= 2, to /= 2) {
		if (from & 1) {
			most_b = curve->most_b[from] > most_b ? curve->most_b[from] : most_b;
			from++;
		}
		if (to & 1) {
			to--;
			most_b = curve->most_b[to] > most_b ? curve->most_b[to] : most_b;
		}
	}
	return most_b;
}

/* --- zones ------------------------------------------------------------------------------------------------------- */

static struct row *row_of(struct zones *zones, uint32_t site, uint32_t device)
{
	for (size_t at = zones->first[site]; at; at = zones->rows[at - 1].next)
		if (zones->rows[at - 1].device == device)
			return &zones->rows[at - 1];
	if (SONDE_ARRAY_RESERVE(zones->rows, zones->cap, zones->count + 1))
		return NULL;
	zones->rows[zones->count] = (struct row){.site = site, .device = device, .next = zones->first[site]};
	zones->first[site] = ++zones->count;
	return &zones->rows[zones->count - 1];
}

/* Values of a curve during a time range. */
struct reported {
	const struct point *begin, *end;
	uint64_t peak_b;
};

static struct reported reported_of(const struct curve *curve, uint64_t start_ns, uint64_t end_ns)
{
	static const struct point nothing = {0};
	size_t from = points_until(curve, start_ns), to = points_until(curve, end_ns);
	struct reported reported = {from ? &curve->points[from - 1] : &nothing, to ? &curve->points[to - 1] : &nothing,
				    most_between(curve, from, to)};
	reported.peak_b = reported.peak_b > reported.begin->held_b ? reported.peak_b : reported.begin->held_b;
	return reported;
}

static void reserved_add(struct row *row, const struct reported *reported, int is_recursive)
{
	row->is_reserved = 1;
	row->reserved_b = reported->peak_b > row->reserved_b ? reported->peak_b : row->reserved_b;
	row->reserved_change_b += is_recursive ? 0 : (int64_t)(reported->end->held_b - reported->begin->held_b);
}

static int zone_add(struct zones *zones, const struct curve *curve, const struct sonde_batch *batch, size_t i)
{
	uint64_t start_ns = batch->zones.start_ns[i], end_ns = start_ns + batch->zones.dur_ns[i];
	int is_recursive = batch->zones.flags[i] & SONDE_ZONE_RECURSIVE;
	if (zones->count >= ROWS_MAX) {
		zones->beyond++;
		return 0;
	}
	struct row *row = row_of(zones, batch->zones.site[i], curve->device);
	if (!row)
		return sonde_error(ENOMEM, "out of memory for zones");
	struct reported reported = reported_of(curve, start_ns, end_ns);
	uint64_t rise_b = reported.peak_b - reported.begin->held_b;
	row->calls++;
	row->peak_b = reported.peak_b > row->peak_b ? reported.peak_b : row->peak_b;
	row->rise_b = rise_b > row->rise_b ? rise_b : row->rise_b;
	if (curve->pools) {
		struct reported pools = reported_of(curve->pools, start_ns, end_ns);
		reserved_add(row, &pools, is_recursive);
	}
	if (is_recursive) /* the outermost zone of the same site includes it */
		return 0;
	row->outermost++;
	row->begin_b += (double)reported.begin->held_b;
	row->end_b += (double)reported.end->held_b;
	row->change_b += (int64_t)(reported.end->held_b - reported.begin->held_b);
	row->begun_b += reported.end->begun_b - reported.begin->begun_b;
	row->begun += reported.end->begun - reported.begin->begun;
	return 0;
}

static int zones_add(struct zones *zones, const struct sonde_batch *batch)
{
	const struct curves *curves = &zones->blocks;
	size_t first = curves_from(curves, batch->process), end = first;
	while (end < curves->count && curves->all[end].process == batch->process)
		end++;
	size_t last = end - first > CURVES_MAX ? first + CURVES_MAX : end;
	for (size_t i = 0; i < batch->count && first < last; i++) {
		if (!sonde_pass_takes(&zones->times->options, batch->zones.start_ns[i], batch->thread))
			continue;
		zones->beyond += end - last;
		for (size_t curve = first; curve < last; curve++)
			if (zone_add(zones, &curves->all[curve], batch, i))
				return -ENOMEM;
	}
	return 0;
}

static int zones_read(struct zones *zones)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	zones->first = calloc(sonde_session_site_count(zones->times->session) + 1, sizeof *zones->first);
	if (!zones->first)
		return sonde_error(ENOMEM, "out of memory for zones");
	int rc = sonde_cursor_open(&cursor, zones->times->session, 1u << SONDE_CHUNK_ZONES);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0) {
		if (rc == -ENOMEM)
			break;
		zones->unread |= rc < 0;
		rc = rc < 0 ? 0 : zones_add(zones, batch);
		if (rc)
			break;
	}
	sonde_cursor_close(cursor);
	return rc;
}

/* --- the section ------------------------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int by = sonde_order(b->peak_b, a->peak_b);
	by = by ? by : sonde_order(b->begun_b, a->begun_b);
	by = by ? by : sonde_order(a->site, b->site);
	return by ? by : sonde_order(a->device, b->device);
}

static struct sonde_cell mean_cell(const struct row *row, double sum_b)
{
	return row->outermost
		   ? sonde_cell_real(sum_b / (double)row->outermost, 0)
		   : sonde_cell_absent("every call is nested in an outer call of this zone, which is not selected");
}

static struct sonde_cell change_cell(int64_t change_b)
{
	return change_b < 0 ? sonde_cell_real((double)change_b, 0) : sonde_cell_int((uint64_t)change_b);
}

static struct sonde_cell reserved_cell(const struct row *row, struct sonde_cell cell)
{
	return row->is_reserved ? cell : sonde_cell_absent("the reserve of the GPU's pools was not reported");
}

static void row_add(const struct zones *zones, const struct row *from, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_session *session = zones->times->session;
	const struct sonde_site *site = sonde_session_site(session, from->site);
	const char *device = from->device ? sonde_device_label(session, from->device, report) : "unknown";
	struct sonde_cell *row = sonde_report_row(report, section);
	row[ZONE] = sonde_cell_text(site ? site->name : "(unknown)");
	row[CALLS] = sonde_cell_int(from->calls);
	row[BEGIN_B] = mean_cell(from, from->begin_b);
	row[PEAK_B] = sonde_cell_int(from->peak_b);
	row[RISE_B] = sonde_cell_int(from->rise_b);
	row[END_B] = mean_cell(from, from->end_b);
	row[CHANGE_B] = change_cell(from->change_b);
	row[BEGUN_B] = sonde_cell_int(from->begun_b);
	row[BEGUN] = sonde_cell_int(from->begun);
	row[RESERVED_B] = reserved_cell(from, sonde_cell_int(from->reserved_b));
	row[RESERVED_CHANGE_B] = reserved_cell(from, change_cell(from->reserved_change_b));
	row[DEVICE] = sonde_cell_text(device);
}

static void notes_add(const struct zones *zones, const struct sonde_device_blocks *blocks, struct sonde_report *report,
		      struct sonde_section *section)
{
	sonde_report_note(
	    report, section, 0,
	    "all threads of the process, nested zones included; change: bytes that the calls left allocated");
	sonde_report_note(report, section, 0, "requested blocks only; pool reserves are listed separately");
	if (blocks->unsized)
		sonde_report_note(report, section, 1, "%llu allocation%s of unknown size or address %s left out",
				  (unsigned long long)blocks->unsized, sonde_plural(blocks->unsized),
				  sonde_word(blocks->unsized, "is", "are"));
	if (zones->times->left_out)
		sonde_report_note(report, section, 1,
				  "%llu activit%s exceeded the memory limit: the figures are too low",
				  (unsigned long long)zones->times->left_out,
				  sonde_word(zones->times->left_out, "y has", "ies have"));
	if (zones->beyond)
		sonde_report_note(report, section, 1, "%llu zones are left out: there are too many names or GPUs",
				  (unsigned long long)zones->beyond);
	if (zones->unread)
		sonde_report_note(report, section, 1, "part of the zones cannot be read and is left out");
}

static int section_add(struct zones *zones, const struct sonde_device_blocks *blocks, struct sonde_report *report)
{
	const struct sonde_pass_options *options = &zones->times->options;
	size_t limit = options->limit ? options->limit : DEFAULT_ROWS, held = 0;
	if (zones->count)
		qsort(zones->rows, zones->count, sizeof *zones->rows, compare_rows);
	while (held < zones->count && zones->rows[held].peak_b)
		held++;
	if (!held)
		return sonde_pass_nothing(options, report, ID, TITLE,
					  zones->count ? "no GPU memory was allocated while a zone ran"
						       : "no zones: mark them with SONDE_ZONE() (sonde/sonde.h)");
	struct sonde_section *section = sonde_report_table(report, ID, TITLE, columns, COLUMNS);
	for (size_t i = 0; i < held && i < limit; i++)
		row_add(zones, &zones->rows[i], report, section);
	section->table.omitted = held > limit ? held - limit : 0;
	notes_add(zones, blocks, report, section);
	return 0;
}

static int blocks_read(struct zones *zones, struct sonde_device_blocks *blocks)
{
	struct sonde_device_blocks pools;
	int rc = sonde_device_blocks_read(blocks, zones->times);
	rc = rc ? rc : curves_make(&zones->blocks, blocks);
	rc = rc ? rc : sonde_device_pools_read(&pools, zones->times);
	if (rc)
		return rc;
	rc = curves_make(&zones->pools, &pools);
	if (!rc)
		pools_find(&zones->blocks, &zones->pools);
	sonde_device_blocks_fini(&pools);
	return rc;
}

static int zones_finish(void *state, struct sonde_report *report)
{
	struct sonde_device_times *times = state;
	struct zones zones = {.times = times};
	struct sonde_device_blocks blocks = {0};
	sonde_device_times_sort(times);
	int rc = blocks_read(&zones, &blocks);
	if (!rc && !zones.blocks.count)
		rc = sonde_pass_nothing(&times->options, report, ID, TITLE, "no GPU memory allocation was recorded");
	else if (!rc)
		rc = zones_read(&zones);
	if (!rc && zones.blocks.count)
		rc = section_add(&zones, &blocks, report);
	sonde_device_blocks_fini(&blocks);
	curves_fini(&zones.blocks);
	curves_fini(&zones.pools);
	free(zones.first);
	free(zones.rows);
	return rc;
}

const struct sonde_pass sonde_pass_device_zones = {
    .name = ID,
    .needs = SONDE_NEEDS(DEVICES),
    .has = sonde_has_devices,
    .title = "GPU memory in each zone: at start and end, and the peak inside",
    .types = 1u << SONDE_CHUNK_ACTIVITIES,
    .is_shared = 1,
    .state_b = sizeof(struct sonde_device_times),
    .begin = sonde_device_times_begin,
    .feed = sonde_device_times_feed,
    .merge = sonde_device_times_merge,
    .finish = zones_finish,
    .end = sonde_device_times_end,
};
