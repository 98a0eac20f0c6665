/* annotations.h: zones and spans with the events that belong to them, which are collected before any zone or span is
 * written.
 *
 * Zones and events are in different chunks, so the events that belong to a zone (arguments, work, its dynamic name) are
 * read first, sorted by thread and time, and handed to each zone as it is written. Spans may begin and end in different
 * threads: their events are sorted by process, id and time. At most SONDE_ANNOTATIONS_MAX are kept; the others are
 * counted.
 */
#ifndef SONDE_EXPORT_ANNOTATIONS_H
#define SONDE_EXPORT_ANNOTATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "export/args.h"
#include "session/session.h"
#include "util/arena.h"

#define SONDE_ANNOTATIONS_MAX ((size_t)2 << 20)

struct sonde_mark {
	uint32_t process, thread;
	uint64_t span; /* id of the span; 0 = a mark of a zone */
	size_t below;  /* index + 1 of the mark below this one on the thread's stack of waiting marks; 0 = none */
	const struct sonde_event *event; /* a copy */
};

/* Progress within a thread. */
struct sonde_annotations_thread {
	size_t next, end; /* marks not yet passed */
	size_t waiting;   /* index + 1 of the top of the stack of marks that wait for their zone; 0 = none */
};

struct sonde_annotations {
	struct sonde_arena arena;
	struct sonde_mark *zones; /* by thread, time */
	struct sonde_mark *spans; /* by process, span, time */
	size_t zone_count, zone_cap, span_count, span_cap;
	size_t dropped;
	uint64_t unbegun;                         /* ends of spans without a begin, among the spans that were read */
	struct sonde_args args;                   /* of the last zone or span */
	struct sonde_annotations_thread *threads; /* by thread id */
	size_t thread_count;
};

int sonde_annotations_read(struct sonde_annotations *annotations, struct sonde_session *session);
void sonde_annotations_fini(struct sonde_annotations *annotations);

struct sonde_mark_zone {
	uint32_t thread, site, depth;
	uint64_t start_ns, end_ns, self_ns;
	int is_unfinished, is_wanted;  /* annotations->args are filled only if wanted */
	char name[SONDE_TRACK_TEXT_B]; /* name given at run time; "" = the site's name applies */
};

/* Gives a zone of a batch its marks. Call it for all zones, wanted or not: the zones of a thread come in the order in
 * which they end, so an inner zone takes its own marks before the enclosing zones take theirs. */
void sonde_annotations_zone(struct sonde_annotations *annotations, const struct sonde_selection *selection,
			    const struct sonde_batch *batch, size_t i, struct sonde_mark_zone *out);

struct sonde_mark_span {
	const struct sonde_mark *begin, *end; /* end NULL: still open at the end of the recording */
};

/* Finds the next wanted span from row *at of `spans` on, and fills annotations->args; 0 at the end. */
int sonde_annotations_span(struct sonde_annotations *annotations, const struct sonde_selection *selection, size_t *at,
			   struct sonde_mark_span *out);

/* The name of a site; "(unnamed)" if it has none. */
const char *sonde_annotations_site(const struct sonde_session *session, uint32_t site);

#endif
