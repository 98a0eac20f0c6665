/* noise.h: how much of a run's time may be due to other programs or a hypervisor. */
#ifndef SONDE_ANALYZE_DIFF_NOISE_H
#define SONDE_ANALYZE_DIFF_NOISE_H

#include "session/session.h"

/* *out is a share of the time in which the run's threads ran or were runnable, 0 to 1; 0 if unknown. Returns 0 or a
 * negative errno with a message. */
int sonde_diff_noise(double *out, struct sonde_session *session);

#endif
