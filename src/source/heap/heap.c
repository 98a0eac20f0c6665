/* heap.c: the heap source: allocations by call site, from hooks inside the target (src/inject/heap/heap.h).
 *
 * libsonde-heap.so is preloaded into the command and its children. Its words arrive through the channel
 * (target/channel.h), which is drained before this source; they are put in order (heap/merge.h), live blocks are
 * tracked, and events are written (heap/chunks.h). This source also provides the call-frame tables by which the target
 * unwinds its stacks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/target/unreachable.h"
#include "source/heap/freeze.h"
#include "source/heap/process.h"
#include "source/target/interposed.h"
#include "source/target/preload.h"
#include "source/resource/proc_stat.h"
#include "source/record/detail.h"
#include "source/record/snapshots.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/target/unsampled.h"
#include "source/target/channel.h"
#include "util/error.h"
#include "util/quantity.h"

#define OBJECT "libsonde-heap.so"
/* read by src/inject: number of our seccomp filters, mean bytes between samples (0 = every block), whether light mode
 * is on */
#define ENVIRONMENT "SONDE_HEAP"
#define DEFAULT_MEAN "512K" /* between samples */
#define METHOD "allocation functions, every call; stacks from call-frame tables"
#define METHOD_SAMPLED "allocation functions, sampled by bytes; stacks from call-frame tables"

/* One lifetime of a program in a process. */
struct process {
	pid_t pid;
	int ended; /* it writes no further data */
	struct sonde_heap_process *heaps;
	struct process *next;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_interposed interposed;
	struct sonde_channel *channel;
	struct sonde_snapshots *snapshots;
	struct sonde_channel_listener listener, zones_listener;
	pid_t *zoned; /* processes that have zones */
	size_t zoned_count;
	struct process *processes;
	struct sonde_heap_late late;
	struct sonde_unreachable *cut_off;
	uint64_t unreachable_count;
	uint64_t cut_cycles, cut_ns; /* one time, on two clocks, that had passed before the rings were read */
	uint64_t connected;
	uint64_t own_malloc; /* those whose malloc is in the executable, so that no hook can precede it */
	uint64_t left[SONDE_LINK_REASONS];
	char left_name[SONDE_LINK_REASONS][16]; /* name of the first such process */
};

/* --- what processes report -------------------------------------------------------------------------------------- */

static struct process *find(struct sonde_source_run *run, pid_t pid)
{
	struct process *process = run->processes;
	while (process && process->pid != pid)
		process = process->next;
	return process;
}

static int is_connected(void *context, pid_t pid)
{
	return find(context, pid) != NULL;
}

/* Takes the due snapshots of a process. */
static void take_snapshots(struct sonde_source_run *run, struct process *process, uint64_t until_ns)
{
	struct sonde_snapshots *snapshots = run->snapshots;
	uint32_t id = sonde_heap_process_id(process->heaps);
	struct sonde_snapshot_live live;
	uint64_t due_ns;
	sonde_snapshots_claim(snapshots, id);
	while ((due_ns = sonde_snapshots_due(snapshots, id, until_ns))) {
		uint64_t time_ns = sonde_heap_process_flush(process->heaps, due_ns, &live);
		sonde_snapshots_take(snapshots, id, time_ns,
				     sonde_heap_process_has_malloc(process->heaps) ? &live : NULL);
	}
}

static int is_running(pid_t pid)
{
	struct sonde_proc_stat stat;
	return !sonde_proc_stat_read(&stat, pid, 0) && stat.state != 'Z' && stat.state != 'X';
}

