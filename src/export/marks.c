/* marks.c: one reading of the events and two sorts; then a merge with each thread's zones. Marks that a thread has
 * passed, but no zone has taken yet, form a linked stack. */
#include "export/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "export/stacks.h"
#include "util/array.h"
#include "util/error.h"

static int add(struct sonde_marks *marks, struct sonde_mark **rows, size_t *count, size_t *cap, struct sonde_mark mark)
{
	if (marks->zone_count + marks->span_count >= SONDE_MARKS_MAX) {
		marks->dropped++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(*rows, *cap, *count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu marks", *count + 1);
	size_t size_b = (size_t)mark.event->words * 8;
	void *copy = sonde_arena_alloc(&marks->arena, size_b);
	if (!copy)
		return sonde_error(ENOMEM, "out of memory for %zu marks", *count);
	mark.event = memcpy(copy, mark.event, size_b);
	(*rows)[(*count)++] = mark;
	return 0;
}

static int add_event(struct sonde_marks *marks, const struct sonde_batch *batch, const struct sonde_event *event)
{
	struct sonde_mark mark = {.process = batch->process, .thread = batch->thread, .event = event};
	switch (event->type) {
	case SONDE_EVENT_SPAN_BEGIN:
	case SONDE_EVENT_SPAN_END:
		mark.span = ((const struct sonde_event_span *)event)->id;
		return add(marks, &marks->spans, &marks->span_count, &marks->span_cap, mark);
	case SONDE_EVENT_ARG:
		mark.span = ((const struct sonde_event_arg *)event)->span;
		if (mark.span)
			return add(marks, &marks->spans, &marks->span_count, &marks->span_cap, mark);
		return add(marks, &marks->zones, &marks->zone_count, &marks->zone_cap, mark);
	case SONDE_EVENT_WORK:
	case SONDE_EVENT_ZONE_NAME:
		return add(marks, &marks->zones, &marks->zone_count, &marks->zone_cap, mark);
	default:
		return 0;
	}
}

static int by_thread(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	int by = sonde_order(a->thread, b->thread);
	return by ? by : sonde_order(a->event->time, b->event->time);
}

/* At equal times a begin comes before what belongs to it, and that before the end. */
static uint64_t rank(const struct sonde_mark *mark)
{
	return mark->event->type == SONDE_EVENT_SPAN_BEGIN ? 0 : mark->event->type == SONDE_EVENT_ARG ? 1 : 2;
}

static int by_span(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	int by = sonde_order(a->process, b->process);
	by = by ? by : sonde_order(a->span, b->span);
	by = by ? by : sonde_order(a->event->time, b->event->time);
	return by ? by : sonde_order(rank(a), rank(b));
}

/* The range of each thread's marks in the sorted rows. */
static int find_threads(struct sonde_marks *marks, struct sonde_session *session)
{
	marks->thread_count = sonde_session_thread_count(session) + 1;
	marks->threads = calloc(marks->thread_count, sizeof *marks->threads);
	if (!marks->threads)
		return sonde_error(ENOMEM, "out of memory for %zu threads", marks->thread_count);
	for (size_t i = 0; i < marks->zone_count; i++) {
		uint32_t thread = marks->zones[i].thread;
		if (thread >= marks->thread_count)
			continue;
		if (i == 0 || marks->zones[i - 1].thread != thread)
			marks->threads[thread].next = i;
		marks->threads[thread].end = i + 1;
	}
	return 0;
}

int sonde_marks_read(struct sonde_marks *marks, struct sonde_session *session)
{
	*marks = (struct sonde_marks){0};
	struct sonde_cursor *cursor;
	int rc = sonde_cursor_open(&cursor, session, 1u << SONDE_CHUNK_EVENTS);
	if (rc)
		return rc;
	const struct sonde_batch *batch;
	int error = 0;
	while (!error && (rc = sonde_export_stacks_next(cursor, &batch)) > 0)
		for (size_t i = 0; i < batch->count && !error; i++)
			error = add_event(marks, batch, batch->events[i]);
	sonde_cursor_close(cursor);
	error = error ? error : rc;
	if (marks->zone_count)
		qsort(marks->zones, marks->zone_count, sizeof *marks->zones, by_thread);
	if (marks->span_count)
		qsort(marks->spans, marks->span_count, sizeof *marks->spans, by_span);
	if (!error)
		error = find_threads(marks, session);
	if (error)
		sonde_marks_fini(marks);
	return error;
}

void sonde_marks_fini(struct sonde_marks *marks)
{
	sonde_arena_fini(&marks->arena);
	free(marks->zones);
	free(marks->spans);
	free(marks->threads);
	*marks = (struct sonde_marks){0};
}

/* The next mark of a zone, the newest first; NULL when it has no more. */
static const struct sonde_mark *take(struct sonde_marks *marks, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	if (thread >= marks->thread_count)
		return NULL;
	struct sonde_marks_thread *at = &marks->threads[thread];
	for (; at->next < at->end && marks->zones[at->next].event->time <= end_ns; at->next++) {
		marks->zones[at->next].below = at->waiting;
		at->waiting = at->next + 1;
	}
	if (!at->waiting || marks->zones[at->waiting - 1].event->time < start_ns)
		return NULL;
	const struct sonde_mark *mark = &marks->zones[at->waiting - 1];
	at->waiting = mark->below;
	return mark;
}

void sonde_marks_zone(struct sonde_marks *marks, const struct sonde_selection *selection,
		      const struct sonde_batch *batch, size_t i, struct sonde_mark_zone *out)
{
	const struct sonde_mark *mark;
	out->thread = batch->thread;
	out->site = batch->zones.site[i];
	out->depth = batch->zones.depth[i];
	out->start_ns = batch->zones.start_ns[i];
	out->end_ns = out->start_ns + batch->zones.dur_ns[i];
	out->self_ns = batch->zones.self_ns[i];
	out->is_unfinished = batch->zones.flags[i] & SONDE_ZONE_UNFINISHED;
	out->is_wanted = sonde_selection_takes(selection, out->start_ns, out->thread);
	out->name[0] = 0;
	sonde_said_open(&marks->said);
	while ((mark = take(marks, out->thread, out->start_ns, out->end_ns)))
		if (mark->event->type == SONDE_EVENT_ZONE_NAME && !*out->name)
			sonde_track_text(mark->event, out->name);
		else if (out->is_wanted)
			sonde_said_add(&marks->said, mark->event, &marks->dropped);
	sonde_said_close(&marks->said);
}

/* Whether a row goes on with a span, by an event of a type. Rows of one id are in time order: a begin, its arguments,
 * an end; the id may then be reused. */
static int goes_on(const struct sonde_marks *marks, size_t at, const struct sonde_mark *begin, uint16_t type)
{
	const struct sonde_mark *row = &marks->spans[at];
	return at < marks->span_count && row->process == begin->process && row->span == begin->span &&
	       row->event->type == type;
}

int sonde_marks_span(struct sonde_marks *marks, const struct sonde_selection *selection, size_t *at,
		     struct sonde_mark_span *out)
{
	while (*at < marks->span_count) {
		const struct sonde_mark *begin = &marks->spans[(*at)++];
		if (begin->event->type != SONDE_EVENT_SPAN_BEGIN) {
			marks->unbegun += begin->event->type == SONDE_EVENT_SPAN_END;
			continue;
		}
		while (goes_on(marks, *at, begin, SONDE_EVENT_ARG))
			(*at)++;
		const struct sonde_mark *last = &marks->spans[*at - 1];
		int is_ended = goes_on(marks, *at, begin, SONDE_EVENT_SPAN_END);
		*out = (struct sonde_mark_span){begin, is_ended ? &marks->spans[(*at)++] : NULL};
		if (!sonde_selection_takes(selection, begin->event->time, begin->thread))
			continue;
		sonde_said_open(&marks->said);
		for (; last > begin; last--)
			sonde_said_add(&marks->said, last->event, &marks->dropped);
		sonde_said_close(&marks->said);
		return 1;
	}
	return 0;
}

const char *sonde_marks_site(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_site *site = sonde_session_site(session, id);
	return site && *site->name ? site->name : "(unnamed)";
}
