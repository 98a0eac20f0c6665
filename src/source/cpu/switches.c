/* switches.c: context switches of the cpu source by BPF, where permitted and worth its startup cost.
 *
 * Loading and attaching the programs takes 3 to 4 ms, and the kernel waits up to 15 ms more if programs were detached
 * just before. BPF is used if the environment has SONDE_SWITCHES=bpf. Otherwise, or if BPF is refused, switches are
 * records of the perf events, which lack the time of the wakeup and the waker.
 *
 * The programs also see a command before its exec, and a task until its very end; perf events see neither. The clocks
 * therefore take switches only from the exec on and until the task's exit record.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/cpu/run.h"
#include "source/sched/sched_bpf.h"
#include "util/error.h"

#define RING_B (2u << 20) /* per CPU: the recorder may sleep for 200 ms at 250,000 switches per second */
#define RINGS_B (64u << 20)
#define LOST "buffer of context switches full"

/* On the kernel tested (6.18, in a virtual machine) the programs miss switches to a task while the machine is busy, so
 * the times computed from their switches are wrong. Records of perf events stay the default until the cause is
 * known. */
static int is_wanted(void)
{
	const char *how = getenv("SONDE_SWITCHES");
	return how && !strcmp(how, "bpf");
}

void sonde_cpu_switches_open(struct sonde_source_run *run)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	size_t ring_b = RINGS_B / (run->cpu_count ? run->cpu_count : 1);
	ring_b = ring_b < RING_B ? ring_b : RING_B;
	if (options->buffer_b && options->buffer_b < ring_b)
		ring_b = options->buffer_b;
	if (is_wanted() && sonde_sched_bpf_open(&run->bpf, ring_b) < 0)
		snprintf(run->no_bpf, sizeof run->no_bpf, "%s", sonde_error_text());
	run->events.shape.by_bpf = run->bpf != NULL;
}

static void give_up(struct sonde_source_run *run)
{
	snprintf(run->no_bpf, sizeof run->no_bpf, "%s", sonde_error_text());
	sonde_cpu_switches_close(run);
}

/* When attaching, this is called for each running process. Falling back from BPF is possible only before the first
 * process has events, since events that were opened for use with BPF do not report switches. */
void sonde_cpu_switches_follow(struct sonde_source_run *run, pid_t pid)
{
	int is_first = !run->events.count;
	if (run->bpf && sonde_sched_bpf_follow(run->bpf, pid) && is_first)
		give_up(run);
}

void sonde_cpu_switches_start(struct sonde_source_run *run)
{
	run->has_begun = sonde_recorder_options(run->recorder)->attach != 0;
	if (run->bpf && sonde_sched_bpf_start(run->bpf))
		give_up(run);
	if (!run->has_begun)
		sonde_cpu_switches_follow(run, run->pid);
}

void sonde_cpu_switches_close(struct sonde_source_run *run)
{
	sonde_sched_bpf_close(run->bpf);
	run->bpf = NULL;
	run->events.shape.by_bpf = 0;
}

static struct sonde_cpu_known *place_of(struct sonde_source_run *run, pid_t tid)
{
	return &run->known[(uint32_t)tid % SONDE_CPU_KNOWN];
}

void sonde_cpu_switches_forget(struct sonde_source_run *run, pid_t tid)
{
	struct sonde_cpu_known *known = place_of(run, tid);
	if (known->tid == tid)
		*known = (struct sonde_cpu_known){0};
}

void sonde_cpu_switches_born(struct sonde_source_run *run, pid_t tid, uint32_t creator, uint64_t time_ns)
{
	sonde_cpu_switches_forget(run, tid);
	if (!run->bpf && creator)
		*place_of(run, tid) = (struct sonde_cpu_known){.tid = tid, .creator = creator, .born_ns = time_ns};
}

void sonde_cpu_switches_first(struct sonde_source_run *run, pid_t tid, struct sonde_recorder_switch *event)
{
	struct sonde_cpu_known *known = place_of(run, tid);
	if (known->tid != tid || !known->creator)
		return;
	event->by = known->creator;
	event->woken_ns = known->born_ns;
	*known = (struct sonde_cpu_known){0};
}

/* The recording's id of a thread. For the recorder, an exiting thread may have ended already; it must not be created
 * again. */
static uint32_t thread_of(struct sonde_source_run *run, uint32_t word, uint32_t number, uint64_t time_ns)
{
	pid_t tid = (pid_t)SONDE_SCHED_TID(word), pid = (pid_t)number;
	struct sonde_cpu_known *known = place_of(run, tid);
	if (known->tid == tid && known->pid == pid)
		return known->thread;
	if (word & SONDE_SCHED_EXITING)
		return sonde_recorder_known(run->recorder, pid, tid, time_ns);
	*known = (struct sonde_cpu_known){
	    .pid = pid, .tid = tid, .thread = sonde_recorder_thread(run->recorder, pid, tid, time_ns)};
	return known->thread;
}

