/* flop_counted.h: FLOP of the whole run from hardware counters (sonde record --flop), or why there are none. */
#ifndef SONDE_ANALYZE_WORK_FLOP_COUNTED_H
#define SONDE_ANALYZE_WORK_FLOP_COUNTED_H

#include "report/report.h"
#include "session/session.h"

struct sonde_flop_counted {
	int is_known;
	double flop;     /* of all commands, without unreadable parts of the file */
	const char *why; /* why it is unknown, valid as long as the session; NULL = not requested */
};

/* Reads the counted FLOP. Returns 0, or -ENOMEM. */
int sonde_flop_counted_read(struct sonde_flop_counted *out, struct sonde_session *session);

/* Adds a note to a section about work: the counted FLOP, and which part of them is explained by the reported work,
 * `known` (in FLOP); or why nothing was counted. Adds no note if counting was not requested. With `section` NULL, the
 * note belongs to the report. */
void sonde_flop_counted_note(const struct sonde_flop_counted *counted, double known, struct sonde_report *report,
			     struct sonde_section *section);

#endif
