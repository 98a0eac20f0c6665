/* machine.h: which machine this is, and how large its caches are. `root` is put before /proc and /sys ("" = here). */
#ifndef SONDE_ROOF_MACHINE_H
#define SONDE_ROOF_MACHINE_H

#include <stdint.h>

#include "roof/roof.h"

/* Sizes of the caches that data goes through on one CPU, and which CPUs share them. */
struct sonde_roof_caches {
	uint64_t size_b[SONDE_ROOF_DRAM];  /* L1 … L3; 0 = none, or not known */
	char shared[SONDE_ROOF_DRAM][512]; /* "0-7,16": the CPUs; "" = not known */
};

/* Fills in what the fingerprint is of, and the fingerprint. */
void sonde_roof_machine(struct sonde_roof *roof, const char *root);

void sonde_roof_caches(struct sonde_roof_caches *out, const char *root, unsigned cpu);

/* Whether a list such as "0-3,8" holds a CPU. */
int sonde_roof_list_has(const char *list, unsigned cpu);

/* Bytes that can be taken without pressing others: what is available, or what the cgroup leaves; 0 = not known. */
uint64_t sonde_roof_memory(const char *root);

#endif
