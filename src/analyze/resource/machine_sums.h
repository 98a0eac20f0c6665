/* machine_sums.h: the machine around the processes: its disks and networks, and what share of its time or memory was
 * used.
 */
#ifndef SONDE_ANALYZE_RESOURCE_MACHINE_SUMS_H
#define SONDE_ANALYZE_RESOURCE_MACHINE_SUMS_H

#include "analyze/resource/series.h"

#define SONDE_MACHINE_OBJECTS_MAX 256

struct sonde_machine_object {
	const char *name;
	const struct sonde_series_sum *busy;     /* of disks; NULL = not known */
	const struct sonde_series_sum *in, *out; /* bytes read or received, written or sent; NULL = not known */
	int is_stacked;                          /* an interface whose bytes are others', too: it is in no sum */
};

enum sonde_machine_kind { SONDE_MACHINE_DISKS, SONDE_MACHINE_NETWORKS, SONDE_MACHINE_PCIE, SONDE_MACHINE_NVLINK };

/* How many of a kind, at most SONDE_MACHINE_OBJECTS_MAX, in the order of the recording. */
size_t sonde_machine_objects(const struct sonde_series_sums *sums, enum sonde_machine_kind kind,
			     struct sonde_machine_object *out);

/* Of a total of time: how much of the time between its first and its last reading; −1 = not known. */
double sonde_machine_share(const struct sonde_series_sum *sum);
/* By how much a total rose between its readings; 0 for NULL. */
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
	double mean, max, min; /* shares of all_b */
	uint64_t all_b;
};

struct sonde_machine_memory sonde_machine_memory_of(const struct sonde_series_sums *sums);
/* Of the tightest control group that has a limit below the machine's memory. */
struct sonde_machine_memory sonde_machine_group_memory_of(const struct sonde_series_sums *sums);

/* How many CPUs the machine has; 0 = not known. */
double sonde_machine_cores(const struct sonde_session *session);

#endif
