/* cpu.c: the cpu source: samples every thread of a process tree with perf events and unwinds the stacks here.
 *
 * perf events are opened on each CPU for the launched child (held before its exec) or for every thread of a process,
 * and are inherited by all tasks that these create (cpu/perf_event.h lists the events). The recorder's thread drains:
 * records of all CPUs are processed in time order, so that a sample is unwound with the mappings that existed at its
 * time. Records beyond the horizon wait for the next drain. Before a slow operation (compiling a table), pending
 * records are copied out of the kernel's buffers.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/priority.h"
#include "source/cpu/attach.h"
#include "source/cpu/run.h"
#include "source/resource/proc_stat.h"
#include "util/error.h"

#define STACK_LEAST_B 16384u /* minimum stack copy, unless the user wants less */
#define RING_LEAST_B (64u << 10)
#define RING_STACKS 8u /* minimum number of stack copies that a buffer must hold */
/* Per CPU: the buffer size, the stack copies that it should hold, and the fraction (1 / n) that is full when the
 * recorder is woken. FRONT: the recorder runs before busy threads; QUEUE: it waits for its turn among them. The rest of
 * the buffer has room for 65 or 190 more copies, in case the recorder wakes late. */
#define FRONT_RING_B (8u << 20)
#define QUEUE_RING_B (4u << 20)
#define FRONT_COPIES 130u
#define QUEUE_COPIES 256u
#define FRONT_WAKE 2u
#define QUEUE_WAKE 4u
#define METHOD "perf events (cpu-clock), user stacks from call-frame tables"

static int cpu_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (options->no_perf) {
		snprintf(why, why_b, "perf events are switched off by --no-perf");
		return -EOPNOTSUPP;
	}
	int result = sonde_perf_events_probe();
	if (result < 0)
		snprintf(why, why_b, "%s", sonde_error_text());
	return result;
}

/* Called before an image is opened: saves the stack being walked, and empties those of the kernel's buffers that are
 * more than half full. If a table will be compiled (`compiles`), it empties all buffers. */
static void before_slow(void *context, int compiles)
{
	struct sonde_source_run *run = context;
	struct sonde_unwind_sample *sample = run->current ? &run->current->unwind : NULL;
	if (sample && sample->stack && sample->stack != run->copy) {
		memcpy(run->copy, sample->stack, sample->stack_b);
		sample->stack = run->copy;
	}
	if (compiles)
		sonde_perf_rings_spill(run->rings);
	else
		sonde_perf_rings_relieve(run->rings);
}

static void fini(struct sonde_source_run *run)
{
	sonde_cpu_switches_close(run);
	sonde_newborns_free(run->newborns);
	sonde_perf_events_close(&run->events);
	sonde_perf_rings_close(run->rings);
	sonde_unwinder_free(run->unwinder);
	sonde_spaces_free(run->spaces);
	sonde_images_free(run->images);
	sonde_thread_clocks_free(run->clocks);
	free(run->last_ns);
}

/* True if we can raise our priority; determined by trying. */
static int goes_first(void)
{
	struct sonde_priority before;
	sonde_priority_raise(&before);
	int nice = getpriority(PRIO_PROCESS, 0);
	sonde_priority_restore(&before);
	return nice < before.nice;
}

/* The size of a stack copy. A record occupies the full size in the buffer, however shallow the stack is. */
static uint32_t stack_size(const struct sonde_record_options *options, size_t ring_b, unsigned copies)
{
	size_t stack_b = options->stack_b, most_b = ring_b / RING_STACKS;
	if (!stack_b) {
		stack_b = ring_b / copies;
		stack_b = stack_b < STACK_LEAST_B ? STACK_LEAST_B : stack_b;
	}
	most_b = most_b < SONDE_CPU_STACK_MAX_B ? most_b : SONDE_CPU_STACK_MAX_B;
	return (uint32_t)(stack_b < most_b ? stack_b : most_b) & ~7u;
}

static int open_rings(struct sonde_source_run *run, const struct sonde_record_options *options)
{
	int first = goes_first();
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN), want_b = first ? FRONT_RING_B : QUEUE_RING_B;
	run->cpu_count = sonde_proc_cpu_numbers();
	run->last_ns = calloc(run->cpu_count, sizeof *run->last_ns);
	if (!run->last_ns)
		return sonde_error(ENOMEM, "out of memory for the cpu source");
	if (options->buffer_b && options->buffer_b / cpus < want_b)
		want_b = options->buffer_b / cpus;
	int result = sonde_perf_rings_open(&run->rings, want_b, RING_LEAST_B, first ? FRONT_WAKE : QUEUE_WAKE);
	if (result < 0)
		return result;
	run->events.shape.stack_b =
	    stack_size(options, sonde_perf_rings_size_b(run->rings), first ? FRONT_COPIES : QUEUE_COPIES);
	return 0;
}

