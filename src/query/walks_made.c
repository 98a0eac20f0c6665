/* walks_made.c: iterates over assembled rows: program events, and the functions on a stack. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/cpu/by_function.h"
#include "query/rows.h"
#include "query/table.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/error.h"

/* --- events ------------------------------------------------------------------------------------------------------- */

struct events {
	struct sonde_query_event *rows;
	size_t cap;
	struct sonde_arena texts; /* texts of the block */
};

static int begin_events(struct sonde_query_scan *scan)
{
	scan->state = calloc(1, sizeof(struct events));
	if (!scan->state)
		return sonde_error(ENOMEM, "out of memory for events");
	int rc = sonde_cursor_open(&scan->cursor, scan->session, scan->table->types);
	return rc ? rc : sonde_cursor_want(scan->cursor, &scan->wanted);
}

static int read_event(struct events *events, const struct sonde_event *event, struct sonde_query_event *out)
{
	const struct sonde_event_text *text = (const struct sonde_event_text *)(const void *)event;
	out->time_ns = event->time;
	out->site = event->site;
	out->type = event->type;
	if (event->type == SONDE_EVENT_INSTANT || event->type == SONDE_EVENT_MESSAGE) {
		out->text = sonde_arena_strndup(&events->texts, (const char *)(text + 1), (size_t)text->len_b);
		return out->text ? 0 : sonde_error(ENOMEM, "out of memory for texts");
	}
	out->value = ((const struct sonde_event_value *)(const void *)event)->value;
	return 0;
}

static int take_events(struct sonde_query_scan *scan, const struct sonde_batch *batch)
{
	struct events *events = scan->state;
	size_t count = 0;
	sonde_arena_fini(&events->texts);
	sonde_arena_init(&events->texts);
	if (SONDE_ARRAY_RESERVE(events->rows, events->cap, batch->count))
		return sonde_error(ENOMEM, "out of memory for %zu events", batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_event *event = batch->events[i];
		if (event->type >= 32 || !(scan->table->events & 1u << event->type))
			continue;
		struct sonde_query_event *row = &events->rows[count++];
		*row = (struct sonde_query_event){.process = batch->process, .thread = batch->thread};
		int rc = read_event(events, event, row);
		if (rc)
			return rc;
	}
	sonde_query_place_rows(scan, events->rows, count);
	return 1;
}

static int next_events(struct sonde_query_scan *scan)
{
	const struct sonde_batch *batch;
	int found = sonde_cursor_next(scan->cursor, &batch);
	return found > 0 ? take_events(scan, batch) : found;
}

static void end_events(struct sonde_query_scan *scan)
{
	struct events *events = scan->state;
	sonde_cursor_close(scan->cursor);
	scan->cursor = NULL;
	if (!events)
		return;
	sonde_arena_fini(&events->texts);
	free(events->rows);
	free(events);
	scan->state = NULL;
}

const struct sonde_query_walk sonde_query_walk_events = {begin_events, next_events, end_events};

/* --- frames: one block per stack ---------------------------------------------------------------------------------- */

struct frames {
	struct sonde_query_frame *rows;
	size_t count, cap;
};

static int begin_frames(struct sonde_query_scan *scan)
{
	scan->state = calloc(1, sizeof(struct frames));
	return scan->state ? 0 : sonde_error(ENOMEM, "out of memory for frames");
}

static int add_frame(struct frames *frames, struct sonde_query_frame row)
{
	if (SONDE_ARRAY_RESERVE(frames->rows, frames->cap, frames->count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu frames", frames->count + 1);
	row.depth = (uint32_t)frames->count;
	frames->rows[frames->count++] = row;
	return 0;
}

static int add_node(struct frames *frames, const struct sonde_session *session, uint32_t stack,
		    const struct sonde_frame *frame)
{
	int rc = 0;
	for (uint32_t i = 0; !rc && i < frame->location_count; i++)
		rc = add_frame(frames, (struct sonde_query_frame){.stack = stack,
								  .function = sonde_function_of(session, frame, i),
								  .module = frame->module,
								  .file = frame->locations[i].file,
								  .line = frame->locations[i].line,
								  .is_inlined = i + 1 < frame->location_count});
	return rc;
}

static int next_frames(struct sonde_query_scan *scan)
{
	struct frames *frames = scan->state;
	uint64_t stack = scan->row_wanted ? scan->row_wanted : scan->next + 1;
	if ((scan->row_wanted && scan->next) || stack > sonde_session_node_count(scan->session))
		return 0;
	scan->next++;
	frames->count = 0;
	int rc = 0;
	const struct sonde_node *node = sonde_session_node(scan->session, (uint32_t)stack);
	for (; !rc && node; node = node->parent ? sonde_session_node(scan->session, node->parent) : NULL) {
		const struct sonde_frame *frame = sonde_session_frame(scan->session, node->frame);
		rc = frame ? add_node(frames, scan->session, (uint32_t)stack, frame) : 0;
	}
	if (rc)
		return rc;
	sonde_query_place_rows(scan, frames->rows, frames->count);
	return 1;
}

static void end_frames(struct sonde_query_scan *scan)
{
	struct frames *frames = scan->state;
	if (frames)
		free(frames->rows);
	free(frames);
	scan->state = NULL;
}

const struct sonde_query_walk sonde_query_walk_frames = {begin_frames, next_frames, end_frames};
