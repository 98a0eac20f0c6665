/* sched_bpf.h: context switches of chosen tasks and their descendants, with wakers, recorded by BPF programs.
 *
 * Needs root, or CAP_BPF and CAP_PERFMON, on Linux 5.12 with BTF. The kernel frees everything when our descriptors are
 * closed. Times are CLOCK_MONOTONIC; records of all CPUs are returned in time order. Not thread-safe.
 */
#ifndef SONDE_SOURCE_SCHED_SCHED_BPF_H
#define SONDE_SOURCE_SCHED_SCHED_BPF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/sched/sched_bpf_programs.h"

struct sonde_sched_bpf;

/* Loads the programs and creates a ring of `ring_b` bytes per CPU. A negative errno with a message if that is
 * refused. */
int sonde_sched_bpf_open(struct sonde_sched_bpf **out, size_t ring_b);
/* Attaches the programs. */
int sonde_sched_bpf_start(struct sonde_sched_bpf *bpf);
/* Follows all threads of a process, and the tasks that they create from now on. */
int sonde_sched_bpf_follow(struct sonde_sched_bpf *bpf, pid_t pid);
/* Detaches the programs. Records already written can still be taken. */
void sonde_sched_bpf_stop(struct sonde_sched_bpf *bpf);
void sonde_sched_bpf_close(struct sonde_sched_bpf *bpf); /* NULL is fine */

/* Reads how far the rings have been written. */
void sonde_sched_bpf_update(struct sonde_sched_bpf *bpf);
/* Returns 1 with the earliest record before horizon_ns and its CPU, or 0 if there is none. */
int sonde_sched_bpf_next(struct sonde_sched_bpf *bpf, uint64_t horizon_ns, struct sonde_sched_record *out, int *cpu);

/* The number of switches since the last call that were lost because a ring was full. */
uint64_t sonde_sched_bpf_take_lost(struct sonde_sched_bpf *bpf);
/* The number of tasks since the last call that could not be followed. */
uint64_t sonde_sched_bpf_take_missed(struct sonde_sched_bpf *bpf);

/* True if this kernel can tell a waker from an interrupt. */
int sonde_sched_bpf_knows_wakers(const struct sonde_sched_bpf *bpf);

#endif
