/* memory.h: allocations of GPU memory: when they were made and freed.
 *
 * A block lives from the end of the call that allocated it to the start of the call that freed it; the two calls are
 * matched by address within the process. A block's device is the device that the operation names, else the device of
 * the call's queue, else the only device of the process; otherwise, it is unknown (0).
 */
#ifndef SONDE_ANALYZE_DEVICE_MEMORY_H
#define SONDE_ANALYZE_DEVICE_MEMORY_H

#include "analyze/device/times.h"

struct sonde_device_block {
	uint64_t begun_ns, ended_ns; /* UINT64_MAX = not freed */
	uint64_t size_b, address;
	uint32_t process, operation, device;
	uint8_t kind; /* enum sonde_memory_kind of device.h */
};

struct sonde_device_blocks {
	struct sonde_device_block *all; /* sorted by device, device memory before host memory, kind, start */
	size_t count;
	uint64_t unknown_frees; /* frees without a recorded allocation */
	uint64_t unsized;       /* allocations without a size or an address: left out */
};

/* `times` must be sorted. -ENOMEM. */
int sonde_device_blocks_read(struct sonde_device_blocks *out, const struct sonde_device_times *times);
/* Reads the sizes of memory pools: each size that a pool has reserved counts as one block until the size changes. */
int sonde_device_pools_read(struct sonde_device_blocks *out, const struct sonde_device_times *times);
void sonde_device_blocks_fini(struct sonde_device_blocks *blocks);

struct sonde_device_peak {
	uint64_t peak_b, peak_ns; /* maximum within the window, and when it was first reached */
	uint64_t begun, begun_b;  /* allocated in the window */
	uint64_t end, end_b;      /* live at the end of the window */
};

/* Computes the figures of `count` blocks. -ENOMEM. */
int sonde_device_peak_of(struct sonde_device_peak *out, const struct sonde_device_block *blocks, size_t count,
			 const struct sonde_window *window);
int sonde_device_block_lives(const struct sonde_device_block *block, uint64_t at_ns);

#endif
