/* marks.h: collects events in any order and sorts them once all have been read: the state of passes whose events belong
 * together across chunks and threads (spans, iterations, gauges). */
#ifndef SONDE_ANALYZE_MARKS_H
#define SONDE_ANALYZE_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/pass.h"

struct sonde_mark {
	uint64_t time_ns;
	union {
		double value; /* COUNTER, GAUGE, ITERATION, COUNT */
		uint64_t id;  /* SPAN_BEGIN, SPAN_END */
	};
	uint32_t site, process, thread;
	uint16_t type; /* enum sonde_event_type */
};

struct sonde_annotations {
	struct sonde_session *session;
	struct sonde_pass_options options;
	uint32_t types; /* bits 1 << enum sonde_event_type */
	struct sonde_mark *marks;
	size_t count, cap;
};

void sonde_marks_init(struct sonde_annotations *marks, struct sonde_session *session,
		      const struct sonde_pass_options *options, uint32_t types);
int sonde_marks_feed(void *state, const struct sonde_batch *batch);
int sonde_marks_merge(void *state, void *other);
void sonde_marks_end(void *state);

/* Converts an event to a mark; 0 if the event is too short for its type, or of a type not listed above. */
int sonde_mark_read(struct sonde_mark *out, const struct sonde_event *event, const struct sonde_batch *batch);

/* By site, then time. */
void sonde_marks_sort_by_site(struct sonde_annotations *marks);
/* By site, then thread, then time. */
void sonde_marks_sort_by_thread(struct sonde_annotations *marks);

/* If the section was requested explicitly, adds it with a note that says why it is empty; otherwise does nothing. */
int sonde_pass_nothing(const struct sonde_pass_options *options, struct sonde_report *report, const char *id,
		       const char *title, const char *why);

/* "not recorded: … (record with …)" if none of these kinds was recorded (session/recorded.h), else NULL. In the
 * report's memory. */
const char *sonde_pass_missing(const struct sonde_session *session, uint32_t kinds, struct sonde_report *report);

/* Notes what sonde_pass_missing() returned, with the option that would record it as advice. */
int sonde_pass_note_missing(const char *missing, uint32_t kinds, struct sonde_report *report,
			    struct sonde_section *section);

/* Why times are unknown: the recording was imported from a file without times. NULL = they are known. Static text. */
const char *sonde_pass_untimed(const struct sonde_session *session);

#endif
