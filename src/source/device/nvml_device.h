/* nvml_device.h: reads one GPU periodically through NVML.
 *
 * One thread. A value that the driver does not provide is requested only once; one that fails three times is not
 * requested again.
 */
#ifndef SONDE_SOURCE_DEVICE_NVML_DEVICE_H
#define SONDE_SOURCE_DEVICE_NVML_DEVICE_H

#include <stdint.h>
#include <sys/types.h>

#include "format/metric.h"
#include "source/device/nvml_library.h"

enum { SONDE_NVML_PROCESSES_MAX = 128, SONDE_NVML_ITEMS_MAX = 16 };

struct sonde_nvml_reading {
	uint64_t time_ns;
	int64_t value;
	enum sonde_metric metric;
	uint32_t device; /* index, from 0 */
	pid_t pid;       /* owning process; 0 = the whole GPU */
};

typedef void sonde_nvml_put(void *context, const struct sonde_nvml_reading *reading);

/* Our own total of a driver's counter, which may restart. */
struct sonde_nvml_total {
	uint64_t last, sum;
	int has_last;
};

struct sonde_nvml_item_state {
	int code; /* NVML code because of which the value is no longer requested; 0 = it still is */
	unsigned failures;
	int was_read;
};

struct sonde_nvml_device {
	const struct sonde_nvml_library *library;
	sonde_nvml_handle handle;
	uint32_t index;
	char name[SONDE_NVML_TEXT_B], uuid[SONDE_NVML_TEXT_B];
	int lost_code; /* NVML code with which the GPU was lost; 0 = it was not lost */
	uint64_t lost_ns;
	struct sonde_nvml_item_state items[SONDE_NVML_ITEMS_MAX];
	struct sonde_nvml_total energy_mj, pcie[2], nvlink[2]; /* received, sent */
	int has_pcie, has_gpm_pcie;                            /* PCIe bytes: from driver counters; from GPM */
	uint64_t reasons, reasons_ns;                          /* at the last reading */
	struct sonde_nvml_slow {
		uint64_t sum_ns;
		int is_told;
	} slow[4];
	sonde_nvml_gpm_take takes[2];
	unsigned take_at; /* index of the next one */
	uint64_t take_ns; /* time of the last one; 0 = none */
	double gpm_sums[6];
	pid_t pids[SONDE_NVML_PROCESSES_MAX];
	unsigned pid_count;
	sonde_nvml_put *put;
	void *context;
};

enum sonde_nvml_what { SONDE_NVML_ENERGY_ONLY, SONDE_NVML_ALL };

/* Returns an NVML code. */
int sonde_nvml_device_open(struct sonde_nvml_device *device, const struct sonde_nvml_library *library, uint32_t index);
void sonde_nvml_device_close(struct sonde_nvml_device *device);

/* `is_detailed`: include values that change seldom or cost more. */
void sonde_nvml_device_read(struct sonde_nvml_device *device, enum sonde_nvml_what what, int is_detailed);

/* Lists the unavailable values, and why: "power, energy (not supported)"; returns the length. `what` as passed to
 * read(). */
size_t sonde_nvml_device_missing(const struct sonde_nvml_device *device, enum sonde_nvml_what what, char *out,
				 size_t out_b);

#endif
