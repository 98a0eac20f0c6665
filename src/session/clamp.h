/* clamp.h: ids that name nothing. */
#ifndef SONDE_SESSION_CLAMP_H
#define SONDE_SESSION_CLAMP_H

struct sonde_session;

/* Sets references to rows that never came to 0, in all tables: whoever follows an id need not check it. Again after
 * each load. */
void sonde_session_clamp(struct sonde_session *session);

#endif
