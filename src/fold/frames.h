/* frames.h: the open zones of a thread (pair.h) in memory that grows to as many as a chunk's summary may name.
 *
 * The first few lie in the struct itself, which serves nearly every thread; more are mapped when they are needed, never
 * allocated. Zeroed memory is a thread with nothing open. One thread at a time.
 */
#ifndef SONDE_FOLD_FRAMES_H
#define SONDE_FOLD_FRAMES_H

#include "fold/pair.h"

#define SONDE_FRAMES_FIRST 32u

struct sonde_frames {
	struct sonde_pair pair; /* .frames: NULL = nothing has been open, else `first` or mapped */
	struct sonde_pair_frame first[SONDE_FRAMES_FIRST];
};

/* Forgets what is open, and gives mapped memory back. */
void sonde_frames_clear(struct sonde_frames *frames);
/* `pair`, which is that of `frames` as it is now, with room for one more; without, when there are SONDE_ZONES_OPEN_MAX
 * or the system refuses memory. By value, so that callers can keep theirs in registers. */
struct sonde_pair sonde_frames_more(struct sonde_frames *frames, struct sonde_pair pair);

#endif