/* Ends a process. `alive`: only the recording ends, and the process may continue. */
static void end(struct sonde_source_run *run, struct process *process, int alive)
{
	struct sonde_snapshot_live live;
	take_snapshots(run, process, UINT64_MAX);
	struct sonde_meta_snapshot snapshot = {
	    .process = sonde_heap_process_id(process->heaps),
	    .reason = SONDE_SNAPSHOT_END,
	    .label = sonde_recorder_text(run->recorder, "end"),
	    .time_ns = sonde_heap_process_flush(process->heaps, UINT64_MAX, &live),
	    .rss_b = alive ? sonde_snapshots_resident_b(process->pid) : 0,
	};
	if (snapshot.time_ns)
		sonde_recorder_snapshot(run->recorder, &snapshot);
	if (alive && is_running(process->pid))
		sonde_heap_process_goes_on(process->heaps);
	sonde_heap_process_end(process->heaps);
	free(process);
}

/* Ends the lifetimes that are over: those of one pid, or all (pid 0). */
static void end_ended(struct sonde_source_run *run, pid_t pid, int alive)
{
	for (struct process **link = &run->processes; *link;) {
		struct process *process = *link;
		if (!process->ended || (pid && process->pid != pid)) {
			link = &process->next;
			continue;
		}
		*link = process->next;
		end(run, process, alive);
	}
}

static void on_flags(void *context, pid_t pid, uint32_t flags)
{
	struct sonde_source_run *run = context;
	(void)pid;
	run->own_malloc += (flags & SONDE_LINK_OWN_MALLOC) != 0;
}

static void on_left(void *context, pid_t pid, const struct sonde_link_leave *leave)
{
	struct sonde_source_run *run = context;
	struct process *process = find(run, pid);
	if (leave->reason == SONDE_LINK_OWN) {
		run->own_malloc++;
		return;
	}
	if (process)
		sonde_heap_process_left(process->heaps, leave);
	if (!run->left[leave->reason]++)
		memcpy(run->left_name[leave->reason], leave->name, sizeof leave->name - 1);
}

static void lose_process(struct sonde_source_run *run, pid_t pid)
{
	struct sonde_recorder_loss loss = {
	    .source = "heap",
	    .cause = "processes that are not recorded: no memory for their blocks",
	    .process = sonde_recorder_process(run->recorder, pid, sonde_clock_now_ns()),
	    .count = 1,
	};
	sonde_recorder_lost(run->recorder, &loss);
}

static void on_opened(void *context, pid_t pid, uint32_t clock)
{
	struct sonde_source_run *run = context;
	struct sonde_snapshot_live live;
	end_ended(run, pid, 0); /* resolve the previous program's addresses while they are still valid */
	struct process *before = find(run, pid);
	if (before) /* the process has executed another program; the previous one's ring was read in this round */
		sonde_heap_process_flush(before->heaps, UINT64_MAX, &live);
	struct process *process = calloc(1, sizeof *process);
	sonde_spaces_exec(run->interposed.spaces, pid, "");
	const struct sonde_heap_process_options options = {.recorder = run->recorder,
							   .unwinder = run->interposed.unwinder,
							   .fit = sonde_channel_fit(run->channel),
							   .late = &run->late,
							   .pid = pid,
							   .clock = clock};
	if (!process || sonde_heap_process_new(&process->heaps, &options)) {
		lose_process(run, pid);
		free(process);
		return;
	}
	process->pid = pid;
	for (size_t i = 0; i < run->zoned_count; i++)
		if (run->zoned[i] == pid)
			sonde_heap_process_exact_times(process->heaps);
	process->next = run->processes; /* the newest lifetime of a pid is found first */
	run->processes = process;
	run->connected++;
}

/* The process has zones: allocations are assigned to them by the times of events (analyze/heap/zones.c). */
static void on_zones_opened(void *context, pid_t pid, uint32_t clock)
{
	struct sonde_source_run *run = context;
	struct process *process = find(run, pid);
	pid_t *zoned = realloc(run->zoned, (run->zoned_count + 1) * sizeof *zoned);
	(void)clock;
	if (process)
		sonde_heap_process_exact_times(process->heaps);
	if (!zoned)
		return;
	run->zoned = zoned;
	run->zoned[run->zoned_count++] = pid;
}

