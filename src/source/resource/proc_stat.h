/* proc_stat.h: /proc/PID/stat: whose child a process is, what it is called, and how long it ran; and /proc/stat. */
#ifndef SONDE_SOURCE_RESOURCE_PROC_STAT_H
#define SONDE_SOURCE_RESOURCE_PROC_STAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sonde_proc_stat {
	char name[32]; /* any bytes but NUL */
	char state;    /* 'Z' and 'X': dead */
	pid_t parent;
	uint64_t user_ns, system_ns;             /* CPU time, in whole ticks (sonde_proc_tick_ns()) */
	uint64_t child_user_ns, child_system_ns; /* of the children that it waited for */
	uint64_t start_ticks; /* since the machine started: with the number it tells a process from every other */
};

/* Of thread `tid` alone, or of the whole process (tid 0). 0, or −1 when there is none such. */
int sonde_proc_stat_read(struct sonde_proc_stat *out, pid_t pid, pid_t tid);

/* How many threads a process has; 0 when it is gone. */
uint64_t sonde_proc_threads(pid_t pid);

/* ns of one tick: by how much a figure in ticks may be off. */
uint64_t sonde_proc_tick_ns(void);

/* CPU time that the hypervisor gave to others while this machine's CPUs wanted to run (steal), since it started, in
 * whole ticks; 0 where the kernel is not told of any, UINT64_MAX where /proc/stat cannot be read. */
uint64_t sonde_proc_stolen_ns(void);

/* The highest number of a CPU that is there, + 1: more than there are CPUs where numbers are left out. */
size_t sonde_proc_cpu_numbers(void);

#endif
