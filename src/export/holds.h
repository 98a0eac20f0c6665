/* holds.h: when locks were released, and which release unblocked a call. */
#ifndef SONDE_EXPORT_HOLDS_H
#define SONDE_EXPORT_HOLDS_H

#include <stddef.h>
#include <stdint.h>

#include "export/format.h"
#include "session/session.h"

struct sonde_hold {
	uint64_t end_ns;
	uint32_t object, thread;
	uint32_t is_put; /* its slice has been written */
};

/* Empty if zeroed. 24 bytes per hold. */
struct sonde_holds {
	struct sonde_hold *rows;
	size_t count, cap;
};

/* Adds row i of WAITS if it is a hold; -ENOMEM. Call _sort after adding all. */
int sonde_holds_add(struct sonde_holds *holds, const struct sonde_batch *batch, size_t i);
void sonde_holds_sort(struct sonde_holds *holds);
void sonde_holds_fini(struct sonde_holds *holds);

/* Returns the hold whose end unblocked the call in row i of WAITS, borrowed; NULL if it is unknown or not selected. */
struct sonde_hold *sonde_holds_giver(const struct sonde_holds *holds, const struct sonde_session *session,
				     const struct sonde_format_options *options, const struct sonde_batch *batch,
				     size_t i);

#endif
