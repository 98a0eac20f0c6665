/* run.h: the state of the cpu source; cpu/cpu.c opens, drains and stops it, cpu/records.c handles the kernel's records.
 */
#ifndef SONDE_SOURCE_CPU_RUN_H
#define SONDE_SOURCE_CPU_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/stack/deep_stacks.h"
#include "source/cpu/account.h"
#include "source/cpu/new_threads.h"
#include "source/cpu/perf_event.h"
#include "source/cpu/perf_ring.h"
#include "source/sched/sched_bpf.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/cpu/thread_clock.h"
#include "source/stack/unwinder.h"

#define SONDE_CPU_STACK_MAX_B 65528u

/* A thread that switched recently, in a cache by tid. */
struct sonde_cpu_known {
	pid_t pid, tid;
	uint32_t thread;
	uint64_t off_ns;  /* when it lost the CPU; 0 = its last switch gave it one */
	uint32_t creator; /* without BPF: creator of a thread that has not run yet; 0 = unknown */
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

	struct sonde_sched_bpf *bpf; /* NULL = switches come from records of the events */
	char no_bpf[200];            /* why BPF is not used */
	int has_begun;               /* the command has called exec, or was running before */
	uint64_t updated_ns;         /* time of the last update of the BPF rings */
	struct sonde_cpu_known known[SONDE_CPU_KNOWN];

	struct sonde_perf_sample *current;       /* the sample being unwound */
	uint8_t copy[SONDE_CPU_STACK_MAX_B + 8]; /* copy of its stack, if the buffers had to be emptied meanwhile */

	struct sonde_cpu_account account;
	uint64_t written_ns, kernel_ns; /* CPU time written; the part of it that is measured kernel time */
	uint64_t refused; /* programs whose events the kernel removed: they have more privileges than the recorder */
	char refused_name[32]; /* name of the first one */
	size_t unattached;     /* descendants of the attached process that could not be attached to */

	struct sonde_deep_stacks deep;
	uint64_t samples, foreign; /* foreign: of 32-bit code */
	uint64_t lost;
	uint64_t *last_ns; /* by CPU: time of the last record; a LOST record covers the time since */
	size_t cpu_count;
};

/* Handles one record. The records of all CPUs must be passed in time order. */
void sonde_cpu_record(struct sonde_source_run *run, const struct sonde_perf_record *record);

/* These three write CPU time of threads (0 = unknown thread): unsampled() time without a stack; kernel() time in the
 * kernel, if the kernel may not be sampled; waiting() time of ended threads whose program had no stack yet (`final`: it
 * will get none). */
void sonde_cpu_write_unsampled(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns);
void sonde_cpu_write_kernel(struct sonde_source_run *run, uint64_t time_ns, uint32_t thread, uint64_t cpu_ns);
void sonde_cpu_write_waiting(struct sonde_source_run *run, uint64_t time_ns, int final);

void sonde_cpu_count_lost(struct sonde_source_run *run, const char *cause, uint64_t count, uint64_t time_ns);

/* Context switches by BPF (cpu/switches.c). If BPF is refused, these functions do nothing, and the perf events report
 * the switches. */
void sonde_cpu_switches_open(struct sonde_source_run *run); /* call before opening events */
void sonde_cpu_switches_start(struct sonde_source_run *run);
/* Follows all threads of a process, and the threads that they create. */
void sonde_cpu_switches_follow(struct sonde_source_run *run, pid_t pid);
void sonde_cpu_switches_close(struct sonde_source_run *run);
/* Reads how far the BPF rings have been written; call it after updating the events' buffers (cpu/perf_ring.h). `final`:
 * the last call. */
void sonde_cpu_switches_update(struct sonde_source_run *run, int final);
/* Handles all switches with times before horizon_ns. */
void sonde_cpu_switches_take(struct sonde_source_run *run, uint64_t horizon_ns);
/* Forgets what is known of the tid; call it when a thread with that tid begins or ends. */
void sonde_cpu_switches_forget(struct sonde_source_run *run, pid_t tid);
/* Without BPF: notes who created a thread; the event of the thread's first time on a CPU will name its creator. */
void sonde_cpu_switches_born(struct sonde_source_run *run, pid_t tid, uint32_t creator, uint64_t time_ns);
void sonde_cpu_switches_first(struct sonde_source_run *run, pid_t tid, struct sonde_recorder_switch *event);
/* Describes how switches are recorded, and why not by BPF. */
const char *sonde_cpu_switches_way(const struct sonde_source_run *run, char *out, size_t out_b);

#endif
