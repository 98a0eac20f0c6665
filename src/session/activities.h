/* activities.h: decodes ACTIVITIES chunks. */
#ifndef SONDE_SESSION_ACTIVITIES_H
#define SONDE_SESSION_ACTIVITIES_H

#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

struct sonde_chunk_data;

#define SONDE_ACTIVITIES_ROW_B (7 * sizeof(uint64_t) + 3 * sizeof(uint32_t)) /* of `memory` below */

/* Fills the columns of a batch with those of a chunk; `memory` has SONDE_ACTIVITIES_ROW_B for each of its rows. Ids
 * that `session` has not become 0. 0 or -EBADMSG. */
int sonde_activities_decode(struct sonde_batch *batch, const struct sonde_chunk_data *data,
			    const struct sonde_session *session, void *memory);

#endif
