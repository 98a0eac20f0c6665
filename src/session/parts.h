/* parts.h: the parts of a merged recording; private to this folder. */
#ifndef SONDE_SESSION_PARTS_H
#define SONDE_SESSION_PARTS_H

struct sonde_session;

/* Reads the parts from the INFO records; call it after the run is settled. -ENOMEM. */
int sonde_parts_settle(struct sonde_session *session);

#endif
