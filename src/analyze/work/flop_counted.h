/* flop_counted.h: FLOP of a whole run by the processor's counters (sonde record --flop), or why there are none. */
#ifndef SONDE_ANALYZE_WORK_FLOP_COUNTED_H
#define SONDE_ANALYZE_WORK_FLOP_COUNTED_H

#include "report/report.h"
#include "session/session.h"

struct sonde_flop_counted {
	int is_known;
	double flop;     /* of all commands; what cannot be read of the file is not in it */
	const char *why; /* not known: why, as long as the session; NULL = nobody asked */
};

/* 0; -ENOMEM. */
int sonde_flop_counted_read(struct sonde_flop_counted *out, struct sonde_session *session);

/* A note under a section of work: what was counted and of how much of it, `known`, the work is told; or why nothing
 * was. None where nobody asked. `section` may be NULL: of the report. */
int sonde_flop_counted_note(const struct sonde_flop_counted *counted, double known, struct sonde_report *report,
			    struct sonde_section *section);

#endif
