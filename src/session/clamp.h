/* clamp.h: clears references to rows that do not exist. */
#ifndef SONDE_SESSION_CLAMP_H
#define SONDE_SESSION_CLAMP_H

struct sonde_session;

/* Sets references to nonexistent rows to 0 in all tables, so that callers can follow ids unchecked. Call it after each
 * load. */
void sonde_session_clamp(struct sonde_session *session);

#endif
