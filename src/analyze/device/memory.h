/* memory.h: what was allocated of devices' memory, when, and when it was given back.
 *
 * A block lives from the end of the call that allocated it to the beginning of the one that gave it back; which one
 * that was its address says, within its process. The device is the one that the operation names, else that of the call's
 * queue; of a call without both, the only device that its process told of; else it is not known (0).
 */
#ifndef SONDE_ANALYZE_DEVICE_MEMORY_H
#define SONDE_ANALYZE_DEVICE_MEMORY_H

#include "analyze/device/times.h"

struct sonde_device_block {
	uint64_t begun_ns, ended_ns; /* UINT64_MAX = was not given back */
	uint64_t size_b, address;
	uint32_t process, operation, device;
	uint8_t kind; /* enum sonde_memory_kind of device.h */
};

struct sonde_device_blocks {
	struct sonde_device_block *all; /* by device, the host's kinds of memory behind the device's, kind, begin */
	size_t count;
	uint64_t unknown_frees; /* of what was not seen to be allocated */
	uint64_t unsized;       /* allocations without a size or an address: left out */
};

/* Of sorted times. -ENOMEM. */
int sonde_device_blocks_read(struct sonde_device_blocks *out, const struct sonde_device_times *times);
/* What pools have in reserve, as if each size that one has had were a block: until it had another. */
int sonde_device_pools_read(struct sonde_device_blocks *out, const struct sonde_device_times *times);
void sonde_device_blocks_fini(struct sonde_device_blocks *blocks);

struct sonde_device_peak {
	uint64_t peak_b, peak_ns; /* in the window; the first time that it was so much */
	uint64_t begun, begun_b;  /* allocated in the window */
	uint64_t end, end_b;      /* alive at its end */
};

/* -ENOMEM. */
int sonde_device_peak_of(struct sonde_device_peak *out, const struct sonde_device_block *blocks, size_t count,
			 const struct sonde_window *window);
int sonde_device_block_lives(const struct sonde_device_block *block, uint64_t at_ns);

#endif
