/* zones.h: ZONES chunks into whole zones. */
#ifndef SONDE_SESSION_ZONE_ZONES_H
#define SONDE_SESSION_ZONE_ZONES_H

#include <stddef.h>
#include <stdint.h>

#include "fold/pair.h"
#include "session/session.h"
#include "util/buf.h"

struct sonde_chunk_data;

/* What a thread had open when its newest chunk ended. */
struct sonde_zones_tail {
	uint32_t process;
	uint32_t depth;
	uint64_t last_ns; /* of the thread's last event */
	struct sonde_pair_frame *frames;
};

/* Columns that a batch points to, and what is open. Zeroed it is empty; the maxima are set by whoever owns it. */
struct sonde_zones {
	uint32_t site_max;
	uint32_t thread_max;
	struct sonde_buf rows; /* the batch's columns */
	struct sonde_pair pair;
	uint32_t *open;                 /* by site: how many are open */
	struct sonde_zones_tail *tails; /* by thread */
	size_t tail_frames;
};

int sonde_zones_init(struct sonde_zones *zones, uint32_t site_max, uint32_t thread_max);
void sonde_zones_fini(struct sonde_zones *zones);

/* The zones that ended in a chunk; the batch's thread (≤ thread_max) and process are set already. */
int sonde_zones_decode(struct sonde_zones *zones, const struct sonde_chunk_data *data, struct sonde_batch *batch);

/* There is a newer chunk of this thread, which another cursor decodes or nobody can: forgets what was open. */
void sonde_zones_superseded(struct sonde_zones *zones, uint32_t thread);

/* The zones that a thread left open, as if they had ended at end_ns (0: at the thread's last event); 0 when there are
 * none. */
int sonde_zones_unfinished(struct sonde_zones *zones, uint32_t thread, uint64_t end_ns, struct sonde_batch *batch);

#endif
