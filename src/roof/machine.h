/* machine.h: identifies the machine and its cache sizes. `root` is prepended to /proc and /sys ("" = this machine). */
#ifndef SONDE_ROOF_MACHINE_H
#define SONDE_ROOF_MACHINE_H

#include <stdint.h>

#include "roof/roof.h"

/* Sizes of one CPU's data caches, and the CPUs that share them. */
struct sonde_roof_caches {
	uint64_t size_b[SONDE_ROOF_DRAM];  /* L1 … L3; 0 = none, or unknown */
	char shared[SONDE_ROOF_DRAM][512]; /* "0-7,16": the CPUs; "" = unknown */
};

/* Fills in the fields that the fingerprint covers, and the fingerprint. */
void sonde_roof_machine(struct sonde_roof *roof, const char *root);

void sonde_roof_caches(struct sonde_roof_caches *out, const char *root, unsigned cpu);

/* True if a list such as "0-3,8" contains a CPU. */
int sonde_roof_list_has(const char *list, unsigned cpu);

/* Memory that can be used without pressure on other programs: available memory, limited by the cgroup; 0 = unknown. */
uint64_t sonde_roof_memory(const char *root);

#endif
