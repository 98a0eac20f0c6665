/* spans.c: spans, as asynchronous events. Their ids in the file are sequence numbers, because ids are unique only
 * within a process, and may be reused. */
#include "export/chrome/event.h"

#include <inttypes.h>
#include <stdio.h>

static void put_edge(struct sonde_chrome *chrome, const struct sonde_mark_span *span, const char *phase, int ends)
{
	char id[64];
	const struct sonde_mark *at = ends && span->end ? span->end : span->begin;
	struct sonde_chrome_event head = {
	    .phase = phase,
	    .name = sonde_annotations_site(chrome->session, span->begin->event->site),
	    .category = *phase == 'b' || *phase == 'e' ? "span" : "flow",
	    .thread = at->thread,
	    .time_ns = ends && !span->end ? sonde_session_run(chrome->session)->end_ns : at->event->time,
	};
	snprintf(id, sizeof id, "%" PRIu32 ":%" PRIu64 ":%zu", span->begin->process, span->begin->span,
		 (size_t)(span->begin - chrome->annotations.spans));
	sonde_chrome_begin(chrome, &head);
	sonde_json_put_text(&chrome->json, "id", id);
	if (*phase == 'f')
		sonde_json_put_text(&chrome->json, "bp", "e");
	sonde_chrome_args(chrome);
	if (*phase == 'b')
		sonde_chrome_put_args(chrome);
	if (*phase == 'e' && !span->end) {
		sonde_json_put_bool(&chrome->json, "unfinished", 1);
	}
	sonde_chrome_end(chrome);
}

static void put_span(struct sonde_chrome *chrome, const struct sonde_mark_span *span)
{
	put_edge(chrome, span, "b", 0);
	put_edge(chrome, span, "e", 1);
	if (!span->end || span->end->thread == span->begin->thread)
		return;
	put_edge(chrome, span, "s", 0);
	put_edge(chrome, span, "f", 1);
}

void sonde_chrome_spans(struct sonde_chrome *chrome)
{
	struct sonde_mark_span span;
	for (size_t at = 0; sonde_annotations_span(&chrome->annotations, &chrome->options->selection, &at, &span);)
		put_span(chrome, &span);
}
