/* weights.h: the weights of weigh.h that are waiting. */
#ifndef SONDE_SESSION_WAIT_WEIGHTS_H
#define SONDE_SESSION_WAIT_WEIGHTS_H

#include "session/weigh.h"

/* Fills `out`, which is zeroed; after an error the caller still frees it. */
int sonde_wait_weights_take(struct sonde_weights *out, struct sonde_session *session,
			    const struct sonde_weigh_view *view);

#endif
