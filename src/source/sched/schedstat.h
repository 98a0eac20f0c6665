/* schedstat.h: what the scheduler counts of a thread: how long it ran and waited for a CPU, and how often it was
 * switched.
 *
 * /proc/PID/task/TID/schedstat is exact, but that the time on a CPU lags by up to a tick while the thread runs. Time
 * that a hypervisor or interrupts took from the thread is not in it where the kernel knows of it.
 */
#ifndef SONDE_SOURCE_SCHED_SCHEDSTAT_H
#define SONDE_SOURCE_SCHED_SCHEDSTAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Since the thread began; a process that executes another program goes on. */
struct sonde_schedstat {
	uint64_t ran_ns;
	uint64_t waited_ns; /* for a CPU, up to when it last got one */
	uint64_t slices;    /* how often it got one */
};

/* 0 where the kernel counts, else -ENOTSUP and why it does not. */
int sonde_schedstat_probe(char *why, size_t why_b);

/* A descriptor that can be read again and again, of that thread only, whoever gets its number; −1 = none. */
int sonde_schedstat_open(pid_t pid, pid_t tid);

/* `fd`: of the thread, or −1. 0; -ESRCH when there is no such thread any more; another negative errno. */
int sonde_schedstat_read(struct sonde_schedstat *out, int fd, pid_t pid, pid_t tid);

/* Context switches in which the thread waited, and in which it could have gone on: /proc/PID/task/TID/status, which
 * costs ten times as much. 0, or a negative errno. */
int sonde_schedstat_switches(uint64_t *out_voluntary, uint64_t *out_involuntary, pid_t pid, pid_t tid);

#endif
