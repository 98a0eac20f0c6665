/* machine_sums.h: the system around the processes: its disks and networks, and the utilisation of CPUs and memory. */
#ifndef SONDE_ANALYZE_RESOURCE_MACHINE_SUMS_H
#define SONDE_ANALYZE_RESOURCE_MACHINE_SUMS_H

#include "analyze/resource/series.h"

#define SONDE_MACHINE_OBJECTS_MAX 256

struct sonde_machine_object {
	const char *name;
	const struct sonde_series_sum *busy;     /* busy time of disks; NULL = unknown */
	const struct sonde_series_sum *in, *out; /* bytes read or received, written or sent; NULL = unknown */
	int is_stacked;                          /* its bytes also pass through other interfaces: not part of any sum */
};

enum sonde_machine_kind { SONDE_MACHINE_DISKS, SONDE_MACHINE_NETWORKS, SONDE_MACHINE_PCIE, SONDE_MACHINE_NVLINK };

/* The objects of a kind, at most SONDE_MACHINE_OBJECTS_MAX, in the order of the recording. */
size_t sonde_machine_objects(const struct sonde_series_sums *sums, enum sonde_machine_kind kind,
			     struct sonde_machine_object *out);

/* A total of time as a share of the time between its first and last reading; −1 = unknown. */
double sonde_machine_share(const struct sonde_series_sum *sum);
/* Increase of a total between its readings; 0 for NULL. */
double sonde_machine_change(const struct sonde_series_sum *sum);

/* Shares of the CPU time of all CPUs. */
struct sonde_machine_cpu {
	int known;
	double busy, iowait, stolen;
};

struct sonde_machine_cpu sonde_machine_cpu_of(const struct sonde_series_sums *sums);

/* Memory in use. */
struct sonde_machine_memory {
	int known;
	double mean, max, min; /* fractions of all_b */
	uint64_t all_b;
};

struct sonde_machine_memory sonde_machine_memory_of(const struct sonde_series_sums *sums);
/* The memory of the tightest control group with a limit below the machine's memory. */
struct sonde_machine_memory sonde_machine_group_memory_of(const struct sonde_series_sums *sums);

/* Number of CPUs of the machine; 0 = unknown. */
double sonde_machine_cores(const struct sonde_session *session);

#endif
