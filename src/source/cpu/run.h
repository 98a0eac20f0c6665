/* run.h: the cpu source while it runs: cpu/cpu.c opens, drains and stops it, cpu/records.c takes what the kernel wrote.
 */
#ifndef SONDE_SOURCE_CPU_RUN_H
#define SONDE_SOURCE_CPU_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/stack/deep_stacks.h"
#include "source/cpu/account.h"
#include "source/cpu/newborn.h"
#include "source/cpu/perf_event.h"
#include "source/cpu/perf_ring.h"
#include "source/sched/sched_bpf.h"
#include "source/source.h"
#include "source/cpu/thread_clock.h"
#include "source/stack/unwinder.h"

#define SONDE_CPU_STACK_MAX_B 65528u

/* A thread of the recording that switched lately, by its number. */
struct sonde_cpu_known {
	pid_t pid, tid;
	uint32_t thread;
	uint64_t off_ns;  /* the last that was heard of it: it lost the CPU then; 0 = it got one */
	uint32_t creator; /* records: of one that has not been on a CPU yet; 0 = none is known */
	uint64_t born_ns;
};

#define SONDE_CPU_KNOWN 1024u

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_perf_rings *rings;
	struct sonde_perf_events events;
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_unwinder *unwinder;
	struct sonde_thread_clocks *clocks;
	struct sonde_newborns *newborns;
	uint64_t weight_ns; /* of each sample */
	pid_t pid;
	int started;

	struct sonde_sched_bpf *bpf; /* NULL = switches are records of the events */
	char no_bpf[200];            /* why */
	int has_begun;               /* the command has been executed, or was there before */
	uint64_t updated_ns;         /* when its rings were looked at last */
	struct sonde_cpu_known known[SONDE_CPU_KNOWN];

	struct sonde_perf_sample *current;       /* being unwound */
	uint8_t copy[SONDE_CPU_STACK_MAX_B + 8]; /* its stack, when the buffers had to be emptied meanwhile */

	struct sonde_cpu_account account;
	uint64_t written_ns, kernel_ns; /* in the recording; the part of it that is measured time in the kernel */
	uint64_t refused;      /* programs that took their events away: they have more rights than the recorder */
	char refused_name[32]; /* the first of them */
	size_t unattached;     /* descendants of who was attached to */

	struct sonde_deep_stacks deep;
	uint64_t samples, foreign; /* foreign: of 32-bit code */
	uint64_t lost;
	uint64_t *last_ns; /* by CPU: of the last record; the next one may say that some are missing between */
	size_t cpu_count;
};

/* Takes one record: all records of all CPUs pass in time order. */
void sonde_cpu_record(struct sonde_source_run *run, const struct sonde_perf_record *record);

/* CPU time of a thread (0 = of none that is known) that stands for no stack; in the kernel, where that may not be
 * sampled; of threads that wait for a stack of their program (`final`: there will be none). */
void sonde_cpu_write_unsampled(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns);
void sonde_cpu_write_kernel(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns);
void sonde_cpu_write_waiting(struct sonde_source_run *run, uint64_t time_ns, int final);

void sonde_cpu_count_lost(struct sonde_source_run *run, const char *cause, uint64_t count, uint64_t time_ns);

/* Context switches by BPF (cpu/switches.c): where it is refused, nothing happens, and the events tell them. */
void sonde_cpu_switches_open(struct sonde_source_run *run); /* before events are opened */
void sonde_cpu_switches_start(struct sonde_source_run *run);
/* Of all threads of a process, and of what they create. */
void sonde_cpu_switches_follow(struct sonde_source_run *run, pid_t pid);
void sonde_cpu_switches_close(struct sonde_source_run *run);
/* Looks for what was written since the last call; after the events' buffers. `final`: it ends here. */
void sonde_cpu_switches_update(struct sonde_source_run *run, int final);
/* Takes what happened before horizon_ns. */
void sonde_cpu_switches_take(struct sonde_source_run *run, uint64_t horizon_ns);
/* The number begins or ends a life. */
void sonde_cpu_switches_forget(struct sonde_source_run *run, pid_t tid);
/* Records: a thread was created; the first time that it gets a CPU says so. */
void sonde_cpu_switches_born(struct sonde_source_run *run, pid_t tid, uint32_t creator, uint64_t time_ns);
void sonde_cpu_switches_first(struct sonde_source_run *run, pid_t tid, struct sonde_recorder_switch *event);
/* By which way switches come, and why not by the other. */
const char *sonde_cpu_switches_way(const struct sonde_source_run *run, char *out, size_t out_b);

#endif
