/* spans.c: spans, as asynchronous events. */
#include "export/chrome/event.h"

#include <inttypes.h>

struct span {
	const struct sonde_mark *begin, *end; /* end NULL: still open at the end of the recording */
	size_t between;                       /* number of annotations after `begin` that are its arguments */
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

/* Annotations of one id are in time order: a begin, its arguments, an end; the id may then be reused. Ids in the file
 * are sequence numbers of the spans, because ids are unique only within a process. */
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
		if (sonde_selection_takes(&chrome->options->selection, mark->event->time, mark->thread))
			put_span(chrome, &span);
	}
}
