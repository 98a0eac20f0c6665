/* shape.c: how much of a GPU a launch configuration can use (device/shape.h). */
#include "analyze/device/shape.h"

#include <math.h>
#include <stddef.h>

#include "analyze/device/occupancy.h"

/* Product of the three sizes; 0 = unknown. */
static double product(const uint32_t size[3])
{
	return (double)size[0] * (size[0] && size[1] ? size[1] : 1) * (size[0] && size[2] ? size[2] : 1);
}

const char *sonde_device_filled(double *out, const struct sonde_device *device, const struct sonde_operation *operation)
{
	struct sonde_device_occupancy occupancy;
	if (!device || !device->units)
		return "the GPU's number of units is unknown";
	double units = device->units, blocks = product(operation->grid);
	if (!operation->block[0] || !(blocks > 0)) /* if the block size is unknown, the grid counts threads */
		return "its number of blocks is unknown";
	if (blocks <= units) {
		*out = blocks / units;
		return NULL;
	}
	if (sonde_device_occupancy(&occupancy, device, operation))
		return "the number of blocks that fit in a unit is unknown";
	double capacity = fmin(units * occupancy.blocks, ceil(blocks / units) * units);
	double waves = blocks / capacity;
	*out = waves / ceil(waves);
	return NULL;
}

const char *sonde_device_lanes(double *out, const struct sonde_device *device, const struct sonde_operation *operation)
{
	if (!device || !device->warp)
		return "the warp size is unknown";
	double threads = product(operation->block), warp = device->warp;
	if (!(threads > 0))
		return "its block size is unknown";
	*out = threads / (ceil(threads / warp) * warp);
	return NULL;
}
