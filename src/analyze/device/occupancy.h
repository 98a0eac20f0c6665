/* occupancy.h: theoretical occupancy: the fraction of a unit's (SM's) warp slots that a kernel can fill, from its
 * launch configuration and the device's limits.
 *
 * The definition is that of the CUDA C++ Programming Guide (Multiprocessor Level, "Occupancy Calculation") with the
 * allocation units of its table of compute capabilities from 3.0 on: blocks per unit = the minimum over the limits of
 * warps, blocks, registers and shared memory; occupancy = blocks · warps per block ÷ warps per unit. Registers are
 * allocated per warp, 256 at a time, in each of the four partitions of a unit (two for 6.0). Shared memory is allocated
 * 256 bytes at a time, from 8.0 on 128 bytes; from 8.0 on, the system also reserves 1 KiB of it per block, even if the
 * block uses none. If the compute capability is unknown, 128 bytes and no reservation are assumed. Limits from barriers
 * and clusters are ignored.
 */
#ifndef SONDE_ANALYZE_DEVICE_OCCUPANCY_H
#define SONDE_ANALYZE_DEVICE_OCCUPANCY_H

#include "session/session.h"

struct sonde_device_occupancy {
	double share;           /* fraction of the unit's warps */
	uint32_t blocks;        /* per unit at once */
	const char *limited_by; /* "warps", "blocks", "registers", "shared memory": the first of the tightest limits */
};

/* NULL, or why it is unknown: then `out` is unchanged. */
const char *sonde_device_occupancy(struct sonde_device_occupancy *out, const struct sonde_device *device,
				   const struct sonde_operation *operation);

#endif
