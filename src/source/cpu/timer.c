/* timer.c: the cpu source where perf events are forbidden: CPU timers inside the target (src/inject), unwound here.
 *
 * libsonde-cpu.so is preloaded into the command and the processes it starts. Samples arrive through the channel
 * (target/channel.h), which is drained before this source. They are unwound at once, while the process is probably
 * alive, kept until our own drain, and written in time order. A sample carries its thread's CPU clock, and its weight
 * is the advance of that clock since the previous sample. So no CPU time is lost if a sample found no room in its ring
 * (the next sample includes it), and none is counted twice across an exec.
 *
 * Nothing reports mappings: /proc/PID/maps is read when a process connects and again, at most once per drain, when an
 * address is unknown. This source writes the record of "cpu", as the perf source does where it can run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/cpu/account.h"
#include "source/cpu/perf_event.h"
#include "source/target/preload.h"
#include "source/resource/proc_stat.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/cpu/timer_tasks.h"
#include "source/target/unsampled.h"
#include "source/stack/unwinder.h"
#include "source/target/channel.h"
#include "util/array.h"
#include "util/error.h"
#include "util/file.h"

#define OBJECT "libsonde-cpu.so"
#define ENVIRONMENT "SONDE_CPU" /* read by src/inject: "RATE_HZ STACK_B FILTERS PRIVATE" */
#define STACK_DEFAULT_B 57344u  /* maximum stack copy: a chunk of a ring holds no more */
#define METHOD "CPU timers inside the processes, at the kernel's tick; user stacks from call-frame tables"

#define LIMITS                                                                                           \
	"; kernel time counts towards the calling functions, and a program in step with the kernel's " \
	"tick may be sampled unevenly"

struct row {
	uint64_t time_ns, weight_ns;
	uint32_t thread, stack, order;
	uint8_t status;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_images *images;
	struct sonde_spaces *spaces;
	struct sonde_unwinder *unwinder;
	struct sonde_unsampled *unsampled;
	struct sonde_channel *channel;
	struct sonde_channel_listener listener;
	struct sonde_timer_tasks tasks;
	struct row *rows; /* samples that have been unwound but not yet written */
	size_t row_count, row_cap;
	char why[256]; /* why perf events are not used */
	pid_t pid;
	uint64_t start_ns;
	uint64_t cpus;
	int started;
	int named; /* the command has called exec, and its name is known */
	uint64_t batch;
	uint64_t samples, sampled_ns, written_ns; /* written_ns includes time that was not sampled */
	struct sonde_cpu_account account;
};

static int is_known(void *context, pid_t pid, pid_t tid)
{
	const struct sonde_source_run *run = context;
	const struct sonde_timer_process *process = sonde_timer_tasks_find_process(&run->tasks, pid);
	if (!process || !process->links)
		return 0;
	return !tid || sonde_timer_tasks_find_thread(&run->tasks, pid, tid);
}

/* --- processes --------------------------------------------------------------------------------------------------- */

/* True if the process is unknown, or the known one with that pid has ended: pids are reused. */
static int is_new(const struct sonde_source_run *run, pid_t pid)
{
	const struct sonde_timer_process *process = sonde_timer_tasks_find_process(&run->tasks, pid);
	return pid != run->pid && (!process || process->ended);
}

static int is_followed(const struct sonde_source_run *run, pid_t pid)
{
	return pid == run->pid || sonde_timer_tasks_find_process(&run->tasks, pid);
}

static void on_opened(void *context, pid_t pid, uint32_t clock)
{
	(void)clock;
	struct sonde_source_run *run = context;
	uint64_t now_ns = sonde_clock_now_ns();
	struct sonde_proc_stat stat = {.name = ""};
	int there = sonde_proc_stat_read(&stat, pid, 0) == 0;
	if (there && is_new(run, pid) && is_followed(run, stat.parent))
		sonde_recorder_fork(run->recorder, stat.parent, pid, pid, now_ns);
	if (there)
		sonde_recorder_comm(run->recorder, pid, pid, stat.name, 1, now_ns);
	run->named |= there && pid == run->pid;
	struct sonde_timer_process *process = sonde_timer_tasks_process(&run->tasks, pid);
	if (!process)
		return;
	if (process->ended)
		*process = (struct sonde_timer_process){.pid = pid};
	process->links++;
	process->fresh = 1;
	process->start_ticks = stat.start_ticks;
	sonde_spaces_exec(run->spaces, pid, stat.name);
}

