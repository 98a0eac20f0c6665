/* recorded.h: whether a kind of data was recorded fully, partly or not at all, so that an empty table is unambiguous.
 *
 * "No waits" is true only if waits were recorded; this module is the one place that decides it. A kind is recorded if
 * its source ran or the file has chunks of it. It is recorded in part if its source was limited or lost events, or if
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

/* A set of kinds, used in tables: SONDE_NEEDS(LOCKS) | SONDE_NEEDS(FILES). */
#define SONDE_NEEDS(name) (1u << SONDE_KIND_##name)
#define SONDE_EVERY_KIND ((1u << SONDE_KIND_COUNT) - 1)

enum sonde_recorded { SONDE_RECORDED_NOT, SONDE_RECORDED_IN_PART, SONDE_RECORDED };

/* The state of a set of kinds of which any one suffices: SONDE_RECORDED_NOT if none was recorded. `why` becomes "not
 * recorded: … (record with …)", "recorded in part: …", or "" if all were recorded. */
enum sonde_recorded sonde_recorded_any(const struct sonde_session *session, uint32_t kinds, char *why, size_t why_b);

/* The option of sonde record that a message from sonde_recorded_any() about these kinds names: "--heap", "sonde record
 * -- COMMAND"; NULL = none. Points into `why`. */
const char *sonde_recorded_option(uint32_t kinds, const char *why);

#endif
