/* missing.h: what is missing from a recording, so that exports report it like reports do. */
#ifndef SONDE_EXPORT_MISSING_H
#define SONDE_EXPORT_MISSING_H

#include <stdint.h>

#include "session/session.h"

struct sonde_missing {
	uint64_t lost;      /* number of lost records, of all sources */
	uint64_t damaged_b; /* bytes that could not be read so far */
	uint64_t skipped;   /* chunks that are invalid, or of a newer format */
	int cut;            /* the file is incomplete, and no longer growing */
};

static inline struct sonde_missing sonde_missing_of(const struct sonde_session *session)
{
	const struct sonde_run *run = sonde_session_run(session);
	struct sonde_missing missing = {.damaged_b = sonde_session_damaged_b(session),
					.skipped = run->skipped_chunks,
					.cut = !run->closed && !run->growing};
	for (size_t i = 0; i < sonde_session_lost_count(session); i++)
		if (__builtin_add_overflow(missing.lost, sonde_session_lost(session, i)->count, &missing.lost))
			missing.lost = UINT64_MAX;
	return missing;
}

#endif
