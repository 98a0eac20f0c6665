/* occupancy.h: theoretical occupancy: which share of the warps that a unit (SM) has room for a kernel can have
 * there at once, from its launch configuration and the device's limits.
 *
 * The definition is that of the CUDA C++ Programming Guide (Multiprocessor Level, "Occupancy Calculation") with the
 * allocation units of its table of compute capabilities from 3.0 on: blocks that fit a unit = the least of what warps,
 * blocks, registers and shared memory have room for; occupancy = blocks · warps of a block ÷ warps of a unit.
 * Registers are allocated by the warp, 256 at a time, in each of the four parts of a unit (two of 6.0); shared memory
 * 256 bytes at a time, from 8.0 on 128, of which the system then keeps 1 KiB a block, also of one that uses none. Where
 * the compute capability is not known it is 128 bytes and none. What barriers and clusters limit is left out.
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