static int cpu_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	struct sonde_recorder *recorder = context->recorder;
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	uint64_t rate_hz = options->rate_hz ? options->rate_hz : 1000;
	run->recorder = recorder;
	run->weight_ns = (1000000000u + rate_hz / 2) / rate_hz;
	run->events.shape = (struct sonde_perf_shape){.rate_hz = rate_hz, .kernel = 1, .switches = 1, .build_id = 1};
	int result = sonde_images_new(&run->images, recorder, before_slow, run);
	result = result ? result : sonde_spaces_new(&run->spaces, run->images);
	result = result ? result : sonde_unwinder_new(&run->unwinder, recorder, run->images, run->spaces);
	struct sonde_thread_sampling sampling = {.period_ns = {sonde_perf_shape_period_ns(&run->events.shape, 0),
							       sonde_perf_shape_period_ns(&run->events.shape, 1)},
						 .weight_ns = run->weight_ns};
	result = result ? result : sonde_thread_clocks_new(&run->clocks, &sampling);
	result = result ? result : open_rings(run, options);
	result = result ? result : sonde_newborns_new(&run->newborns, run->rings);
	if (result < 0)
		fini(run);
	else
		sonde_cpu_switches_open(run);
	return result;
}

static int cpu_start(struct sonde_source_run *run, pid_t pid)
{
	run->pid = pid;
	uint64_t now_ns = sonde_clock_now_ns();
	sonde_recorder_process(run->recorder, pid, now_ns);
	sonde_thread_clocks_start(run->clocks, pid, sonde_thread_clocks_read(pid), now_ns);
	sonde_cpu_account_begin(&run->account, pid, sonde_recorder_options(run->recorder)->attach != 0);
	sonde_cpu_switches_start(run);
	int result = sonde_recorder_options(run->recorder)->attach
			 ? sonde_cpu_attach(run, pid, &run->unattached)
			 : sonde_perf_events_follow(&run->events, run->rings, pid, 1);
	run->started = result == 0;
	if (run->started)
		sonde_recorder_tells(run->recorder);
	return result;
}

/* Updates the share of user code in the CPU time of the command and of the children that it waited for. */
static void look_at_user_share(struct sonde_source_run *run)
{
	struct sonde_proc_stat stat;
	if (sonde_proc_stat_read(&stat, run->pid, 0) < 0)
		return;
	uint64_t user_ns = stat.user_ns + stat.child_user_ns;
	uint64_t all_ns = user_ns + stat.system_ns + stat.child_system_ns;
	if (all_ns)
		sonde_thread_clocks_user_only(run->clocks, (double)user_ns / (double)all_ns);
}

/* Writes the kernel time of live threads that has not been written yet. */
static void write_kernel_rests(struct sonde_source_run *run)
{
	uint64_t now_ns = sonde_clock_now_ns(), kernel_ns;
	uint32_t at = 0, thread;
	while (sonde_thread_clocks_next_kernel(run->clocks, &at, now_ns, &thread, &kernel_ns))
		sonde_cpu_write_kernel(run, now_ns, thread, kernel_ns);
}

static void cpu_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	struct sonde_perf_record record;
	if (final)
		for (size_t i = 0; i < run->events.count; i++)
			ioctl(run->events.fds[i], PERF_EVENT_IOC_DISABLE, 0);
	if (!run->events.shape.kernel)
		look_at_user_share(run);
	sonde_unwinder_begin(run->unwinder);
	sonde_perf_rings_update(run->rings);
	sonde_cpu_switches_update(run, final);
	while (sonde_perf_rings_next(run->rings, horizon_ns, &record)) {
		sonde_cpu_switches_take(run, record.time_ns);
		sonde_cpu_record(run, &record);
	}
	sonde_cpu_switches_take(run, horizon_ns);
	sonde_perf_rings_relieve(run->rings);
	sonde_thread_clocks_settle(run->clocks);
	if (!final)
		sonde_newborns_adapt(run->newborns, &run->events.shape);
	else {
		sonde_cpu_write_waiting(run, sonde_clock_now_ns(), 1);
		write_kernel_rests(run);
	}
}

static uint64_t cpu_due_ns(const struct sonde_source_run *run)
{
	return run->deep.is_hurried ? sonde_clock_now_ns() + SONDE_DEEP_STACKS_NS : UINT64_MAX;
}

