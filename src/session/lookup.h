/* lookup.h: looks up, in the files of this machine, what a recording has no symbols for. */
#ifndef SONDE_SESSION_LOOKUP_H
#define SONDE_SESSION_LOOKUP_H

struct sonde_session;

/* Frames without locations, and with options.debuginfod also those of unnamed functions. What cannot be found is left
 * as it is; only -ENOMEM fails. */
int sonde_lookup_frames(struct sonde_session *session);

/* Closes the symbol tables, whose texts the session's functions use. */
void sonde_lookup_fini(struct sonde_session *session);

#endif
