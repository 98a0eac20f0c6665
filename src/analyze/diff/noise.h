/* noise.h: how much of a run's time may be due to other programs or a hypervisor. */
#ifndef SONDE_ANALYZE_DIFF_NOISE_H
#define SONDE_ANALYZE_DIFF_NOISE_H

#include "session/session.h"

/* The share of the time in which its threads ran or wanted to, 0 to 1; 0 also where it is not known. 0 or a negative
 * errno with a sentence. */
int sonde_diff_noise(double *out, struct sonde_session *session);

#endif