static size_t cpu_poll_fds(struct sonde_source_run *run, int *fds, size_t max)
{
	return sonde_perf_rings_poll_fds(run->rings, fds, max);
}

/* Writes the part of the command's CPU time that has not been written yet. If the kernel may not be sampled, some of
 * this part, at most the system time, is written as kernel time, and the rest as not sampled. Returns the rest. */
static uint64_t write_missing(struct sonde_source_run *run, const struct sonde_cpu_account *since)
{
	uint64_t missing_ns = sonde_cpu_account_missing(since, run->written_ns), now_ns = sonde_clock_now_ns();
	/* This time is undated, so it is left out of flight recordings. */
	if (sonde_recorder_options(run->recorder)->keep_ns)
		return missing_ns;
	if (!run->events.shape.kernel && missing_ns && since->system_ns > run->kernel_ns) {
		uint64_t kernel_ns = since->system_ns - run->kernel_ns;
		kernel_ns = kernel_ns < missing_ns ? kernel_ns : missing_ns;
		sonde_cpu_write_kernel(run, now_ns, 0, kernel_ns);
		missing_ns = sonde_cpu_account_missing(since, run->written_ns);
	}
	sonde_cpu_write_unsampled(run, now_ns, 0, missing_ns);
	return missing_ns;
}

static void say_why_missing(const struct sonde_source_run *run, struct sonde_detail *out)
{
	if (run->refused == 1)
		sonde_detail_more(out,
				  ": \"%s\" has more rights than the recorder (setuid) or is not readable, so the "
				  "kernel hides its events",
				  run->refused_name);
	else if (run->refused)
		sonde_detail_more(out,
				  ": %llu programs (first: \"%s\") have more rights than the recorder (setuid) or are "
				  "not readable, so the kernel hides their events",
				  (unsigned long long)run->refused, run->refused_name);
	else if (!run->lost)
		sonde_detail_more(out, ": events stop around context switches and at process exit");
}

/* Explains what could not be recorded, and how to record it. */
static void write_detail(struct sonde_source_run *run, struct sonde_detail *out)
{
	struct sonde_cpu_account since = sonde_cpu_account_since(&run->account);
	uint64_t missing_ns = write_missing(run, &since);
	if (!run->events.shape.kernel)
		sonde_detail_add(out, "kernel time is measured, but not sampled: for kernel functions set sysctl "
				      "kernel.perf_event_paranoid=1, or give CAP_PERFMON");
	if (!run->events.shape.switches)
		sonde_detail_add(out, "context switches are not reported by this kernel");
	if (run->foreign)
		sonde_detail_add(out, "%llu samples of 32-bit code have no callers", (unsigned long long)run->foreign);
	if (run->unattached)
		sonde_detail_add(out, "%zu earlier child processes may not be sampled by this user", run->unattached);
	if (!missing_ns)
		return;
	sonde_cpu_account_say(&since, missing_ns, out);
	say_why_missing(run, out);
}

static void say_state(struct sonde_source_run *run)
{
	struct sonde_detail detail = {0};
	char way[256], method[sizeof METHOD + sizeof way];
	snprintf(method, sizeof method, "%s; %s", METHOD, sonde_cpu_switches_way(run, way, sizeof way));
	double rate_hz = (double)run->events.shape.rate_hz;
	write_detail(run, &detail);
	struct sonde_recorder_state state = {
	    .state = detail.used ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_ON,
	    .method = method,
	    .detail = sonde_detail_text(&detail),
	    .rate_hz = rate_hz,
	    .effective_hz = run->lost ? rate_hz * (double)run->samples / (double)(run->samples + run->lost) : rate_hz,
	};
	sonde_recorder_source(run->recorder, "cpu", &state);
}

static void cpu_stop(struct sonde_source_run *run)
{
	if (run->started) {
		uint64_t damaged = sonde_perf_rings_damaged(run->rings);
		say_state(run);
		if (damaged)
			sonde_cpu_count_lost(run, "perf event buffer damaged", damaged, sonde_clock_now_ns());
	}
	fini(run);
}

const struct sonde_source sonde_source_cpu = {
    .name = "cpu",
    .title = "CPU time of every thread, by stacks",
    .cost = "at 1000 samples/s 0.5 to 1.5 % of the program's CPU time (docs/PERFORMANCE.md; record -F)",
    .run_b = sizeof(struct sonde_source_run),
    .probe = cpu_probe,
    .open = cpu_open,
    .start = cpu_start,
    .drain = cpu_drain,
    .poll_fds = cpu_poll_fds,
    .due_ns = cpu_due_ns,
    .stop = cpu_stop,
};
