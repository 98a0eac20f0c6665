/* lacks.h: what is missing from a recording, so that exports report it like reports do. */
#ifndef SONDE_EXPORT_LACKS_H
#define SONDE_EXPORT_LACKS_H

#include <stdint.h>

#include "session/session.h"

struct sonde_lacks {
	uint64_t lost;      /* records, of all sources */
	uint64_t damaged_b; /* bytes that could not be read so far */
	uint64_t skipped;   /* chunks that are invalid, or of a newer format */
	int cut;            /* incomplete, and no longer growing */
};

static inline struct sonde_lacks sonde_lacks_of(const struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_lacks lacks = {.damaged_b = sonde_session_damaged_b(session),
				    .skipped = run->skipped_chunks,
				    .cut = !run->closed && !run->growing};
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		if (__builtin_add_overflow(lacks.lost, sonde_session_lost(session, i)->count, &lacks.lost))
			lacks.lost = UINT64_MAX;
	return lacks;
}

#endif
