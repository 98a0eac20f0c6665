/* annotations.c: reads the events once, sorts them twice, and then merges them with each thread's zones. For each
 * thread, the marks that come before the current zone's end and that no zone has taken yet form a linked stack. */
#include "export/annotations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "util/array.h"
#include "util/error.h"

static int add(struct sonde_annotations *annotations, struct sonde_mark **rows, size_t *count, size_t *cap,
	       struct sonde_mark mark)
{
	if (annotations->zone_count + annotations->span_count >= SONDE_ANNOTATIONS_MAX) {
		annotations->dropped++;
		return 0;
	}
	if (SONDE_ARRAY_RESERVE(*rows, *cap, *count + 1))
		return sonde_error(ENOMEM, "out of memory for %zu marks", *count + 1);
	size_t size_b = (size_t)mark.event->words * 8;
	void *copy = sonde_arena_alloc(&annotations->arena, size_b);
	if (!copy)
		return sonde_error(ENOMEM, "out of memory for %zu marks", *count);
	mark.event = memcpy(copy, mark.event, size_b);
	(*rows)[(*count)++] = mark;
	return 0;
}

static int add_event(struct sonde_annotations *annotations, const struct sonde_batch *batch,
		     const struct sonde_event *event)
{
	struct sonde_mark mark = {.process = batch->process, .thread = batch->thread, .event = event};
	switch (event->type) {
	case SONDE_EVENT_SPAN_BEGIN:
	case SONDE_EVENT_SPAN_END:
		mark.span = ((const struct sonde_event_span *)event)->id;
		return add(annotations, &annotations->spans, &annotations->span_count, &annotations->span_cap, mark);
	case SONDE_EVENT_ARG:
		mark.span = ((const struct sonde_event_arg *)event)->span;
		if (mark.span)
			return add(annotations, &annotations->spans, &annotations->span_count, &annotations->span_cap,
				   mark);
		return add(annotations, &annotations->zones, &annotations->zone_count, &annotations->zone_cap, mark);
	case SONDE_EVENT_WORK:
	case SONDE_EVENT_ZONE_NAME:
		return add(annotations, &annotations->zones, &annotations->zone_count, &annotations->zone_cap, mark);
	default:
		return 0;
	}
}

static int add_batch(void *context, const struct sonde_batch *batch)
{
	int rc = 0;
	for (size_t i = 0; i < batch->count && !rc; i++)
		rc = add_event(context, batch, batch->events[i]);
	return rc;
}

static int by_thread(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	int by = sonde_order(a->thread, b->thread);
	return by ? by : sonde_order(a->event->time, b->event->time);
}

/* Orders the events of a span that have the same time: begin, arguments, end. */
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
static int find_threads(struct sonde_annotations *annotations, struct sonde_session *session)
{
	annotations->thread_count = sonde_session_thread_count(session) + 1;
	annotations->threads = calloc(annotations->thread_count, sizeof *annotations->threads);
	if (!annotations->threads)
		return sonde_error(ENOMEM, "out of memory for %zu threads", annotations->thread_count);
	for (size_t i = 0; i < annotations->zone_count; i++) {
		uint32_t thread = annotations->zones[i].thread;
		if (thread >= annotations->thread_count)
			continue;
		if (i == 0 || annotations->zones[i - 1].thread != thread)
			annotations->threads[thread].next = i;
		annotations->threads[thread].end = i + 1;
	}
	return 0;
}

int sonde_annotations_read(struct sonde_annotations *annotations, struct sonde_session *session)
{
	*annotations = (struct sonde_annotations){0};
	int rc = sonde_session_batches(session, 1u << SONDE_CHUNK_EVENTS, add_batch, annotations);
	if (annotations->zone_count)
		qsort(annotations->zones, annotations->zone_count, sizeof *annotations->zones, by_thread);
	if (annotations->span_count)
		qsort(annotations->spans, annotations->span_count, sizeof *annotations->spans, by_span);
	if (!rc)
		rc = find_threads(annotations, session);
	if (rc)
		sonde_annotations_fini(annotations);
	return rc;
}

void sonde_annotations_fini(struct sonde_annotations *annotations)
{
	sonde_arena_fini(&annotations->arena);
	free(annotations->zones);
	free(annotations->spans);
	free(annotations->threads);
	*annotations = (struct sonde_annotations){0};
}

/* Takes the next mark of a zone off the thread's stack, the newest first. NULL if the zone has no more marks. */
static const struct sonde_mark *take(struct sonde_annotations *annotations, uint32_t thread, uint64_t start_ns,
				     uint64_t end_ns)
{
	if (thread >= annotations->thread_count)
		return NULL;
	struct sonde_annotations_thread *at = &annotations->threads[thread];
	for (; at->next < at->end && annotations->zones[at->next].event->time <= end_ns; at->next++) {
		annotations->zones[at->next].below = at->waiting;
		at->waiting = at->next + 1;
	}
	if (!at->waiting || annotations->zones[at->waiting - 1].event->time < start_ns)
		return NULL;
	const struct sonde_mark *mark = &annotations->zones[at->waiting - 1];
	at->waiting = mark->below;
	return mark;
}

void sonde_annotations_zone(struct sonde_annotations *annotations, const struct sonde_selection *selection,
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
	sonde_args_open(&annotations->args);
	while ((mark = take(annotations, out->thread, out->start_ns, out->end_ns)))
		if (mark->event->type == SONDE_EVENT_ZONE_NAME && !*out->name)
			sonde_track_text(mark->event, out->name);
		else if (out->is_wanted)
			sonde_args_add(&annotations->args, mark->event, &annotations->dropped);
	sonde_args_close(&annotations->args);
}

/* True if row `at` continues the span of `begin`, with an event of this type. Rows of one id are in time order: a
 * begin, its arguments, an end; the id may then be reused. */
static int goes_on(const struct sonde_annotations *annotations, size_t at, const struct sonde_mark *begin,
		   uint16_t type)
{
	const struct sonde_mark *row = &annotations->spans[at];
	return at < annotations->span_count && row->process == begin->process && row->span == begin->span &&
	       row->event->type == type;
}

int sonde_annotations_span(struct sonde_annotations *annotations, const struct sonde_selection *selection, size_t *at,
			   struct sonde_mark_span *out)
{
	while (*at < annotations->span_count) {
		const struct sonde_mark *begin = &annotations->spans[(*at)++];
		if (begin->event->type != SONDE_EVENT_SPAN_BEGIN) {
			annotations->unbegun += begin->event->type == SONDE_EVENT_SPAN_END;
			continue;
		}
		while (goes_on(annotations, *at, begin, SONDE_EVENT_ARG))
			(*at)++;
		const struct sonde_mark *last = &annotations->spans[*at - 1];
		int is_ended = goes_on(annotations, *at, begin, SONDE_EVENT_SPAN_END);
		*out = (struct sonde_mark_span){begin, is_ended ? &annotations->spans[(*at)++] : NULL};
		if (!sonde_selection_takes(selection, begin->event->time, begin->thread))
			continue;
		sonde_args_open(&annotations->args);
		for (; last > begin; last--)
			sonde_args_add(&annotations->args, last->event, &annotations->dropped);
		sonde_args_close(&annotations->args);
		return 1;
	}
	return 0;
}

const char *sonde_annotations_site(const struct sonde_session *session, uint32_t id)
{
	const struct sonde_site *site = sonde_session_site(session, id);
	return site && *site->name ? site->name : "(unnamed)";
}
