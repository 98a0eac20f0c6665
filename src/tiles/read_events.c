/* read_events.c: the program's own events: instants and messages as instants, counters and gauges as curves, iterations
 * and spans as slices; and snapshots, as instants of a process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "format/event.h"
#include "format/meta.h"
#include "tiles/tiles_state.h"
#include "util/error.h"

enum { TEXT_MAX_B = 200 };

struct reading {
	struct sonde_tiles *tiles;
	struct sonde_tile_items moments, values, marks, spans;
};

/* --- events into lists -------------------------------------------------------------------------------------------- */

static int add_moment(struct reading *reading, struct sonde_tile_item item, const struct sonde_event *event)
{
	const struct sonde_event_text *text = (const struct sonde_event_text *)event;
	char shown[TEXT_MAX_B + 1] = "message";
	int rc;
	if (event->type == SONDE_EVENT_INSTANT) {
		rc = sonde_tiles_site_name(reading->tiles, event->site, &item.name);
	} else {
		size_t size_b = text->len_b < TEXT_MAX_B ? (size_t)text->len_b : TEXT_MAX_B;
		if (size_b) {
			memcpy(shown, text + 1, size_b);
			shown[size_b] = 0;
		}
		rc = sonde_tiles_name_of(reading->tiles, shown, 0, &item.name);
	}
	return rc ? rc : sonde_tile_items_add(reading->tiles, &reading->moments, item);
}

/* Counters and gauges belong to the process: `sub` is the site, and `name` the thread of the total. */
static int add_value(struct reading *reading, struct sonde_tile_item item, const struct sonde_event *event)
{
	item.value = ((const struct sonde_event_value *)event)->value;
	item.name = item.thread;
	item.sub = event->site << 1 | (event->type == SONDE_EVENT_GAUGE);
	item.thread = 0;
	return item.value == item.value ? sonde_tile_items_add(reading->tiles, &reading->values, item) : 0;
}

static int add_mark(struct reading *reading, struct sonde_tile_item item, const struct sonde_event *event)
{
	item.sub = event->site;
	return sonde_tile_items_add(reading->tiles, &reading->marks, item);
}

/* The begin and the end of an id sort next to each other: an end sorts after a begin of the same time. */
static int add_span(struct reading *reading, struct sonde_tile_item item, const struct sonde_event *event)
{
	item.id = ((const struct sonde_event_span *)event)->id;
	item.sub = event->type == SONDE_EVENT_SPAN_END;
	item.name = event->site;
	return sonde_tile_items_add(reading->tiles, &reading->spans, item);
}

static int (*const takers[])(struct reading *reading, struct sonde_tile_item item, const struct sonde_event *event) = {
    [SONDE_EVENT_INSTANT] = add_moment, [SONDE_EVENT_MESSAGE] = add_moment,  [SONDE_EVENT_MISMATCH] = add_moment,
    [SONDE_EVENT_COUNTER] = add_value,  [SONDE_EVENT_GAUGE] = add_value,     [SONDE_EVENT_COUNT] = add_value,
    [SONDE_EVENT_ITERATION] = add_mark, [SONDE_EVENT_SPAN_BEGIN] = add_span, [SONDE_EVENT_SPAN_END] = add_span,
};

static int take(void *context, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++) {
		const struct sonde_event *event = batch->events[i];
		const struct sonde_tile_item item = {
		    .from_ns = event->time, .to_ns = event->time, .process = batch->process, .thread = batch->thread};
		if (event->type < sizeof takers / sizeof *takers && takers[event->type])
			rc = takers[event->type](context, item, event);
	}
	return rc;
}

/* --- lists into lanes --------------------------------------------------------------------------------------------- */

