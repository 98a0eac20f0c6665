/* occupancy.c: computes theoretical occupancy (device/occupancy.h). */
#include "analyze/device/occupancy.h"

#include <stddef.h>

enum { REGISTERS_AT_A_TIME = 256 };

/* Each row applies from its compute capability (major × 10 + minor) up to that of the next row; capability 0 =
 * unknown. */
static const struct unit {
	uint32_t capability;
	uint32_t parts;    /* partitions of the register file */
	uint32_t shared_b; /* allocation unit of shared memory */
	uint32_t kept_b;   /* shared memory that the system reserves per block */
} units[] = {{0, 4, 128, 0}, {10, 4, 256, 0}, {60, 2, 256, 0}, {61, 4, 256, 0}, {80, 4, 128, 1024}};

static const struct unit *unit_of(const struct sonde_device *device)
{
	size_t i = sizeof units / sizeof *units - 1;
	while (units[i].capability > device->capability)
		i--;
	return &units[i];
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t by_registers(const struct sonde_device *device, const struct sonde_operation *operation, uint64_t warps)
{
	uint64_t a_warp = round_up((uint64_t)operation->registers * device->warp, REGISTERS_AT_A_TIME);
	uint32_t parts = unit_of(device)->parts;
	return device->registers_unit / parts / a_warp * parts / warps;
}

/* Number of blocks per unit that the shared memory allows; UINT64_MAX = no limit. */
static uint64_t by_shared(const struct sonde_device *device, const struct sonde_operation *operation)
{
	const struct unit *unit = unit_of(device);
	uint64_t a_block = (uint64_t)operation->static_shared_b + operation->dynamic_shared_b + unit->kept_b;
	uint64_t unit_b = operation->shared_unit_b ? operation->shared_unit_b : device->shared_unit_b;
	return a_block && unit_b ? unit_b / round_up(a_block, unit->shared_b) : UINT64_MAX;
}

/* Threads per block; 0: unknown, or more than possible. */
static uint64_t threads_of(const struct sonde_operation *operation)
{
	uint64_t threads = 1;
	for (int i = 0; i < 3 && threads <= UINT32_MAX; i++)
		threads *= operation->block[i];
	return threads <= UINT32_MAX ? threads : 0;
}

static const char *what_is_missing(const struct sonde_device *device, const struct sonde_operation *operation)
{
	if (!device || !device->warp || !device->warps_unit || !device->blocks_unit || !device->registers_unit)
		return "the GPU's limits are unknown";
	if (!threads_of(operation))
		return "its block size is unknown";
	if (!operation->registers)
		return "its registers are unknown";
	if ((operation->static_shared_b || operation->dynamic_shared_b) && !operation->shared_unit_b &&
	    !device->shared_unit_b)
		return "the GPU's shared memory is unknown";
	return NULL;
}

const char *sonde_device_occupancy(struct sonde_device_occupancy *out, const struct sonde_device *device,
				   const struct sonde_operation *operation)
{
	const char *why = what_is_missing(device, operation);
	if (why)
		return why;
	uint64_t warps = (threads_of(operation) + device->warp - 1) / device->warp;
	const struct {
		uint64_t blocks;
		const char *word;
	} limits[] = {{device->warps_unit / warps, "warps"},
		      {device->blocks_unit, "blocks"},
		      {by_registers(device, operation, warps), "registers"},
		      {by_shared(device, operation), "shared memory"}};
	size_t least = 0;
	for (size_t i = 1; i < sizeof limits / sizeof *limits; i++)
		least = limits[i].blocks < limits[least].blocks ? i : least;
	if (!limits[least].blocks)
		return "by its known limits the GPU cannot run even one block";
	*out = (struct sonde_device_occupancy){(double)(limits[least].blocks * warps) / device->warps_unit,
					       (uint32_t)limits[least].blocks, limits[least].word};
	return NULL;
}
