/* frames.h: the open zones of a thread (pair.h) in memory that grows to the most that a chunk's summary may list.
 *
 * The first few are stored in the struct itself, which suffices for nearly every thread; more are mapped on demand,
 * never allocated. Zeroed memory is a thread without open zones. One thread at a time.
 */
#ifndef SONDE_FOLD_FRAMES_H
#define SONDE_FOLD_FRAMES_H

#include "fold/pair.h"

#define SONDE_FRAMES_FIRST 32u

struct sonde_frames {
	struct sonde_pair pair; /* .frames: NULL = nothing was ever open, else `first` or mapped memory */
	struct sonde_pair_frame first[SONDE_FRAMES_FIRST];
};

/* Forgets all open zones and unmaps memory. */
void sonde_frames_clear(struct sonde_frames *frames);
/* Returns `pair`, the current state of `frames`, with capacity for one more; unchanged at SONDE_ZONES_OPEN_MAX or if
 * the system refuses memory. By value, so that callers can keep their copy in registers. */
struct sonde_pair sonde_frames_more(struct sonde_frames *frames, struct sonde_pair pair);

#endif