static void on_zones_closed(void *context, pid_t pid)
{
	struct sonde_source_run *run = context;
	for (size_t i = 0; i < run->zoned_count; i++) {
		if (run->zoned[i] != pid)
			continue;
		run->zoned[i] = run->zoned[--run->zoned_count];
		return;
	}
}

static void on_heap(void *context, pid_t pid, const struct sonde_pool_thread *thread, const uint64_t *words,
		    size_t count)
{
	struct process *process = find(context, pid);
	if (!process)
		return;
	if (words)
		sonde_heap_process_add(process->heaps, thread->serial, thread->id, words, count);
	else
		sonde_heap_process_thread_end(process->heaps, thread->serial);
}

/* Marks the process as ended. It is closed after all rings of the round have been read, since requests of the program
 * (for snapshots, for example) come through another ring (target/pool.h).
 */
static void on_closed(void *context, pid_t pid)
{
	struct sonde_source_run *run = context;
	struct process *oldest = NULL;
	for (struct process *process = run->processes; process; process = process->next)
		if (process->pid == pid && !process->ended)
			oldest = process;
	if (oldest)
		oldest->ended = 1;
}

/* Drains the rings, and sorts the events up to the time when they were read; NULL = an unknown process. */
static struct process *pass(struct sonde_source_run *run, pid_t pid, const struct sonde_channel_drainer *drainer)
{
	struct process *process = find(run, pid);
	uint64_t cycles = sonde_clock_cycles(), ns = sonde_clock_now_ns();
	if (!process)
		return NULL;
	drainer->drain(drainer->context, pid);
	take_snapshots(run, process, ns);
	sonde_heap_process_run(process->heaps, cycles, ns);
	return process;
}

/* Called before the maps are read again: addresses in objects unloaded since then are resolved with the old maps. */
static void on_passed(void *context, pid_t pid, const struct sonde_channel_drainer *drainer)
{
	pass(context, pid, drainer);
}

static int on_table(void *context, pid_t pid, uint64_t address, struct sonde_link_table *out)
{
	struct sonde_source_run *run = context;
	return sonde_interposed_table(&run->interposed, pid, address, out);
}

/* Answers a query for a heap's totals, which include everything that the process reported before the query. */
static int on_blocks(void *context, pid_t pid, const char *name, const struct sonde_channel_drainer *drainer,
		     struct sonde_link_blocks *out)
{
	struct process *process = pass(context, pid, drainer);
	return process ? sonde_heap_process_totals(process->heaps, name, out) : -ENOENT;
}

struct scan {
	struct sonde_source_run *run;
	struct process *process;
	const struct sonde_channel_drainer *drainer;
};

/* Before a leak scan: takes the snapshots that were requested earlier, before later events are written. */
static void drain_for_scan(void *context, pid_t pid)
{
	const struct scan *scan = context;
	scan->drainer->drain(scan->drainer->context, pid);
	take_snapshots(scan->run, scan->process, UINT64_MAX);
}

static int on_scan(void *context, pid_t pid, const struct sonde_link_scan *question,
		   const struct sonde_channel_drainer *drainer)
{
	struct scan scan = {context, find(context, pid), drainer};
	struct sonde_channel_drainer own = {&scan, drain_for_scan, drainer->asker};
	return scan.process ? sonde_heap_process_scan(scan.process->heaps, question, &own) : -ESRCH;
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static int heap_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (!options->heap)
		return -ECANCELED;
	if (options->no_inject) {
		snprintf(why, why_b, "--no-inject injects nothing into processes");
		return -EOPNOTSUPP;
	}
	if (options->attach) {
		snprintf(why, why_b,
			 "allocations are recorded in programs that sonde starts: sonde record --heap -- …");
		return -EOPNOTSUPP;
	}
	return sonde_preload_probe(OBJECT, why, why_b);
}