/* Ends the threads of a process. `all`: including the main thread, which lives on after an exec. */
static void end_threads(struct sonde_source_run *run, pid_t pid, int all)
{
	uint64_t now_ns = sonde_clock_now_ns();
	for (size_t i = 0; i < run->tasks.thread_count; i++) {
		struct sonde_timer_thread *thread = &run->tasks.threads[i];
		if (thread->pid != pid || thread->ended || (!all && thread->tid == pid))
			continue;
		thread->ended = 1;
		sonde_recorder_exit(run->recorder, pid, thread->tid, thread->clock_ns, now_ns);
	}
}

/* Reads the mappings of a process that has just connected. Later they are reread once per batch, if an address is
 * unknown. */
static void look_at_maps(struct sonde_source_run *run, struct sonde_timer_process *process, uint64_t time_ns)
{
	struct sonde_space *space = sonde_spaces_get(run->spaces, process->pid, time_ns);
	if (!space || process->batch == run->batch)
		return;
	process->batch = run->batch;
	space->reread_ns = 0;
	if (process->fresh)
		sonde_spaces_refresh(run->spaces, space, time_ns);
	process->fresh = 0;
}

/* --- samples ----------------------------------------------------------------------------------------------------- */

static void keep_row(struct sonde_source_run *run, struct sonde_timer_process *process, const struct row *row)
{
	if (process)
		process->sampled_ns += row->weight_ns;
	if (!row->weight_ns || !row->thread)
		return;
	if (SONDE_ARRAY_RESERVE(run->rows, run->row_cap, run->row_count + 1))
		return;
	run->rows[run->row_count] = *row;
	run->rows[run->row_count].order = (uint32_t)run->row_count;
	run->row_count++;
	run->written_ns += row->weight_ns;
	if (sonde_sample_status(row->status) != SONDE_STACK_NOT_SAMPLED)
		run->sampled_ns += row->weight_ns;
}

/* Writes the part of a process's CPU time that is not covered by samples: the time of threads that were never seen, or
 * that ended before they got a place in a ring. */
static void write_unseen(struct sonde_source_run *run, struct sonde_timer_process *process)
{
	struct row remainder = {.time_ns = sonde_clock_now_ns(),
				.weight_ns = process->clock_ns - process->sampled_ns,
				.thread = process->thread,
				.status = SONDE_STACK_NOT_SAMPLED};
	if (process->clock_ns > process->sampled_ns)
		keep_row(run, process, &remainder);
}

static void on_closed(void *context, pid_t pid)
{
	struct sonde_source_run *run = context;
	struct sonde_timer_process *process = sonde_timer_tasks_find_process(&run->tasks, pid);
	struct sonde_proc_stat stat;
	if (!process || !process->links || --process->links)
		return;
	int lives = sonde_proc_stat_read(&stat, pid, 0) == 0 && !strchr("ZX", stat.state) &&
		    stat.start_ticks == process->start_ticks;
	end_threads(run, pid, !lives);
	if (lives)
		return;
	sonde_spaces_exit(run->spaces, pid);
	write_unseen(run, process);
	process->sampled_ns = 0;
	process->clock_ns = 0;
	process->ended = 1;
}

/* The weight of a sample. A clock that went back belongs to another thread with the same tid; a clock that runs faster
 * than real time is wrong, and is clamped. */
static uint64_t weigh(const struct sonde_source_run *run, struct sonde_timer_thread *thread, uint64_t clock_ns)
{
	uint64_t most_ns = sonde_clock_now_ns() - run->start_ns;
	if (clock_ns > most_ns)
		clock_ns = most_ns;
	uint64_t weight_ns = clock_ns >= thread->clock_ns ? clock_ns - thread->clock_ns : clock_ns;
	thread->clock_ns = clock_ns;
	return weight_ns;
}

