/* energy_perf.h: the kernel's energy events (perf's power/energy-pkg/), if /sys/class/powercap has no counters. */
#ifndef SONDE_SOURCE_RESOURCE_ENERGY_PERF_H
#define SONDE_SOURCE_RESOURCE_ENERGY_PERF_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_ENERGY_PERF_MAX 64u

/* How to open the event, from the files of its device. */
struct sonde_energy_perf_shape {
	uint32_t type;
	uint64_t config;
	double scale_j;                  /* joules per count */
	int cpus[SONDE_ENERGY_PERF_MAX]; /* one per package */
	size_t cpu_count;
};

struct sonde_energy_perf {
	struct {
		int fd;
		char name[48]; /* "package-0" */
	} packages[SONDE_ENERGY_PERF_MAX];
	size_t count;
	double scale_j;
};

/* Reads how to open the event. 0; -ENOENT if the kernel has no such event; -EINVAL if its files are not understood. */
int sonde_energy_perf_shape(struct sonde_energy_perf_shape *out, const char *root);

/* Opens the events. 0, or a negative errno, with a sentence in `why` that says what is missing and the smallest
 * remedy. */
int sonde_energy_perf_open(struct sonde_energy_perf *out, const char *root, char *why, size_t why_b);
void sonde_energy_perf_close(struct sonde_energy_perf *perf);

/* The energy in µJ that event `i` has counted since it was opened; −1 if it cannot be read. The kernel handles counter
 * wrap-around. */
int64_t sonde_energy_perf_read_uj(const struct sonde_energy_perf *perf, size_t i);

#endif
