/* events.c: counters, marks, messages and spans. */
#include "export/chrome/event.h"

#include <inttypes.h>
#include <string.h>

void sonde_chrome_event_text(const struct sonde_event *event, char out[SONDE_CHROME_TEXT_B])
{
	const struct sonde_event_text *text = (const struct sonde_event_text *)event;
	size_t size_b = (size_t)event->words * 8;
	out[0] = 0;
	if (size_b < sizeof *text || text->len_b > size_b - sizeof *text)
		return;
	size_t len_b = text->len_b < SONDE_CHROME_TEXT_B ? text->len_b : SONDE_CHROME_TEXT_B - 1;
	memcpy(out, text + 1, len_b);
	out[len_b] = 0;
}

/* A counter's running total is one per thread, so each thread's is a counter of its own: `id` parts them. A gauge is
 * whatever anyone set last. */
static void put_value(struct sonde_chrome *chrome, struct sonde_chrome_event *head, const struct sonde_event *event)
{
	const struct sonde_event_value *value = (const struct sonde_event_value *)event;
	const struct sonde_thread *thread = sonde_session_thread(chrome->session, head->thread);
	int mark = event->type == SONDE_EVENT_ITERATION;
	if ((size_t)event->words * 8 < sizeof *value)
		return;
	head->phase = mark ? "i" : "C";
	head->category = mark ? "iteration" : "counter";
	sonde_chrome_begin(chrome, head);
	if (mark)
		sonde_json_put_text(&chrome->json, "s", "t");
	else if (event->type != SONDE_EVENT_GAUGE)
		sonde_json_put_uint(&chrome->json, "id", thread ? thread->tid : 0);
	sonde_chrome_args(chrome);
	sonde_json_put_real(&chrome->json, mark ? "items" : "value", value->value);
	sonde_chrome_end(chrome);
}

static void put_mark(struct sonde_chrome *chrome, struct sonde_chrome_event *head, const struct sonde_event *event)
{
	char text[SONDE_CHROME_TEXT_B];
	sonde_chrome_event_text(event, text);
	int message = event->type == SONDE_EVENT_MESSAGE;
	head->phase = "i";
	head->category = message ? "message" : event->type == SONDE_EVENT_MISMATCH ? "mismatch" : "instant";
	if (message)
		head->name = "message";
	sonde_chrome_begin(chrome, head);
	sonde_json_put_text(&chrome->json, "s", "t");
	sonde_chrome_args(chrome);
	if (*text)
		sonde_json_put_text(&chrome->json, "text", text);
	sonde_chrome_end(chrome);
}

void sonde_chrome_events(struct sonde_chrome *chrome, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_event *event = batch->events[i];
		if (!sonde_format_takes(chrome->options, event->time, batch->thread))
			continue;
		struct sonde_chrome_event head = {
		    .name = sonde_chrome_site(chrome, event->site), .thread = batch->thread, .time_ns = event->time};
		switch (event->type) {
		case SONDE_EVENT_COUNTER:
		case SONDE_EVENT_GAUGE:
		case SONDE_EVENT_COUNT:
		case SONDE_EVENT_ITERATION:
			put_value(chrome, &head, event);
			break;
		case SONDE_EVENT_INSTANT:
		case SONDE_EVENT_MESSAGE:
		case SONDE_EVENT_MISMATCH:
			put_mark(chrome, &head, event);
			break;
		default: /* arguments and spans come from marks.h; thread names are metadata */
			break;
		}
	}
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

struct span {
	const struct sonde_mark *begin, *end; /* end NULL: still open at the end of the recording */
	size_t between;                       /* marks after `begin` that are its arguments */
	char id[64];
};

static void put_edge(struct sonde_chrome *chrome, const struct span *span, const char *phase, int ends)
{
	const struct sonde_mark *at = ends && span->end ? span->end : span->begin;
	struct sonde_chrome_event head = {
	    .phase = phase,
	    .name = sonde_chrome_site(chrome, span->begin->event->site),
	    .category = *phase == 'b' || *phase == 'e' ? "span" : "flow",
	    .thread = at->thread,
	    .time_ns = ends && !span->end ? sonde_session_run(chrome->session)->end_ns : at->event->time,
	};
	sonde_chrome_begin(chrome, &head);
	sonde_json_put_text(&chrome->json, "id", span->id);
	if (*phase == 'f')
		sonde_json_put_text(&chrome->json, "bp", "e");
	sonde_chrome_args(chrome);
	if (*phase == 'b')
		for (size_t i = span->between; i > 0; i--)
			sonde_chrome_say(&chrome->said, &chrome->marks.dropped, span->begin[i].event);
	sonde_chrome_put_said(chrome);
	if (*phase == 'e' && !span->end) {
		sonde_json_key(&chrome->json, "unfinished");
		sonde_json_bool(&chrome->json, 1);
	}
	sonde_chrome_end(chrome);
}

static void put_span(struct sonde_chrome *chrome, const struct span *span)
{
	put_edge(chrome, span, "b", 0);
	put_edge(chrome, span, "e", 1);
	if (!span->end || span->end->thread == span->begin->thread)
		return;
	put_edge(chrome, span, "s", 0);
	put_edge(chrome, span, "f", 1);
}

/* Marks of one id are in order of time: a begin, what is said about it, an end; and the same again when the id is used
 * again. Ids in the file count the spans, because a process's ids say nothing in another. */
void sonde_chrome_spans(struct sonde_chrome *chrome)
{
	const struct sonde_marks *marks = &chrome->marks;
	for (size_t i = 0; i < marks->span_count;) {
		const struct sonde_mark *mark = &marks->spans[i];
		if (mark->event->type != SONDE_EVENT_SPAN_BEGIN) {
			chrome->unbegun += mark->event->type == SONDE_EVENT_SPAN_END;
			i++;
			continue;
		}
		struct span span = {.begin = mark};
		snprintf(span.id, sizeof span.id, "%" PRIu32 ":%" PRIu64 ":%zu", mark->process, mark->span, i);
		for (i++; i < marks->span_count; i++) {
			const struct sonde_mark *next = &marks->spans[i];
			if (next->process != mark->process || next->span != mark->span ||
			    next->event->type != SONDE_EVENT_ARG)
				break;
			span.between++;
		}
		if (i < marks->span_count && marks->spans[i].process == mark->process &&
		    marks->spans[i].span == mark->span && marks->spans[i].event->type == SONDE_EVENT_SPAN_END)
			span.end = &marks->spans[i++];
		if (sonde_format_takes(chrome->options, mark->event->time, mark->thread))
			put_span(chrome, &span);
	}
}
