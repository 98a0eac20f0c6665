/* marks.c: collects events in any order and sorts them once all have been read. */
#include "analyze/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/error.h"

void sonde_marks_init(struct sonde_annotations *marks, struct sonde_session *session,
		      const struct sonde_pass_options *options, uint32_t types)
{
	*marks = (struct sonde_annotations){.session = session, .options = *options, .types = types};
}

void sonde_marks_end(void *state)
{
	struct sonde_annotations *marks = state;
	if (marks)
		free(marks->marks);
}

static int capacity(struct sonde_annotations *marks, size_t more)
{
	return SONDE_ARRAY_RESERVE(marks->marks, marks->cap, marks->count + more)
		   ? sonde_error(ENOMEM, "out of memory for %zu events", marks->count + more)
		   : 0;
}

int sonde_mark_read(struct sonde_mark *out, const struct sonde_event *event, const struct sonde_batch *batch)
{
	size_t size_b = (size_t)event->words * 8;
	*out = (struct sonde_mark){.time_ns = event->time,
				   .site = event->site,
				   .process = batch->process,
				   .thread = batch->thread,
				   .type = event->type};
	switch (event->type) {
	case SONDE_EVENT_COUNTER:
	case SONDE_EVENT_GAUGE:
	case SONDE_EVENT_ITERATION:
	case SONDE_EVENT_COUNT:
		if (size_b < sizeof(struct sonde_event_value))
			return 0;
		out->value = ((const struct sonde_event_value *)event)->value;
		return 1;
	case SONDE_EVENT_SPAN_BEGIN:
	case SONDE_EVENT_SPAN_END:
		if (size_b < sizeof(struct sonde_event_span))
			return 0;
		out->id = ((const struct sonde_event_span *)event)->id;
		return 1;
	default:
		return 0;
	}
}

int sonde_marks_feed(void *state, const struct sonde_batch *batch)
{
	struct sonde_annotations *marks = state;
	for (size_t i = 0; batch->type == SONDE_CHUNK_EVENTS && i < batch->count; i++) {
		const struct sonde_event *event = batch->events[i];
		struct sonde_mark mark;
		if (event->type >= 32 || !(marks->types & 1u << event->type) || !sonde_mark_read(&mark, event, batch))
			continue;
		if (!sonde_pass_takes(&marks->options, mark.time_ns, mark.thread))
			continue;
		int rc = capacity(marks, 1);
		if (rc < 0)
			return rc;
		marks->marks[marks->count++] = mark;
	}
	return 0;
}

int sonde_marks_merge(void *state, void *other_state)
{
	struct sonde_annotations *marks = state, *other = other_state;
	int rc = capacity(marks, other->count);
	if (rc < 0)
		return rc;
	if (other->count)
		memcpy(marks->marks + marks->count, other->marks, other->count * sizeof *other->marks);
	marks->count += other->count;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

void sonde_marks_sort_by_site(struct sonde_annotations *marks)
{
	if (marks->count)
		qsort(marks->marks, marks->count, sizeof *marks->marks, compare);
}

static int compare_threads(const void *left, const void *right)
{
	const struct sonde_mark *a = left, *b = right;
	if (a->site == b->site && a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return compare(left, right);
}

void sonde_marks_sort_by_thread(struct sonde_annotations *marks)
{
	if (marks->count)
		qsort(marks->marks, marks->count, sizeof *marks->marks, compare_threads);
}

int sonde_pass_nothing(const struct sonde_pass_options *options, struct sonde_report *report, const char *id,
		       const char *title, const char *why)
{
	if (!options->requested)
		return 0;
	struct sonde_section *section = sonde_report_table(report, id, title, NULL, 0);
	sonde_report_note(report, section, 1, "%s", why);
	return 0;
}

const char *sonde_pass_missing(const struct sonde_session *session, uint32_t kinds, struct sonde_report *report)
{
	char why[640];
	if (sonde_recorded_any(session, kinds, why, sizeof why) != SONDE_RECORDED_NOT)
		return NULL;
	const char *text = sonde_report_text(report, "%s", why);
	return text ? text : "not recorded";
}

int sonde_pass_note_missing(const char *missing, uint32_t kinds, struct sonde_report *report,
			    struct sonde_section *section)
{
	sonde_report_note(report, section, 1, "%s", missing);
	const char *option = sonde_recorded_option(kinds, missing);
	if (option)
		sonde_report_advise(report, section, SONDE_ACTION_RECORD, option);
	return 0;
}

const char *sonde_pass_untimed(const struct sonde_session *session)
{
	return sonde_session_info(session, "import.untimed") ? "unknown: imported from a file without times" : NULL;
}