static int lay_moments(struct reading *reading)
{
	struct sonde_tiles *tiles = reading->tiles;
	struct sonde_tile_of of = {.kind = SONDE_TILE_INSTANTS, .form = SONDE_TILE_MOMENTS};
	int rc = 0;
	sonde_tile_items_sort(&reading->moments);
	for (size_t i = 0; i < reading->moments.count && !rc; i++) {
		const struct sonde_tile_item *item = &reading->moments.all[i];
		of.process = item->process;
		of.thread = item->thread;
		of.title = item->thread ? "instants" : "snapshots";
		struct sonde_tile_lane_data *lane = sonde_tiles_lane_of(tiles, &of);
		const struct sonde_tile_slice slice = {item->from_ns, item->from_ns, item->name, 0};
		rc = lane ? sonde_tile_lane_slice(lane, slice, &tiles->room_b) : -ENOMEM;
	}
	return rc;
}

/* Iterations of one thread and site: from one mark to the next. */
static int lay_marks(struct reading *reading)
{
	struct sonde_tiles *tiles = reading->tiles;
	struct sonde_tile_of of = {.kind = SONDE_TILE_ITERATIONS, .form = SONDE_TILE_SLICES, .title = "iterations"};
	int rc = 0;
	sonde_tile_items_sort(&reading->marks);
	for (size_t i = 1; i < reading->marks.count && !rc; i++) {
		const struct sonde_tile_item *item = &reading->marks.all[i], *before = item - 1;
		uint32_t name;
		if (item->process != before->process || item->thread != before->thread || item->sub != before->sub)
			continue;
		of.process = item->process;
		of.thread = item->thread;
		of.sub = item->sub;
		struct sonde_tile_lane_data *lane = sonde_tiles_lane_of(tiles, &of);
		rc = lane ? sonde_tiles_site_name(tiles, item->sub, &name) : -ENOMEM;
		if (rc)
			return rc;
		const struct sonde_tile_slice slice = {before->from_ns, item->from_ns, name, 0};
		rc = sonde_tile_lane_slice(lane, slice, &tiles->room_b);
	}
	return rc;
}

/* The values of one site in a process, in time order; `totals`: zeroed total per thread, for counters. */
static int lay_site(struct sonde_tiles *tiles, const struct sonde_tile_item *items, size_t count, double *totals)
{
	const struct sonde_site *site = sonde_session_site(tiles->session, items->sub >> 1);
	const struct sonde_tile_of of = {.kind = SONDE_TILE_COUNTERS,
					 .form = SONDE_TILE_CURVE,
					 .process = items->process,
					 .sub = items->sub,
					 .title = site && *site->name ? site->name : "(unnamed)",
					 .unit = site ? site->unit : ""};
	struct sonde_tile_lane_data *lane = sonde_tiles_lane_of(tiles, &of);
	int rc = lane ? 0 : -ENOMEM, is_gauge = items->sub & 1;
	double value = 0;
	for (size_t i = 0; i < count && !rc; i++) {
		value = is_gauge ? items[i].value : value + items[i].value - totals[items[i].name];
		totals[items[i].name] = items[i].value;
		uint64_t next_ns = i + 1 < count ? items[i + 1].from_ns : items[i].from_ns;
		const struct sonde_tile_piece piece = {items[i].from_ns, next_ns, value, value};
		rc = sonde_tile_lane_piece(lane, piece, &tiles->room_b);
	}
	for (size_t i = 0; i < count; i++)
		totals[items[i].name] = 0;
	return rc;
}

static int lay_values(struct reading *reading)
{
	struct sonde_tile_items *values = &reading->values;
	size_t threads = sonde_session_thread_count(reading->tiles->session) + 1;
	double *totals = calloc(threads, sizeof *totals);
	int rc = totals ? 0 : sonde_error(ENOMEM, "out of memory for %zu threads", threads);
	sonde_tile_items_sort(values);
	for (size_t from = 0, to; from < values->count && !rc; from = to) {
		const struct sonde_tile_item *first = &values->all[from];
		for (to = from; to < values->count && values->all[to].process == first->process &&
				values->all[to].sub == first->sub;)
			to++;
		rc = lay_site(reading->tiles, first, to - from, totals);
	}
	free(totals);
	return rc;
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

static int by_span(const void *left, const void *right)
{
	const struct sonde_tile_item *a = left, *b = right;
	int by = sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->id, b->id);
	by = by ? by : sonde_order(a->from_ns, b->from_ns);
	return by ? by : sonde_order(a->sub, b->sub);
}

