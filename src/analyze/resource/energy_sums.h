/* energy_sums.h: joules of a recording: by meter or by model, idle apart, and what is left by CPU time of processes.
 *
 * The time is cut into windows of a second or a little more. In each, the energy less what idling takes is divided by
 * the share that a process has of the CPU time that the machine was busy for; so all shares and idling make up the
 * energy. Figures that are no measurements come three times: as low, as likely, and as high as they may be.
 *
 * Idle power is not known, it is bounded: it is at most the lowest power of any window. How far below that it may be
 * is told by the straight line through that window and the mean of all, where utilisation differed, and by what a
 * package could draw at most for what the machine did then. Likely is the middle of both.
 */
#ifndef SONDE_ANALYZE_RESOURCE_ENERGY_SUMS_H
#define SONDE_ANALYZE_RESOURCE_ENERGY_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/resource/energy_points.h"

#define SONDE_ENERGY_LEAST_NS 1000000000u    /* of a window, a run, a process's life */
#define SONDE_ENERGY_LEAST_CPU_NS 100000000u /* CPU time of a process: ten ticks of /proc */

enum { SONDE_ENERGY_LOW, SONDE_ENERGY_LIKELY, SONDE_ENERGY_HIGH, SONDE_ENERGY_CASES };

/* One meter, of all its series. */
struct sonde_energy_meter {
	const char *name;
	int is_package;
	double uj;
	uint64_t covered_ns, longest_ns, readings;
};

/* Zero rows: of a meter. */
struct sonde_energy_fit {
	const char *name; /* the processor family; NULL = meters were read */
	unsigned cpus;
	double idle_w[SONDE_ENERGY_CASES], full_w[SONDE_ENERGY_CASES]; /* of a CPU */
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
	struct sonde_energy_meter *devices; /* of GPUs, each by itself: in no sum */
	size_t device_count;
	struct sonde_energy_fit fit;
	int is_known;  /* package energy, or the model's; else `why` */
	int has_clock; /* the machine's CPU time was recorded: there are shares */
	char why[256];
	double uj[SONDE_ENERGY_CASES], idle_uj[SONDE_ENERGY_CASES], idle_w[SONDE_ENERGY_CASES];
	double busy;                       /* mean utilisation, 0 … 1 */
	struct sonde_energy_share *shares; /* of processes with CPU time, the most first */
	size_t share_count;
	double rest_uj[SONDE_ENERGY_CASES], rest_cpu_ns; /* other programs, and processes too short to measure */
};

int sonde_energy_sums_init(struct sonde_energy_sums *sums, const struct sonde_energy_points *points, uint64_t from_ns,
			   uint64_t to_ns);
void sonde_energy_sums_fini(struct sonde_energy_sums *sums);

#endif
