/* weights.h: the waiting metrics of weigh.h. */
#ifndef SONDE_SESSION_WAIT_WEIGHTS_H
#define SONDE_SESSION_WAIT_WEIGHTS_H

#include "session/weigh.h"

/* Fills `out`, which must be zeroed; the caller frees it even after an error. */
int sonde_wait_weights_take(struct sonde_weights *out, struct sonde_session *session,
			    const struct sonde_weigh_view *view);

#endif