/* A begin and the following end become a slice in place of the begin; one without an end lasts as long as its
 * process. */
static int lay_spans(struct reading *reading)
{
	static const struct sonde_tile_of of = {.kind = SONDE_TILE_SPANS, .form = SONDE_TILE_SLICES, .title = "spans"};
	struct sonde_tiles *tiles = reading->tiles;
	struct sonde_tile_items *spans = &reading->spans;
	size_t kept = 0;
	if (spans->count)
		qsort(spans->all, spans->count, sizeof *spans->all, by_span);
	for (size_t i = 0; i < spans->count; i++) {
		struct sonde_tile_item span = spans->all[i];
		const struct sonde_tile_item *next = i + 1 < spans->count ? &spans->all[i + 1] : NULL;
		const struct sonde_process *process = sonde_session_process(tiles->session, span.process);
		if (span.sub) /* an end without a begin */
			continue;
		int ends = next && next->process == span.process && next->id == span.id && next->sub;
		uint64_t open_ns = process && process->end_ns
				       ? process->end_ns
				       : sonde_session_part_of(tiles->session, span.process)->end_ns;
		span.to_ns = ends ? next->from_ns : open_ns > span.from_ns ? open_ns : span.from_ns;
		span.thread = 0;
		int rc = sonde_tiles_site_name(tiles, span.name, &span.name);
		if (rc)
			return rc;
		spans->all[kept++] = span;
		i += ends != 0;
	}
	spans->count = kept;
	return sonde_tile_items_lay(tiles, spans, &of);
}

static int add_snapshots(struct reading *reading)
{
	static const char *const reasons[] = {[0] = "snapshot",
					      [SONDE_SNAPSHOT_API] = "snapshot by the program",
					      [SONDE_SNAPSHOT_COMMAND] = "snapshot by command",
					      [SONDE_SNAPSHOT_SIGNAL] = "snapshot by signal",
					      [SONDE_SNAPSHOT_INTERVAL] = "snapshot by interval",
					      [SONDE_SNAPSHOT_END] = "snapshot at exit"};
	int rc = 0;
	for (size_t i = 0; i < sonde_session_snapshot_count(reading->tiles->session) && !rc; i++) {
		const struct sonde_snapshot *row = sonde_session_snapshot(reading->tiles->session, i);
		const char *reason = reasons[row->reason < sizeof reasons / sizeof *reasons ? row->reason : 0];
		struct sonde_tile_item item = {.from_ns = row->time_ns, .to_ns = row->time_ns, .process = row->process};
		rc = sonde_tiles_name_of(reading->tiles, *row->label ? row->label : reason, 0, &item.name);
		rc = rc ? rc : sonde_tile_items_add(reading->tiles, &reading->moments, item);
	}
	return rc;
}

int sonde_tile_read_events(struct sonde_tiles *tiles)
{
	struct reading reading = {.tiles = tiles};
	int rc = sonde_tiles_walk(tiles, 1u << SONDE_CHUNK_EVENTS, take, &reading);
	rc = rc ? rc : add_snapshots(&reading);
	rc = rc ? rc : lay_moments(&reading);
	rc = rc ? rc : lay_marks(&reading);
	rc = rc ? rc : lay_values(&reading);
	rc = rc ? rc : lay_spans(&reading);
	sonde_tile_items_fini(tiles, &reading.moments);
	sonde_tile_items_fini(tiles, &reading.values);
	sonde_tile_items_fini(tiles, &reading.marks);
	sonde_tile_items_fini(tiles, &reading.spans);
	return rc;
}