static void fini(struct sonde_source_run *run)
{
	sonde_channel_ignore(run->channel, &run->listener);
	sonde_channel_ignore(run->channel, &run->zones_listener);
	while (run->processes) {
		struct process *process = run->processes;
		run->processes = process->next;
		sonde_heap_process_free(process->heaps);
		free(process);
	}
	sonde_unreachable_free(run->cut_off);
	sonde_interposed_fini(&run->interposed);
	free(run->zoned);
}

static int heap_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	struct sonde_channel *channel = context->channel;
	run->recorder = context->recorder;
	run->channel = channel;
	run->snapshots = context->snapshots;
	run->listener = (struct sonde_channel_listener){.context = run,
							.source = "heap",
							.opened = on_opened,
							.flags = on_flags,
							.heap = on_heap,
							.closed = on_closed,
							.left = on_left,
							.table = on_table,
							.passed = on_passed,
							.scan = on_scan,
							.blocks = on_blocks};
	run->zones_listener =
	    (struct sonde_channel_listener){.context = run, .opened = on_zones_opened, .closed = on_zones_closed};
	int result = sonde_interposed_init(&run->interposed, run->recorder);
	result = result < 0 ? result : sonde_channel_listen(channel, SONDE_LINK_HEAP, &run->listener);
	result = result < 0 ? result : sonde_channel_listen(channel, SONDE_LINK_ZONES, &run->zones_listener);
	if (result < 0)
		fini(run);
	return result;
}

static int heap_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	char wanted[48];
	snprintf(wanted, sizeof wanted, "%u %llu %d", sonde_unsampled_filters(getpid()),
		 (unsigned long long)options->heap_mean_b, options->heap_is_light);
	const struct sonde_unreachable_options cut_off = {.recorder = run->recorder,
							  .channel = run->channel,
							  .source = "heap",
							  .object = OBJECT,
							  .connected = is_connected,
							  .context = run};
	run->cut_off = sonde_unreachable_new(&cut_off);
	int result = sonde_launch_setenv(launch, ENVIRONMENT, wanted);
	return result ? result : sonde_preload_add(launch, OBJECT);
}

static void heap_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	end_ended(run, 0, final);
	sonde_unreachable_poll(run->cut_off, sonde_clock_now_ns());
	sonde_heap_thaw_late(&run->late);
	for (struct process *process = run->processes; process; process = process->next) {
		take_snapshots(run, process, run->cut_ns);
		sonde_heap_process_run(process->heaps, run->cut_cycles, run->cut_ns);
	}
	run->cut_cycles = sonde_clock_cycles();
	run->cut_ns = sonde_clock_now_ns();
}

/* Reports in how many processes recording stopped, and why. */
static void write_left(const struct sonde_source_run *run, struct sonde_detail *out)
{
	static const char *const reasons[SONDE_LINK_REASONS] = {
	    [SONDE_LINK_SANDBOX] =
		"locked down (seccomp), where sonde's calls could get it killed: recorded until then",
	    [SONDE_LINK_NO_CAPACITY] =
		"low on address space (ulimit -v, ulimit -d): not recorded from there on; raise it by 64 MB",
	    [SONDE_LINK_NO_CLOCK] = "recorded until it disabled the cycle counter (PR_SET_TSC)",
	    [SONDE_LINK_SILENT] = "not recorded: the recorder was stopped or too busy when it started",
	    [SONDE_LINK_NO_FILES] = "not recorded: " SONDE_PRELOAD_HIDDEN,
	};
	for (int i = 0; i < SONDE_LINK_REASONS; i++)
		if (run->left[i])
			sonde_detail_add(out, "%llu process%s (%s) %s %s", (unsigned long long)run->left[i],
					 run->left[i] == 1 ? "" : "es", run->left_name[i],
					 run->left[i] == 1 ? "was" : "were", reasons[i]);
}

