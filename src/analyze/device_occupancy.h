/* device_occupancy.h: theoretical occupancy: which share of the warps that a unit (SM) has room for a kernel can have
 * there at once, from its launch configuration and the device's limits.
 *
 * The definition is that of the CUDA C++ Programming Guide (Multiprocessor Level, "Occupancy Calculation") with the
 * allocation units of its table of compute capabilities from 3.0 on: blocks that fit a unit = the least of what warps,
 * blocks, registers and shared memory have room for; occupancy = blocks · warps of a block ÷ warps of a unit.
 * Registers are allocated by the warp, 256 at a time, in each of the four parts of a unit; shared memory 128 bytes at a
 * time. What newer devices keep of shared memory for themselves (1 KiB a block) is not known here and left out, so
 * where shared memory limits, occupancy may be lower than this.
 */
#ifndef SONDE_ANALYZE_DEVICE_OCCUPANCY_H
#define SONDE_ANALYZE_DEVICE_OCCUPANCY_H

#include "session/session.h"

struct sonde_device_occupancy {
	double share;           /* of the warps of a unit */
	uint32_t blocks;        /* on a unit at once */
	const char *limited_by; /* "warps", "blocks", "registers", "shared memory": the first that has the least room */
};

/* NULL, or why it is not known: then `out` is as it was. */
const char *sonde_device_occupancy(struct sonde_device_occupancy *out, const struct sonde_device *device,
				   const struct sonde_operation *operation);

#endif
