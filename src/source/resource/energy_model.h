/* energy_model.h: what a machine without a meter draws, modelled: processor family × utilisation. Never a measurement.
 */
#ifndef SONDE_SOURCE_RESOURCE_ENERGY_MODEL_H
#define SONDE_SOURCE_RESOURCE_ENERGY_MODEL_H

#include <stdint.h>

struct sonde_energy_range {
	uint32_t low_mw, middle_mw, high_mw;
};

/* Of one hardware thread, its part of the whole server included; between idle and full the model is a straight line. */
struct sonde_energy_model {
	char name[64];
	struct sonde_energy_range idle, full;
	int is_generic; /* the processor is not in the table: of all servers since 2012 */
	int is_virtual; /* a virtual machine: only its own CPUs are seen */
	unsigned cpus;  /* online */
};

/* By /proc/cpuinfo under `root` ("" = this machine's). Always finds one. */
void sonde_energy_model_find(struct sonde_energy_model *out, const char *root);

#endif