static void unwind(struct sonde_source_run *run, struct sonde_timer_thread *thread,
		   const struct sonde_event_cpu_sample *from)
{
	int is_forbidden = !from->sp;
	struct sonde_unwind_sample sample = {
	    .pid = thread->pid,
	    .time_ns = from->head.time,
	    .has_user = 1,
	    .leaf_only = is_forbidden,
	    .regs = {.pc = from->pc, .sp = from->sp, .fp = from->fp, .lr = from->lr},
	    .stack = (const uint8_t *)(from + 1),
	    .stack_b = (size_t)from->stack_b,
	};
	thread->status = (uint8_t)sonde_unwinder_run(run->unwinder, &sample, &thread->stack);
	if (is_forbidden)
		thread->status = SONDE_STACK_FORBIDDEN;
}

/* Takes the final report of a thread: its name, which may have changed since it was first seen; its start, which may be
 * unknown otherwise; and, from the main thread, the CPU time of the process. */
static void end_thread(struct sonde_source_run *run, struct sonde_timer_process *process,
		       struct sonde_timer_thread *thread, uint32_t id, const struct sonde_event_cpu_sample *sample)
{
	char name[SONDE_EVENT_NAME_B + 1] = "";
	uint64_t time_ns = sample->head.time, process_ns = sample->sp;
	if (sample->stack_b >= SONDE_EVENT_NAME_B)
		memcpy(name, sample + 1, SONDE_EVENT_NAME_B);
	if (*name)
		sonde_recorder_comm(run->recorder, thread->pid, thread->tid, name, 0, time_ns);
	if (thread->tid != thread->pid && time_ns > run->start_ns && sample->lr <= time_ns - run->start_ns)
		sonde_recorder_born(run->recorder, id, time_ns - sample->lr);
	if (sample->fp) /* the thread lives on, in a sandbox */
		sonde_unsampled_sandboxed(run->unsampled, thread->pid, name);
	if (!process_ns) {
		thread->ended = 1;
		sonde_recorder_exit(run->recorder, thread->pid, thread->tid, thread->clock_ns, time_ns);
	} else {
		uint64_t most_ns = (time_ns - run->start_ns) * run->cpus;
		process->clock_ns = process_ns < most_ns ? process_ns : most_ns;
		process->thread = id;
	}
}

static void on_sample(void *context, pid_t pid, pid_t tid, uint32_t id, const struct sonde_event_cpu_sample *sample)
{
	struct sonde_source_run *run = context;
	struct sonde_timer_thread *thread = sonde_timer_tasks_thread(&run->tasks, pid, tid);
	struct sonde_timer_process *process = sonde_timer_tasks_find_process(&run->tasks, pid);
	if (!thread || !process)
		return;
	if (sample->pc) {
		look_at_maps(run, process, sample->head.time);
		unwind(run, thread, sample);
		run->samples++;
	}
	struct row row = {.time_ns = sample->head.time,
			  .weight_ns = weigh(run, thread, sample->cpu_ns),
			  .thread = id,
			  .stack = thread->stack,
			  .status = (uint8_t)(thread->status | (sample->pc ? 0 : SONDE_SAMPLE_EXTRA))};
	keep_row(run, process, &row);
	if (!sample->pc)
		end_thread(run, process, thread, id, sample);
}