/* The thread that woke another; it may have ended since. */
static uint32_t waker_of(struct sonde_source_run *run, const struct sonde_sched_record *record)
{
	pid_t tid = (pid_t)record->by, pid = (pid_t)record->by_pid;
	const struct sonde_cpu_known *known = place_of(run, tid);
	if (!tid || (known->tid == tid && known->pid == pid))
		return tid ? known->thread : 0;
	return sonde_recorder_known(run->recorder, pid, tid, record->woken_ns);
}

/* Notes that a thread lost the CPU, or got one (off_ns 0), and returns the time at which it had lost the CPU before.
 * Two switches of the same kind in a row mean that the one between them is missing. */
static uint64_t note(struct sonde_source_run *run, pid_t tid, uint64_t off_ns)
{
	struct sonde_cpu_known *known = place_of(run, tid);
	uint64_t before_ns = known->off_ns;
	if (known->tid != tid)
		return 0;
	if (off_ns && before_ns)
		sonde_cpu_count_lost(run, "context switches missed by the kernel", 1, off_ns);
	known->off_ns = off_ns;
	return before_ns;
}

static void take_out(struct sonde_source_run *run, const struct sonde_sched_record *record, int cpu)
{
	pid_t tid = (pid_t)SONDE_SCHED_TID(record->prev);
	struct sonde_recorder_switch event = {
	    .time_ns = record->time_ns,
	    .thread = tid ? thread_of(run, record->prev, record->prev_pid, record->time_ns) : 0,
	    .kind = record->prev & SONDE_SCHED_RUNNABLE ? SONDE_SWITCH_OUT_PREEMPTED : SONDE_SWITCH_OUT_BLOCKED,
	    .cpu = cpu,
	};
	if (!event.thread)
		return;
	note(run, tid, record->time_ns);
	sonde_thread_clocks_out(run->clocks, tid, cpu, record->time_ns);
	sonde_recorder_switch(run->recorder, &event);
	sonde_cpu_write_kernel(run, record->time_ns, event.thread,
			       sonde_thread_clocks_kernel(run->clocks, tid, event.thread, record->time_ns));
}

static void take_in(struct sonde_source_run *run, const struct sonde_sched_record *record, int cpu)
{
	pid_t tid = (pid_t)SONDE_SCHED_TID(record->next);
	struct sonde_recorder_switch event = {
	    .time_ns = record->time_ns,
	    .thread = tid ? thread_of(run, record->next, record->next_pid, record->time_ns) : 0,
	    .kind = SONDE_SWITCH_IN,
	    .cpu = cpu,
	    .woken_ns = record->woken_ns,
	};
	if (!event.thread)
		return;
	event.by = waker_of(run, record);
	if (event.woken_ns < note(run, tid, 0)) /* from before its last run: this wakeup was not reported */
		event.woken_ns = 0;
	sonde_thread_clocks_in(run->clocks, tid, cpu, record->time_ns);
	sonde_recorder_switch(run->recorder, &event);
}

void sonde_cpu_switches_update(struct sonde_source_run *run, int final)
{
	if (!run->bpf)
		return;
	if (final)
		sonde_sched_bpf_stop(run->bpf);
	uint64_t now_ns = sonde_clock_now_ns(), lost = sonde_sched_bpf_take_lost(run->bpf);
	if (lost) {
		sonde_thread_clocks_lost(run->clocks, run->updated_ns, now_ns);
		sonde_cpu_count_lost(run, LOST, lost, now_ns);
	}
	uint64_t missed = sonde_sched_bpf_take_missed(run->bpf);
	if (missed)
		sonde_cpu_count_lost(run, "no kernel memory for a thread's context switches", missed, now_ns);
	sonde_sched_bpf_update(run->bpf);
	run->updated_ns = now_ns;
}

void sonde_cpu_switches_take(struct sonde_source_run *run, uint64_t horizon_ns)
{
	struct sonde_sched_record record;
	int cpu;
	while (run->bpf && sonde_sched_bpf_next(run->bpf, horizon_ns, &record, &cpu)) {
		if (!run->has_begun)
			continue;
		take_out(run, &record, cpu);
		take_in(run, &record, cpu);
	}
}

const char *sonde_cpu_switches_way(const struct sonde_source_run *run, char *out, size_t out_b)
{
	if (run->bpf)
		snprintf(out, out_b, "context switches by BPF%s",
			 sonde_sched_bpf_knows_wakers(run->bpf) ? "" : ", without wakers (before Linux 5.15)");
	else
		snprintf(out, out_b, "context-switch records%s%s%s", *run->no_bpf ? " (" : "", run->no_bpf,
			 *run->no_bpf ? ")" : "");
	return out;
}
