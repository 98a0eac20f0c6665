/* spans.c: spans, on their own tracks below their process.
 *
 * If a span ends in another thread, an arrow connects an instant event in each of the two threads.
 */
#include "export/perfetto/perfetto.h"

static void put_handover(struct sonde_perfetto *perfetto, const struct sonde_mark_span *span, const char *name)
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

static void put_span(struct sonde_perfetto *perfetto, const struct sonde_mark_span *span)
{
	const char *name = sonde_annotations_site(perfetto->session, span->begin->event->site);
	const struct sonde_thread *from = sonde_session_thread(perfetto->session, span->begin->thread);
	const struct sonde_thread *to = span->end ? sonde_session_thread(perfetto->session, span->end->thread) : NULL;
	uint64_t end_ns = span->end ? span->end->event->time : sonde_session_run(perfetto->session)->end_ns;
	uint64_t parent = sonde_perfetto_process(perfetto, span->begin->process),
		 track = sonde_perfetto_track_new(perfetto);
	char own[SONDE_ARGS_OWN_B];
	sonde_perfetto_describe(perfetto, track, parent, name, NULL);
	sonde_perfetto_begin(perfetto, &(struct sonde_perfetto_event){.type = SONDE_PERFETTO_BEGIN,
								      .track = track,
								      .time_ns = span->begin->event->time,
								      .category = "span",
								      .name = name});
	if (from)
		sonde_perfetto_arg_uint(perfetto, sonde_args_own(&perfetto->annotations.args, "begun_by", own),
					from->tid);
	if (to)
		sonde_perfetto_arg_uint(perfetto, sonde_args_own(&perfetto->annotations.args, "ended_by", own),
					to->tid);
	else
		sonde_perfetto_arg_bool(perfetto, sonde_args_own(&perfetto->annotations.args, "unfinished", own), 1);
	sonde_perfetto_args(perfetto);
	sonde_perfetto_end(perfetto, NULL);
	sonde_perfetto_close(perfetto, track, end_ns > span->begin->event->time ? end_ns : span->begin->event->time,
			     NULL);
	if (span->end && span->end->thread != span->begin->thread)
		put_handover(perfetto, span, name);
}

int sonde_perfetto_spans(struct sonde_perfetto *perfetto)
{
	struct sonde_mark_span span;
	for (size_t at = 0; !perfetto->error &&
			    sonde_annotations_span(&perfetto->annotations, &perfetto->options->selection, &at, &span);)
		put_span(perfetto, &span);
	return perfetto->error;
}
