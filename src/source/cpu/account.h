/* account.h: CPU time as counted by the kernel, to compare with the CPU time that the samples cover.
 *
 * For a launched command, it is the time of all children that were waited for: its process tree, except for processes
 * that it left behind. While the command runs, it is read from /proc/PID/stat. For an attached process, it is the time
 * of its process tree, counted in ticks, as long as the process lives.
 */
#ifndef SONDE_SOURCE_CPU_ACCOUNT_H
#define SONDE_SOURCE_CPU_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/record/detail.h"

struct sonde_cpu_account {
	pid_t pid;
	int attached;                /* 1 = attached process; 0 = our child */
	int coarse;                  /* number of processes counted in ticks; 0 = exact */
	uint64_t user_ns, system_ns; /* CPU time */
};

/* Starts counting CPU time from now on. */
void sonde_cpu_account_begin(struct sonde_cpu_account *account, pid_t pid, int attached);

/* The CPU time used since begin(); both 0 if unknown. */
struct sonde_cpu_account sonde_cpu_account_since(const struct sonde_cpu_account *account);

/* Returns by how many ns the user and system time in `since` exceed `seen_ns`; 0 if that is at most 2 % or within the
 * measurement error. */
uint64_t sonde_cpu_account_missing(const struct sonde_cpu_account *since, uint64_t seen_ns);

/* Adds "0.05 of 0.52 s of CPU time were not sampled". */
void sonde_cpu_account_say(const struct sonde_cpu_account *since, uint64_t missing_ns, struct sonde_detail *out);

#endif
