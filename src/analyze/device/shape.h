/* shape.h: how much of a GPU a launch configuration can use at most: of its units, and of the lanes of its warps. Both
 * are modelled from sizes alone, not measured.
 *
 * Blocks run in waves: as many at once as all units can hold. The last wave may be partial, and with fewer blocks than
 * units some units are idle (CUDA C++ Best Practices Guide, "Thread and Block Heuristics").
 */
#ifndef SONDE_ANALYZE_DEVICE_SHAPE_H
#define SONDE_ANALYZE_DEVICE_SHAPE_H

#include "session/session.h"

/* Fraction of block slots filled, over all waves: 1 = every wave is full. Returns NULL, or why it is unknown: then
 * `out` is unchanged. */
const char *sonde_device_filled(double *out, const struct sonde_device *device,
				const struct sonde_operation *operation);
/* Fraction of the lanes of a block's warps that have a thread: 1 = the block size is a multiple of the warp size. */
const char *sonde_device_lanes(double *out, const struct sonde_device *device, const struct sonde_operation *operation);

#endif
