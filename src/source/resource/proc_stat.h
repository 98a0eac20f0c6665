/* proc_stat.h: /proc/PID/stat: parent, name and run time of a process; and /proc/stat. */
#ifndef SONDE_SOURCE_RESOURCE_PROC_STAT_H
#define SONDE_SOURCE_RESOURCE_PROC_STAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sonde_proc_stat {
	char name[32]; /* any bytes except NUL */
	char state;    /* 'Z' and 'X': dead */
	pid_t parent;
	uint64_t user_ns, system_ns;             /* CPU time, in whole ticks (sonde_proc_tick_ns()) */
	uint64_t child_user_ns, child_system_ns; /* CPU time of the children that it waited for */
	uint64_t start_ticks;                    /* since boot; with the pid, it identifies a process */
};

/* Reads thread `tid`, or the whole process (tid 0). 0, or −1 if it does not exist. */
int sonde_proc_stat_read(struct sonde_proc_stat *out, pid_t pid, pid_t tid);

/* The number of threads of a process; 0 if it has exited. */
uint64_t sonde_proc_threads(pid_t pid);

/* ns per tick: the resolution of figures in ticks. */
uint64_t sonde_proc_tick_ns(void);

/* Steal time since boot in whole ticks: CPU time that the hypervisor gave to others while this machine's CPUs wanted to
 * run. 0 if the hypervisor reports none, UINT64_MAX if /proc/stat cannot be read. */
uint64_t sonde_proc_stolen_ns(void);

/* The highest CPU number present, + 1: more than the number of CPUs if numbers are skipped. */
size_t sonde_proc_cpu_numbers(void);

#endif
