/* recorded.h: whether a kind of data was recorded at all, wholly or in part: so that no table is empty for two reasons.
 *
 * "Nobody waited" is true only where waits were recorded; this module is the one place that says whether they were. A
 * kind is recorded if its source ran, or the file has chunks of it; in part if its source was limited or lost some, or
 * the recording is incomplete.
 */
#ifndef SONDE_SESSION_RECORDED_H
#define SONDE_SESSION_RECORDED_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

enum sonde_kind {
#define SONDE_KIND(name, types, source, what, how) SONDE_KIND_##name,
#include "session/recorded.def"
#undef SONDE_KIND
	SONDE_KIND_COUNT,
};

/* A set of kinds, for tables: SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES). */
#define SONDE_NEEDS(name) (1u << SONDE_KIND_##name)

enum sonde_recorded { SONDE_RECORDED_NOT, SONDE_RECORDED_IN_PART, SONDE_RECORDED };

/* Of a set of kinds of which any will do: SONDE_RECORDED_NOT if none of them was recorded. `why`: "not recorded: …
 * (record with …)", "recorded in part: …"; "" where all is there. */
enum sonde_recorded sonde_recorded_any(const struct sonde_session *session, uint32_t kinds, char *why, size_t why_b);

/* Which option of sonde record would have recorded one of the kinds, by a sentence of sonde_recorded_any() about them:
 * "--heap", "sonde record -- COMMAND"; NULL = the sentence names none. Part of the sentence. */
const char *sonde_recorded_option(uint32_t kinds, const char *why);

#endif
