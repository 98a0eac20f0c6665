/* spans.c: spans, on their own tracks below their process.
 *
 * If a span ends in another thread, an arrow connects an instant event in each of the two threads.
 */
#include "export/perfetto/perfetto.h"

struct span {
	const struct sonde_mark *begin, *end; /* end NULL: still open at the end of the recording */
	size_t between;                       /* number of annotations after `begin` that are its arguments */
};

static void put_handover(struct sonde_perfetto *perfetto, const struct span *span, const char *name)
{
	uint64_t flow = ++perfetto->flow_count;
	for (int ends = 0; ends < 2; ends++) {
		const struct sonde_mark *at = ends ? span->end : span->begin;
		sonde_perfetto_begin(
		    perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_INSTANT,
							     .track = sonde_perfetto_thread(perfetto, at->thread),
							     .time_ns = at->event->time,
							     .category = ends ? "span end" : "span begin",
							     .name = name});
		sonde_perfetto_flow(perfetto, flow, ends);
		sonde_perfetto_end(perfetto, NULL);
	}
}

static void put_span(struct sonde_perfetto *perfetto, const struct span *span)
{
	const char *name = sonde_perfetto_site(perfetto, span->begin->event->site);
	const struct sonde_thread *from = sonde_session_thread(perfetto->session, span->begin->thread);
	const struct sonde_thread *to = span->end ? sonde_session_thread(perfetto->session, span->end->thread) : NULL;
	uint64_t end_ns = span->end ? span->end->event->time : sonde_session_run(perfetto->session)->end_ns;
	uint64_t parent = sonde_perfetto_process(perfetto, span->begin->process),
		 track = sonde_perfetto_track_new(perfetto);
	char own[SONDE_CHROME_OWN_B];
	sonde_perfetto_describe(perfetto, track, parent, name, NULL);
	for (size_t i = span->between; i > 0; i--)
		sonde_chrome_say(&perfetto->said, &perfetto->marks.dropped, span->begin[i].event);
	sonde_perfetto_begin(perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_BEGIN,
								      .track = track,
								      .time_ns = span->begin->event->time,
								      .category = "span",
								      .name = name});
	if (from)
		sonde_perfetto_arg_uint(perfetto, sonde_chrome_own_name(&perfetto->said, "begun_by", own), from->tid);
	if (to)
		sonde_perfetto_arg_uint(perfetto, sonde_chrome_own_name(&perfetto->said, "ended_by", own), to->tid);
	else
		sonde_perfetto_arg_bool(perfetto, sonde_chrome_own_name(&perfetto->said, "unfinished", own), 1);
	sonde_perfetto_said(perfetto);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_close(perfetto, track, end_ns > span->begin->event->time ? end_ns : span->begin->event->time,
			     NULL);
	if (span->end && span->end->thread != span->begin->thread)
		put_handover(perfetto, span, name);
}

static int is_same(const struct sonde_mark *a, const struct sonde_mark *b)
{
	return a->process == b->process && a->span == b->span;
}

/* Annotations of one id are in time order: a begin, its arguments, an end; the id may then be reused. */
int sonde_perfetto_spans(struct sonde_perfetto *perfetto)
{
	const struct sonde_marks *marks = &perfetto->marks;
	for (size_t i = 0; i < marks->span_count && !perfetto->error;) {
		struct span span = {.begin = &marks->spans[i++]};
		if (span.begin->event->type != SONDE_EVENT_SPAN_BEGIN) {
			perfetto->unbegun += span.begin->event->type == SONDE_EVENT_SPAN_END;
			continue;
		}
		for (; i < marks->span_count && is_same(&marks->spans[i], span.begin) &&
		       marks->spans[i].event->type == SONDE_EVENT_ARG;
		     i++)
			span.between++;
		if (i < marks->span_count && is_same(&marks->spans[i], span.begin) &&
		    marks->spans[i].event->type == SONDE_EVENT_SPAN_END)
			span.end = &marks->spans[i++];
		if (sonde_selection_takes(&perfetto->options->selection, span.begin->event->time, span.begin->thread))
			put_span(perfetto, &span);
	}
	return perfetto->error;
}
