/* energy_model.h: models the power of a machine without a meter: processor family × utilisation. Never a measurement.
 */
#ifndef SONDE_SOURCE_RESOURCE_ENERGY_MODEL_H
#define SONDE_SOURCE_RESOURCE_ENERGY_MODEL_H

#include <stdint.h>

struct sonde_energy_range {
	uint32_t low_mw, middle_mw, high_mw;
};

/* Power per hardware thread, which includes its share of the whole server's power. The model is linear between idle and
 * full load. */
struct sonde_energy_model {
	char name[64];
	struct sonde_energy_range idle, full;
	int is_generic; /* not in the table: values of all servers since 2012 */
	int is_virtual; /* a virtual machine: only its own CPUs are visible */
	unsigned cpus;  /* number of online CPUs */
};

/* Uses /proc/cpuinfo under `root` ("" = this machine's). Always finds a model. */
void sonde_energy_model_find(struct sonde_energy_model *out, const char *root);

#endif
