/* marks.h: events that belong to a zone or a span, collected before either is written.
 *
 * Zones and events are in different chunks, so what belongs to a zone (arguments, work, its dynamic name) is read
 * first, sorted by thread and time, and handed to each zone as it is written. Spans may begin and end in different
 * threads: their events are sorted by process, id and time. At most SONDE_MARKS_MAX are kept; the others are counted.
 */
#ifndef SONDE_EXPORT_MARKS_H
#define SONDE_EXPORT_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"
#include "util/arena.h"

#define SONDE_MARKS_MAX ((size_t)2 << 20)

struct sonde_mark {
	uint32_t process, thread;
	uint64_t span; /* id; 0 for marks of zones */
	size_t below;  /* the previous mark on the stack of those waiting for their zone, + 1; 0 = none */
	const struct sonde_event *event; /* a copy */
};

/* Progress within a thread. */
struct sonde_marks_thread {
	size_t next, end; /* marks not yet passed */
	size_t waiting;   /* the newest that was passed and not taken yet, + 1; 0 = none */
};

struct sonde_marks {
	struct sonde_arena arena;
	struct sonde_mark *zones; /* by thread, time */
	struct sonde_mark *spans; /* by process, span, time */
	size_t zone_count, zone_cap, span_count, span_cap;
	size_t dropped;
	struct sonde_marks_thread *threads; /* by thread id */
	size_t thread_count;
};

int sonde_marks_read(struct sonde_marks *marks, struct sonde_session *session);
void sonde_marks_fini(struct sonde_marks *marks);

/* The next mark of a zone, newest first; NULL after the last. The zones of a thread come in the order in which they
 * end, so the innermost zone takes its own marks before the enclosing ones. */
const struct sonde_mark *sonde_marks_take(struct sonde_marks *marks, uint32_t thread, uint64_t start_ns,
					  uint64_t end_ns);

#endif
