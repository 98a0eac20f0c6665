/* parts.h: the recordings that a merged one is made of, for the files of this folder. */
#ifndef SONDE_SESSION_PARTS_H
#define SONDE_SESSION_PARTS_H

struct sonde_session;

/* After the run is settled: reads the parts from the INFO records. -ENOMEM. */
int sonde_parts_settle(struct sonde_session *session);

#endif