/* Adds to the detail what was not recorded, and why. */
static void write_detail(const struct sonde_source_run *run, struct sonde_detail *out)
{
	write_left(run, out);
	if (run->unreachable_count)
		sonde_detail_add(out, "allocations of %llu process%s were not recorded: " SONDE_UNREACHABLE_WHY,
				 (unsigned long long)run->unreachable_count, run->unreachable_count == 1 ? "" : "es");
	int is_light = sonde_recorder_options(run->recorder)->heap_is_light;
	if (!run->connected && !out->used && !run->own_malloc && is_light)
		sonde_detail_add(out, "no sampled process allocated enough; --heap=full records every allocation");
	else if (!run->connected && !out->used && !run->own_malloc)
		sonde_detail_add(out, "no process loaded " OBJECT ": static, setuid and capability programs do not");
	else if (run->own_malloc)
		sonde_detail_add(out,
				 "%llu process%s an allocator that precedes the hooks, in the executable or "
				 "preloaded: its blocks are not recorded; link it as a shared library, or preload it "
				 "last",
				 (unsigned long long)run->own_malloc, run->own_malloc == 1 ? " has" : "es have");
}

static void heap_stop(struct sonde_source_run *run)
{
	const struct sonde_record_options *options = sonde_recorder_options(run->recorder);
	struct sonde_detail detail = {0};
	run->unreachable_count = sonde_unreachable_end(run->cut_off);
	write_detail(run, &detail);
	struct sonde_recorder_state state = {
	    .state = !run->connected && !run->left[SONDE_LINK_SANDBOX] ? SONDE_SOURCE_UNAVAILABLE
		     : detail.used                                     ? SONDE_SOURCE_LIMITED
								       : SONDE_SOURCE_ON,
	    .method = options->heap_mean_b ? METHOD_SAMPLED : METHOD,
	};
	if (options->heap_is_light)
		sonde_detail_add(&detail, SONDE_HEAP_NOT_REQUESTED);
	state.detail = sonde_detail_text(&detail);
	sonde_recorder_source(run->recorder, "heap", &state);
	fini(run);
}

/* --- options ----------------------------------------------------------------------------------------------------- */

/* Handles --heap[=VALUE]. `value` NULL: blocks are sampled, with the default mean. */
static int set_heap(void *context, const char *value)
{
	struct sonde_record_options *record = context;
	record->heap = 1;
	record->heap_is_light = value && !strcmp(value, "light");
	record->heap_mean_b = 0;
	if (value && !strcmp(value, "full"))
		return 0;
	int rc = sonde_quantity_bytes(&record->heap_mean_b, value && !record->heap_is_light ? value : DEFAULT_MEAN);
	if (!rc && !record->heap_mean_b)
		rc = sonde_error(EINVAL, "'%s': --heap=full records every allocation", value);
	return rc;
}

static const struct sonde_option heap_options[] = {
    {"heap", 0, "[=full|SIZE|light]", "record allocations (a sample per 512K), mappings, leaks", SONDE_BY(set_heap)},
    {0},
};

const struct sonde_source sonde_source_heap = {
    .name = "heap",
    .title = "allocations: call sites, peak, live at exit (--heap)",
    .cost = "--heap=full: 1.1 to 1.5 times the program's CPU time, recorder 1.3 to 1.7; sampled: 4 ns a malloc and "
	    "free (docs/PERFORMANCE.md)",
    .options = heap_options,
    .manual = "Modes of --heap\n"
	      "--heap\tsamples of allocations, one per 512 KiB on average; mappings; leaks\n"
	      "--heap=SIZE\tthe same, with one sample per SIZE bytes on average\n"
	      "--heap=full\tevery allocation, every mapping, leaks\n"
	      "--heap=light\tonly samples of allocations, and only of processes that allocate much\n",
    .run_b = sizeof(struct sonde_source_run),
    .probe = heap_probe,
    .open = heap_open,
    .prepare = heap_prepare,
    .drain = heap_drain,
    .stop = heap_stop,
};