static void on_farewell(void *context, pid_t pid, const struct sonde_link_farewell *farewell)
{
	struct sonde_source_run *run = context;
	uint64_t now_ns = sonde_clock_now_ns();
	uint64_t start_ns =
	    farewell->start_ns > run->start_ns && farewell->start_ns < now_ns ? farewell->start_ns : now_ns;
	char name[sizeof farewell->name + 1] = "";
	memcpy(name, farewell->name, sizeof farewell->name);
	/* Another source may already have seen the process and its end. */
	int is_over =
	    !sonde_recorder_alive(run->recorder, pid) && sonde_recorder_known(run->recorder, pid, pid, start_ns);
	if (!is_over && is_new(run, pid) && is_followed(run, (pid_t)farewell->parent))
		sonde_recorder_fork(run->recorder, (pid_t)farewell->parent, pid, pid, start_ns);
	sonde_recorder_comm(run->recorder, pid, pid, name, 0, start_ns);
	run->named |= pid == run->pid;
	struct sonde_timer_thread *thread = sonde_timer_tasks_thread(&run->tasks, pid, pid);
	struct sonde_timer_process *process = sonde_timer_tasks_find_process(&run->tasks, pid);
	if (!thread)
		return;
	struct row row = {.time_ns = now_ns,
			  .weight_ns = weigh(run, thread, farewell->cpu_ns),
			  .thread = sonde_recorder_thread(run->recorder, pid, pid, start_ns),
			  .stack = thread->stack,
			  .status = thread->status | SONDE_SAMPLE_EXTRA};
	keep_row(run, process, &row);
	end_threads(run, pid, 1);
	if (process) {
		process->sampled_ns = 0;
		process->ended = 1;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static void write_rows(struct sonde_source_run *run)
{
	if (!run->row_count)
		return;
	qsort(run->rows, run->row_count, sizeof *run->rows, by_time);
	for (size_t i = 0; i < run->row_count; i++) {
		const struct row *row = &run->rows[i];
		sonde_recorder_sample(run->recorder, row->time_ns, row->thread, row->stack, row->weight_ns,
				      row->status);
	}
	run->row_count = 0;
}

/* --- the source -------------------------------------------------------------------------------------------------- */

/* Returns true, and the reason, if perf events are not used. */
static int has_no_perf(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (options->no_perf)
		snprintf(why, why_b, "perf events are switched off by --no-perf");
	else if (sonde_perf_events_probe())
		snprintf(why, why_b, "%s", sonde_error_text());
	else
		return 0;
	return 1;
}

static int timer_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	char perf[256];
	if (!options->command && !options->attach) /* the caller only wants to know whether timers work */
		return sonde_preload_probe(OBJECT, why, why_b);
	if (!has_no_perf(options, perf, sizeof perf))
		return -EALREADY;
	if (options->attach) {
		snprintf(why, why_b, "%s; a running process can only be sampled with perf events: start it under sonde",
			 perf);
		return -EOPNOTSUPP;
	}
	if (options->no_inject) {
		snprintf(why, why_b, "%s; without --no-inject, timers inside the processes would sample it", perf);
		return -EOPNOTSUPP;
	}
	return sonde_preload_probe(OBJECT, why, why_b);
}

static void fini(struct sonde_source_run *run)
{
	sonde_channel_ignore(run->channel, &run->listener);
	sonde_unsampled_free(run->unsampled);
	sonde_unwinder_free(run->unwinder);
	sonde_spaces_free(run->spaces);
	sonde_images_free(run->images);
	sonde_timer_tasks_fini(&run->tasks);
	free(run->rows);
}

static int timer_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	struct sonde_recorder *recorder = context->recorder;
	run->recorder = recorder;
	run->channel = context->channel;
	run->batch = 1;
	run->cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	has_no_perf(sonde_recorder_options(recorder), run->why, sizeof run->why);
	int result = sonde_images_new(&run->images, recorder, NULL, NULL);
	result = result ? result : sonde_spaces_new(&run->spaces, run->images);
	result = result ? result : sonde_unwinder_new(&run->unwinder, recorder, run->images, run->spaces);
	result = result ? result : sonde_unsampled_new(&run->unsampled, is_known, run);
	run->listener = (struct sonde_channel_listener){.context = run,
							.source = "cpu",
							.opened = on_opened,
							.sample = on_sample,
							.closed = on_closed,
							.farewell = on_farewell};
	result = result < 0 ? result : sonde_channel_listen(run->channel, SONDE_LINK_CPU, &run->listener);
	if (result < 0)
		fini(run);
	return result;
}

