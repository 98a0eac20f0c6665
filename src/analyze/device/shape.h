/* shape.h: how much of a device a launch configuration can use at most: of its units, and of the lanes of its
 * warps. Both are modelled from sizes alone, and say nothing about what was there.
 *
 * Blocks run in waves: as many at once as all units have room for. The last one may be part of a wave, and with fewer
 * blocks than units some units have none (CUDA C++ Best Practices Guide, "Thread and Block Heuristics").
 */
#ifndef SONDE_ANALYZE_DEVICE_SHAPE_H
#define SONDE_ANALYZE_DEVICE_SHAPE_H

#include "session/session.h"

/* The share of the places for blocks that is taken, over all waves: 1 = every wave is full. NULL, or why it is not
 * known: then `out` is as it was. */
const char *sonde_device_filled(double *out, const struct sonde_device *device,
				const struct sonde_operation *operation);
/* The share of the lanes of a block's warps that have a thread: 1 = a block is a multiple of the warp. */
const char *sonde_device_lanes(double *out, const struct sonde_device *device, const struct sonde_operation *operation);

#endif
