/* zones.h: decodes ZONES chunks into complete zones. */
#ifndef SONDE_SESSION_ZONE_ZONES_H
#define SONDE_SESSION_ZONE_ZONES_H

#include <stddef.h>
#include <stdint.h>

#include "fold/pair.h"
#include "session/session.h"
#include "util/buf.h"

struct sonde_chunk_data;

/* The zones that a thread had open at the end of its newest chunk. */
struct sonde_zones_tail {
	uint32_t process;
	uint32_t depth;
	uint64_t last_ns; /* time of the thread's last event */
	struct sonde_pair_frame *frames;
};

/* Column storage of a batch, and the open zones. Zeroed: empty; the owner sets the maxima. */
struct sonde_zones {
	uint32_t site_max;
	uint32_t thread_max;
	struct sonde_buf rows; /* the batch's columns */
	struct sonde_pair pair;
	uint32_t *open;                 /* by site: number of open zones */
	struct sonde_zones_tail *tails; /* by thread */
	size_t tail_frames;
};

int sonde_zones_init(struct sonde_zones *zones, uint32_t site_max, uint32_t thread_max);
void sonde_zones_fini(struct sonde_zones *zones);

/* Decodes the zones that ended in a chunk; the batch's thread (≤ thread_max) and process are already set. */
int sonde_zones_decode(struct sonde_zones *zones, const struct sonde_chunk_data *data, struct sonde_batch *batch);

/* Discards the thread's open zones because it has a newer chunk, which another cursor decodes or which is
 * unreadable. */
void sonde_zones_superseded(struct sonde_zones *zones, uint32_t thread);

/* Delivers the zones that a thread left open as ending at end_ns (0: at its last event); 0 = none. */
int sonde_zones_unfinished(struct sonde_zones *zones, uint32_t thread, uint64_t end_ns, struct sonde_batch *batch);

#endif
