/* sched_bpf.h: context switches of chosen tasks and of all that they create, with who woke them, by BPF programs.
 *
 * For root, or CAP_BPF and CAP_PERFMON, on Linux 5.12 with BTF. Everything lives as long as our descriptors. Times are
 * CLOCK_MONOTONIC; records of all CPUs come in time order. Not thread-safe.
 */
#ifndef SONDE_SOURCE_SCHED_SCHED_BPF_H
#define SONDE_SOURCE_SCHED_SCHED_BPF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/sched/sched_bpf_programs.h"

struct sonde_sched_bpf;

/* Loads the programs; a ring of `ring_b` a CPU. A negative errno and a sentence where that is refused. */
int sonde_sched_bpf_open(struct sonde_sched_bpf **out, size_t ring_b);
/* Lets them run. */
int sonde_sched_bpf_start(struct sonde_sched_bpf *bpf);
/* All threads of a process, and what they create from now on. */
int sonde_sched_bpf_follow(struct sonde_sched_bpf *bpf, pid_t pid);
/* No more records are written; what was, can still be taken. */
void sonde_sched_bpf_stop(struct sonde_sched_bpf *bpf);
void sonde_sched_bpf_close(struct sonde_sched_bpf *bpf); /* NULL is fine */

/* Looks for what was written since the last call. */
void sonde_sched_bpf_update(struct sonde_sched_bpf *bpf);
/* The earliest record before horizon_ns, and its CPU: 1, or 0 when there is none. */
int sonde_sched_bpf_next(struct sonde_sched_bpf *bpf, uint64_t horizon_ns, struct sonde_sched_record *out, int *cpu);

/* Switches that found a ring full since the last call. */
uint64_t sonde_sched_bpf_take_lost(struct sonde_sched_bpf *bpf);
/* Tasks that could not be followed since the last call. */
uint64_t sonde_sched_bpf_take_missed(struct sonde_sched_bpf *bpf);

/* Whether wakers are told apart from interrupts. */
int sonde_sched_bpf_knows_wakers(const struct sonde_sched_bpf *bpf);

#endif
