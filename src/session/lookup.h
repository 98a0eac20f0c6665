/* lookup.h: resolves addresses without symbols in the recording from files on this machine. */
#ifndef SONDE_SESSION_LOOKUP_H
#define SONDE_SESSION_LOOKUP_H

struct sonde_session;

/* Resolves frames without locations; with options.debuginfod, those of unnamed functions as well. Frames that cannot be
 * resolved stay unchanged; the only error is -ENOMEM. */
int sonde_lookup_frames(struct sonde_session *session);

/* Closes the symbol tables; strings of the session's functions point into them. */
void sonde_lookup_fini(struct sonde_session *session);

#endif
