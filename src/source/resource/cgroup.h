/* cgroup.h: the limits and usage of a process's tightest control groups, version 1 and 2.
 *
 * Any ancestor group may set a limit. For CPU time and for memory separately, the group with the lowest limit is used;
 * if there is no limit, the process's own group. The root group of all processes of the machine does not count.
 */
#ifndef SONDE_SOURCE_RESOURCE_CGROUP_H
#define SONDE_SOURCE_RESOURCE_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

enum { SONDE_CGROUP_NAME_B = 256 };

struct sonde_cgroup {
	char cpu[SONDE_CGROUP_NAME_B], memory[SONDE_CGROUP_NAME_B]; /* below their mount, "/" = the mount; "" = none */
	int cpu_stat_fd, cpu_usage_fd; /* −1 = none, like those below; usage: version 1 */
	int memory_usage_fd, memory_limit_fd, memory_stat_fd;
};

enum sonde_cgroup_known {
	SONDE_CGROUP_CPU = 1,      /* cpu_ns */
	SONDE_CGROUP_THROTTLE = 2, /* periods, throttled_periods, throttled_ns */
	SONDE_CGROUP_MEMORY = 4,   /* memory_b */
	SONDE_CGROUP_LIMIT = 8,    /* limit_b, reclaimable_b */
};

struct sonde_cgroup_use {
	unsigned known; /* enum sonde_cgroup_known */
	uint64_t cpu_ns, periods, throttled_periods, throttled_ns;
	uint64_t memory_b, limit_b;
	uint64_t reclaimable_b; /* the part of memory_b that is inactive file cache */
};

/* Finds the groups of `pid` in the tree under `root` ("" = this machine's); 0 = our own. Never fails: values that do
 * not exist are unknown. */
void sonde_cgroup_open(struct sonde_cgroup *out, const char *root, pid_t pid);
/* The lowest CPU quota of the groups of `pid`, in CPUs; 0 = none. */
double sonde_cgroup_quota(const char *root, pid_t pid);
void sonde_cgroup_close(struct sonde_cgroup *cgroup);
/* Reads the groups' usage. `is_detailed`: memory, too, which the kernel may have to sum up first. */
void sonde_cgroup_read(const struct sonde_cgroup *cgroup, int is_detailed, struct sonde_cgroup_use *out);

#endif
