/* zones.c: how each zone changed the memory that its thread holds in malloc's blocks, including nested zones.
 *
 * Zones are kept (32 bytes each) and sorted by thread and start; blocks are then read once, in time order. Each thread
 * has a running balance of bytes allocated minus freed, and a stack of open zones with the balance at their start and
 * its maximum since: a zone's maximum is passed to the enclosing zone when it ends, so that an event costs the same at
 * any depth.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/contents.h"
#include "analyze/heap/pass.h"
#include "analyze/marks.h"
#include "analyze/cpu/samples.h"
#include "fold/heap_worth.h"
#include "util/array.h"
#include "util/error.h"

/* Times of blocks are truncated to multiples of 32 cycles; times of zones are not. Adding 16 cycles (6 ns at about 2.7
 * GHz) to a block's time avoids a bias where zones begin and end. */
#define HALF_TICK_NS 6u

enum { DEFAULT_ROWS = 20, ZONES_MAX = 1 << 23 };
enum { NAME, CALLS, CHANGE_B, PEAK_B, BEGUN_B, BEGINS, ENDS, MEAN_B, COLUMNS };

static const struct sonde_column columns[COLUMNS] = {
    [NAME] = {"zone", "zone", SONDE_UNIT_TEXT, SONDE_BASIS_MEASURED, 1, 0},
    [CALLS] = {"calls", "calls", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [CHANGE_B] = {"change_b", "change", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [PEAK_B] = {"peak_b", "peak inside", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGUN_B] = {"allocated_b", "allocated", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 0},
    [BEGINS] = {"allocations", "allocations", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 0},
    [ENDS] = {"frees", "frees", SONDE_UNIT_COUNT, SONDE_BASIS_MEASURED, 0, 2},
    [MEAN_B] = {"allocated_per_call_b", "per call", SONDE_UNIT_BYTES, SONDE_BASIS_MEASURED, 0, 1},
};

struct zone {
	uint64_t start_ns, end_ns;
	uint32_t thread, site;
	uint16_t depth;
	uint8_t recursive;
};

struct frame {
	const struct zone *zone;
	int64_t held_b, most_b; /* the thread's balance at the zone's start, and its maximum since */
	uint64_t begins, begun_b, ends;
};

struct thread {
	size_t next, end; /* range of zones that have not begun yet */
	struct frame *frames;
	size_t depth, cap;
	int64_t held_b;
	uint64_t begins, begun_b, ends;
};

struct row {
	uint32_t site;
	uint64_t calls, begins, begun_b, ends;
	int64_t change_b, peak_b;
};

struct zones {
	struct sonde_heap_pass heap;
	struct zone *zones;
	size_t count, cap;
	uint64_t beyond; /* number of zones that were not kept */
	struct thread *threads;
	struct row *rows; /* by site id */
	uint32_t time_every;
};

/* --- zones ------------------------------------------------------------------------------------------------------- */

static void zones_end(void *state)
{
	struct zones *zones = state;
	for (size_t i = 0; zones->threads && i <= sonde_session_thread_count(zones->heap.session); i++)
		free(zones->threads[i].frames);
	free(zones->threads);
	free(zones->rows);
	free(zones->zones);
	sonde_heap_pass_end(&zones->heap);
}

static int zones_begin(void *state, struct sonde_session *session, const struct sonde_pass_options *options)
{
	struct zones *zones = state;
	return sonde_heap_pass_begin(&zones->heap, session, options);
}

static uint32_t zones_wants(const void *state)
{
	const struct zones *zones = state;
	return sonde_session_heap_site_count(zones->heap.session) ? 1u << SONDE_CHUNK_ZONES : 0;
}

static int grow(struct zones *zones)
{
	return SONDE_ARRAY_RESERVE(zones->zones, zones->cap, zones->cap + 1)
		   ? sonde_error(ENOMEM, "out of memory for %zu zones", zones->cap + 1)
		   : 0;
}

/* True if the process belongs to a recording with heap events: of several merged recordings, only some may have any. */
static int is_recorded(const struct sonde_session *session, uint32_t process)
{
	const struct sonde_part *part = sonde_session_part_of(session, process);
	for (uint32_t id = 1; id <= sonde_session_heap_count(session); id++)
		if (sonde_session_part_of(session, sonde_session_heap(session, id)->process) == part)
			return 1;
	return 0;
}

static int zones_feed(void *state, const struct sonde_batch *batch)
{
	struct zones *zones = state;
	if (!is_recorded(zones->heap.session, batch->process))
		return 0;
	for (size_t i = 0; i < batch->count; i++) {
		if (!sonde_pass_takes(&zones->heap.options, batch->zones.start_ns[i], batch->thread))
			continue;
		if (zones->count == ZONES_MAX) {
			zones->beyond++;
			continue;
		}
		if (zones->count == zones->cap && grow(zones))
			return -ENOMEM;
		zones->zones[zones->count++] =
		    (struct zone){.start_ns = batch->zones.start_ns[i],
				  .end_ns = batch->zones.start_ns[i] + batch->zones.dur_ns[i],
				  .thread = batch->thread,
				  .site = batch->zones.site[i],
				  .depth = batch->zones.depth[i],
				  .recursive = batch->zones.flags[i] & SONDE_ZONE_RECURSIVE};
	}
	return 0;
}

static int compare_zones(const void *left, const void *right)
{
	const struct zone *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->depth > b->depth) - (a->depth < b->depth);
}

static int threads_make(struct zones *zones)
{
	struct sonde_session *session = zones->heap.session;
	zones->threads = calloc(sonde_session_thread_count(session) + 1, sizeof *zones->threads);
	zones->rows = calloc(sonde_session_site_count(session) + 1, sizeof *zones->rows);
	if (!zones->threads || !zones->rows)
		return sonde_error(ENOMEM, "out of memory for zones");
	qsort(zones->zones, zones->count, sizeof *zones->zones, compare_zones);
	for (size_t i = 0; i < zones->count; i++) {
		struct thread *thread = &zones->threads[zones->zones[i].thread];
		thread->next = thread->end ? thread->next : i;
		thread->end = i + 1;
	}
	return 0;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static void pop(struct zones *zones, struct thread *thread)
{
	const struct frame *frame = &thread->frames[--thread->depth];
	struct row *row = &zones->rows[frame->zone->site];
	struct frame *outer = thread->depth ? &thread->frames[thread->depth - 1] : NULL;
	int64_t peak_b = frame->most_b - frame->held_b;
	if (outer && frame->most_b > outer->most_b)
		outer->most_b = frame->most_b;
	row->site = frame->zone->site;
	row->calls++;
	row->peak_b = peak_b > row->peak_b ? peak_b : row->peak_b;
	if (frame->zone->recursive) /* the outermost zone of the same site includes it */
		return;
	row->change_b += thread->held_b - frame->held_b;
	row->begins += thread->begins - frame->begins;
	row->begun_b += thread->begun_b - frame->begun_b;
	row->ends += thread->ends - frame->ends;
}

static void pop_until(struct zones *zones, struct thread *thread, uint64_t time_ns)
{
	while (thread->depth && thread->frames[thread->depth - 1].zone->end_ns <= time_ns)
		pop(zones, thread);
}

/* Processes the begins and ends of a thread's zones up to a time. */
static int advance(struct zones *zones, struct thread *thread, uint64_t time_ns)
{
	for (; thread->next < thread->end && zones->zones[thread->next].start_ns <= time_ns; thread->next++) {
		const struct zone *zone = &zones->zones[thread->next];
		pop_until(zones, thread, zone->start_ns);
		if (SONDE_ARRAY_RESERVE(thread->frames, thread->cap, thread->depth + 1))
			return sonde_error(ENOMEM, "out of memory for open zones");
		thread->frames[thread->depth++] = (struct frame){.zone = zone,
								 .held_b = thread->held_b,
								 .most_b = thread->held_b,
								 .begins = thread->begins,
								 .begun_b = thread->begun_b,
								 .ends = thread->ends};
	}
	pop_until(zones, thread, time_ns);
	return 0;
}

static int add_blocks(struct zones *zones, const struct sonde_batch *batch)
{
	const struct sonde_heap *heap = sonde_session_heap(zones->heap.session, batch->heap.id);
	if (!heap || heap->kind != SONDE_HEAP_MALLOC)
		return 0;
	for (size_t i = 0; i < batch->count; i++) {
		struct thread *thread = &zones->threads[batch->heap.thread[i]];
		if (!thread->end)
			continue;
		int rc = advance(zones, thread, batch->heap.time_ns[i] + HALF_TICK_NS);
		if (rc < 0)
			return rc;
		struct sonde_heap_worth worth = sonde_heap_worth(batch->heap.size_b[i], batch->heap.mean_b);
		thread->held_b += batch->heap.ends[i] ? -(int64_t)worth.size_b : (int64_t)worth.size_b;
		thread->begins += batch->heap.ends[i] ? 0 : worth.blocks;
		thread->begun_b += batch->heap.ends[i] ? 0 : worth.size_b;
		thread->ends += batch->heap.ends[i] ? worth.blocks : 0;
		if (thread->depth && thread->held_b > thread->frames[thread->depth - 1].most_b)
			thread->frames[thread->depth - 1].most_b = thread->held_b;
		if (thread->depth && batch->heap.time_every > zones->time_every)
			zones->time_every = batch->heap.time_every;
	}
	return 0;
}

static int read_blocks(struct zones *zones)
{
	struct sonde_cursor *cursor;
	const struct sonde_batch *batch;
	int rc = sonde_cursor_open(&cursor, zones->heap.session, 1u << SONDE_CHUNK_HEAP);
	if (rc < 0)
		return rc;
	while ((rc = sonde_cursor_next(cursor, &batch)) != 0) {
		if (rc == -ENOMEM)
			break;
		if (rc < 0) {
			zones->heap.unread = 1;
			continue;
		}
		rc = add_blocks(zones, batch);
		if (rc < 0)
			break;
	}
	sonde_cursor_close(cursor);
	for (size_t i = 0; rc == 0 && i <= sonde_session_thread_count(zones->heap.session); i++) {
		rc = advance(zones, &zones->threads[i], UINT64_MAX - 1);
		while (rc == 0 && zones->threads[i].depth)
			pop(zones, &zones->threads[i]);
	}
	return rc;
}

/* --- the section ------------------------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->peak_b != b->peak_b)
		return a->peak_b < b->peak_b ? 1 : -1;
	if (a->begun_b != b->begun_b)
		return a->begun_b < b->begun_b ? 1 : -1;
	return (a->site > b->site) - (a->site < b->site);
}

static struct sonde_cell signed_cell(int64_t value)
{
	return value < 0 ? sonde_cell_real((double)value, 0) : sonde_cell_int((uint64_t)value);
}

static void row_add(const struct zones *zones, const struct row *from, struct sonde_report *report,
		    struct sonde_section *section)
{
	const struct sonde_site *site = sonde_session_site(zones->heap.session, from->site);
	struct sonde_cell *row = sonde_report_row(report, section);
	row[NAME] = sonde_cell_text(site ? site->name : "(unknown)");
	row[CALLS] = sonde_cell_int(from->calls);
	row[CHANGE_B] = signed_cell(from->change_b);
	row[PEAK_B] = signed_cell(from->peak_b);
	row[BEGUN_B] = sonde_cell_int(from->begun_b);
	row[BEGINS] = sonde_cell_int(from->begins);
	row[ENDS] = sonde_cell_int(from->ends);
	row[MEAN_B] = sonde_cell_real((double)from->begun_b / (double)from->calls, 0);
}

static void notes_add(const struct zones *zones, struct sonde_report *report, struct sonde_section *section)
{
	sonde_report_note(
	    report, section, 0,
	    "malloc blocks of the zone's thread, nested zones included; change: bytes its calls left allocated");
	if (zones->time_every > 1)
		sonde_report_note(
		    report, section, 1,
		    "block times are exact to %u allocations: a block near a zone's edge may be on the wrong side",
		    zones->time_every);
	if (zones->beyond) {
		sonde_report_note(report, section, 1,
				  "%llu zones beyond the first %d were left out: " SONDE_CHOOSE_TIME,
				  (unsigned long long)zones->beyond, ZONES_MAX);
		sonde_report_advise(report, section, SONDE_ACTION_TIME, SONDE_CHOOSE_TIME);
	}
	sonde_heap_pass_notes(&zones->heap, report, section);
}

static void section_add(struct zones *zones, const char *title, struct sonde_report *report)
{
	size_t limit = zones->heap.options.limit ? zones->heap.options.limit : DEFAULT_ROWS, count = 0;
	struct sonde_section *section = sonde_report_table(report, "heap-zones", title, columns, COLUMNS);
	notes_add(zones, report, section);
	for (size_t i = 0; i <= sonde_session_site_count(zones->heap.session); i++)
		if (zones->rows[i].calls)
			zones->rows[count++] = zones->rows[i];
	qsort(zones->rows, count, sizeof *zones->rows, compare_rows);
	for (size_t i = 0; i < count && i < limit; i++)
		row_add(zones, &zones->rows[i], report, section);
	section->table.omitted = count > limit ? count - limit : 0;
}

static int zones_finish(void *state, struct sonde_report *report)
{
	struct zones *zones = state;
	const char *title = "Heap changes by zone";
	int rc = sonde_heap_pass_read(&zones->heap, report, "heap-zones", title);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!zones->count)
		return sonde_pass_nothing(&zones->heap.options, report, "heap-zones", title,
					  "no zones: mark them with SONDE_ZONE() (sonde/sonde.h)");
	rc = threads_make(zones);
	rc = rc ? rc : read_blocks(zones);
	if (!rc)
		section_add(zones, title, report);
	return rc;
}

const struct sonde_pass sonde_pass_heap_zones = {
    .name = "heap-zones",
    .needs = SONDE_NEEDS(HEAP),
    .has = sonde_has_heap,
    .title = "heap change and peak inside, by zone",
    .types = 1u << SONDE_CHUNK_ZONES,
    .state_b = sizeof(struct zones),
    .begin = zones_begin,
    .wants = zones_wants,
    .feed = zones_feed,
    .finish = zones_finish,
    .end = zones_end,
};