/* True if only root can read our data. Root of a user namespace is an ordinary user outside of it. */
static int is_private(void)
{
	char text[128] = "";
	unsigned inside = 1, outside = 1, count = 0;
	sonde_file_read(text, sizeof text, "/proc/self/uid_map");
	return !geteuid() && sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 && !inside && !outside &&
	       count == UINT32_MAX;
}

static int timer_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	char wanted[64];
	snprintf(wanted, sizeof wanted, "%llu %u %u %d", (unsigned long long)options->rate_hz,
		 options->stack_b ? options->stack_b : STACK_DEFAULT_B, sonde_unsampled_filters(getpid()),
		 is_private());
	int result = sonde_launch_setenv(launch, ENVIRONMENT, wanted);
	return result ? result : sonde_preload_add(launch, OBJECT);
}

static int timer_start(struct sonde_source_run *run, pid_t pid)
{
	run->pid = pid;
	run->started = 1;
	run->start_ns = sonde_clock_now_ns();
	sonde_cpu_account_begin(&run->account, pid, 0);
	sonde_recorder_process(run->recorder, pid, run->start_ns);
	return 0;
}

/* Names the command by what /proc shows. The name is used until the command connects, which it may never do. */
static void name_command(struct sonde_source_run *run, uint64_t now_ns)
{
	struct sonde_proc_stat stat;
	if (run->named || sonde_proc_stat_read(&stat, run->pid, 0) < 0)
		return;
	run->named = 1;
	sonde_recorder_comm(run->recorder, run->pid, run->pid, stat.name, 1, now_ns);
}

static void timer_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns; /* writes everything that the channel has delivered */
	uint64_t now_ns = sonde_clock_now_ns();
	write_rows(run);
	name_command(run, now_ns);
	for (size_t i = 0; i < run->tasks.process_count; i++)
		if (run->tasks.processes[i].fresh)
			look_at_maps(run, &run->tasks.processes[i], now_ns);
	run->batch++;
	sonde_unwinder_begin(run->unwinder);
	if (!final)
		sonde_unsampled_poll(run->unsampled, run->pid, now_ns);
}

/* Explains what could not be recorded, and why. */
static void write_detail(const struct sonde_source_run *run, struct sonde_detail *out)
{
	struct sonde_cpu_account since = sonde_cpu_account_since(&run->account);
	uint64_t unseen_ns = sonde_cpu_account_missing(&since, run->written_ns);
	uint64_t missing_ns = sonde_cpu_account_missing(&since, run->sampled_ns);
	if (unseen_ns && !sonde_recorder_options(run->recorder)->keep_ns) /* undated: not in flight recordings */
		sonde_recorder_sample(run->recorder, sonde_clock_now_ns(), 0, 0, unseen_ns, SONDE_STACK_NOT_SAMPLED);
	sonde_detail_add(out, "%s%s", run->why, run->sampled_ns ? LIMITS : "");
	if (missing_ns)
		sonde_cpu_account_say(&since, missing_ns, out);
	sonde_unsampled_say(run->unsampled, out);
}

static void timer_stop(struct sonde_source_run *run)
{
	if (run->started) {
		struct sonde_detail detail = {0};
		write_rows(run);
		write_detail(run, &detail);
		struct sonde_recorder_state state = {
		    .state = run->sampled_ns ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_UNAVAILABLE,
		    .method = METHOD,
		    .detail = sonde_detail_text(&detail),
		    .rate_hz = (double)sonde_recorder_options(run->recorder)->rate_hz,
		    .effective_hz = run->sampled_ns ? (double)run->samples * 1e9 / (double)run->sampled_ns : 0,
		};
		sonde_recorder_source(run->recorder, "cpu", &state);
	}
	fini(run);
}

const struct sonde_source sonde_source_cpu_timer = {
    .name = "cpu",
    .title = "CPU time of every thread, by timers inside the processes, if perf events are forbidden",
    .cost = "at the kernel's tick 1.2 % of the program's CPU time (docs/PERFORMANCE.md)",
    .run_b = sizeof(struct sonde_source_run),
    .probe = timer_probe,
    .open = timer_open,
    .prepare = timer_prepare,
    .start = timer_start,
    .drain = timer_drain,
    .stop = timer_stop,
};
