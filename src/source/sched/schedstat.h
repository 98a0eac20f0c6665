/* schedstat.h: the scheduler's counts of a thread: run time, runnable time and slices, and context switches.
 *
 * /proc/PID/task/TID/schedstat is exact, except that the run time lags by up to a tick while the thread runs. Its times
 * exclude time taken by a hypervisor or by interrupts, as far as the kernel knows of it.
 */
#ifndef SONDE_SOURCE_SCHED_SCHEDSTAT_H
#define SONDE_SOURCE_SCHED_SCHEDSTAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Totals since the start of the thread; exec does not reset them. */
struct sonde_schedstat {
	uint64_t ran_ns;
	uint64_t waited_ns; /* runnable time up to the last time that the thread got a CPU */
	uint64_t slices;    /* how often it got a CPU */
};

/* 0 if the kernel counts these times, else -ENOTSUP and the reason. */
int sonde_schedstat_probe(char *why, size_t why_b);

/* Opens a descriptor that can be read repeatedly and stays with this thread even if its tid is reused; −1 on
 * failure. */
int sonde_schedstat_open(pid_t pid, pid_t tid);

/* `fd`: the thread's descriptor, or −1. Returns 0; -ESRCH if the thread no longer exists; or another negative errno. */
int sonde_schedstat_read(struct sonde_schedstat *out, int fd, pid_t pid, pid_t tid);

/* Voluntary and involuntary context switches from /proc/PID/task/TID/status, which costs ten times as much as
 * schedstat. 0, or a negative errno. */
int sonde_schedstat_switches(uint64_t *out_voluntary, uint64_t *out_involuntary, pid_t pid, pid_t tid);

#endif
