/* energy_sums.h: energy of a recording, measured or modelled: idle energy separately, the rest divided among processes
 * by CPU time.
 *
 * Time is divided into windows of a second or slightly more. In each window, the energy minus idle energy is
 * distributed over the processes in proportion to their shares of the system's busy CPU time, so that all shares and
 * idle energy add up to the total. Figures that are not measured have three values: low, likely and high.
 *
 * Idle power is unknown but bounded: it is at most the lowest power of any window. Its lower bound follows from the
 * line through two points, that window and the mean of all windows, if their utilisation differs. It also follows from
 * the maximum that a package could draw for the observed activity. The likely value is the midpoint.
 */
#ifndef SONDE_ANALYZE_RESOURCE_ENERGY_SUMS_H
#define SONDE_ANALYZE_RESOURCE_ENERGY_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/resource/energy_points.h"

#define SONDE_ENERGY_LEAST_NS 1000000000u    /* minimum length of a window, a run, a process's life */
#define SONDE_ENERGY_LEAST_CPU_NS 100000000u /* minimum CPU time of a process: ten ticks of /proc */

enum { SONDE_ENERGY_LOW, SONDE_ENERGY_LIKELY, SONDE_ENERGY_HIGH, SONDE_ENERGY_CASES };

/* One meter, summed over its series. */
struct sonde_energy_meter {
	const char *name;
	int is_package;
	double uj;
	uint64_t covered_ns, longest_ns, readings;
};

/* The parameters of the model; all zero if a meter was read. */
struct sonde_energy_fit {
	const char *name; /* processor family; NULL = meters were read */
	unsigned cpus;
	double idle_w[SONDE_ENERGY_CASES], full_w[SONDE_ENERGY_CASES]; /* per CPU */
	int is_generic, is_virtual;
};

struct sonde_energy_share {
	uint32_t process;
	double cpu_ns;
	uint64_t life_ns;
	int too_short;
	double uj[SONDE_ENERGY_CASES];
};

struct sonde_energy_sums {
	uint64_t from_ns, to_ns;
	struct sonde_energy_meter *meters;
	size_t meter_count, package_count;
	struct sonde_energy_meter *devices; /* GPUs, each separately: not part of any sum */
	size_t device_count;
	struct sonde_energy_fit fit;
	int is_known;  /* package energy or the model's is known; else see `why` */
	int has_clock; /* the system's CPU time was recorded, so there are shares */
	char why[256];
	double uj[SONDE_ENERGY_CASES], idle_uj[SONDE_ENERGY_CASES], idle_w[SONDE_ENERGY_CASES];
	double busy;                       /* mean utilisation, 0 … 1 */
	struct sonde_energy_share *shares; /* shares of processes with CPU time, largest first */
	size_t share_count;
	double remainder_uj[SONDE_ENERGY_CASES],
	    remainder_cpu_ns; /* other programs, and processes too short to measure */
};

int sonde_energy_sums_init(struct sonde_energy_sums *sums, const struct sonde_energy_points *points, uint64_t from_ns,
			   uint64_t to_ns);
void sonde_energy_sums_fini(struct sonde_energy_sums *sums);

#endif
