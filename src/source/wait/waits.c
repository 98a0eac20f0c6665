/* waits.c: the waits source: where threads wait and for what, from hooks inside the target (src/inject/wait/waits.h).
 *
 * libsonde-waits.so is preloaded into the command and its children. It interposes the blocking calls of the C library:
 * for locks, time and other tasks (--threads), for files (--io). Its words arrive through the channel
 * (target/channel.h), which is drained before this source.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/wait.h"
#include "source/target/unreachable.h"
#include "source/target/interposed.h"
#include "source/target/preload.h"
#include "source/record/detail.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/target/unsampled.h"
#include "source/wait/early.h"
#include "source/wait/process.h"
#include "source/wait/waits.h"
#include "source/target/channel.h"
#include "util/array.h"

#define OBJECT SONDE_WAITS_OBJECT
/* Read by src/inject: our seccomp filters, a set of enum sonde_wait_what, pid and descriptor of the early slots. */
#define ENVIRONMENT "SONDE_WAITS"
#define METHOD "libc calls; stacks from call-frame tables"

struct process {
	pid_t pid;
	struct sonde_wait_process *waits;
	int has_left;
	struct process *next;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_interposed interposed;
	struct sonde_wait_chunks chunks;
	struct sonde_wait_early *early; /* NULL = all processes connect immediately */
	struct sonde_unreachable *cut_off;
	struct sonde_channel *channel;
	struct sonde_channel_listener listener;
	struct process *processes; /* the newest lifetime of a pid first */
	uint8_t *recorded;         /* by process id in the recording: 1 = the process has reported waits */
	size_t recorded_count;
	uint64_t connected, left, hidden;
	char left_name[16], hidden_name[16]; /* name of the first such process */
};

/* --- what processes report --------------------------------------------------------------------------------------- */

/* If out of memory, the process counts as not connected. */
static void note_recorded(struct sonde_source_run *run, uint32_t id)
{
	if (!SONDE_ARRAY_RESERVE_ZEROS(run->recorded, run->recorded_count, (size_t)id + 1))
		run->recorded[id] = 1;
}

/* Notes a process that reports early: it counts as recorded, too. */
static void on_begun(void *context, uint32_t process)
{
	note_recorded(context, process);
}

static void on_opened(void *context, pid_t pid, uint32_t clock)
{
	struct sonde_source_run *run = context;
	struct process *process = calloc(1, sizeof *process);
	struct sonde_wait_process_options options = {.recorder = run->recorder,
						     .interposed = &run->interposed,
						     .chunks = &run->chunks,
						     .channel = run->channel,
						     .pid = pid,
						     .clock = clock,
						     .time_ns = sonde_clock_now_ns()};
	sonde_wait_early_connected(run->early, pid);
	sonde_spaces_exec(run->interposed.spaces, pid, "");
	if (!process || sonde_wait_process_new(&process->waits, &options)) {
		free(process);
		return;
	}
	process->pid = pid;
	process->next = run->processes;
	run->processes = process;
	run->connected++;
	note_recorded(run, sonde_recorder_process(run->recorder, pid, sonde_clock_now_ns()));
}

static struct process *find(const struct sonde_source_run *run, pid_t pid)
{
	struct process *process = run->processes;
	while (process && process->pid != pid)
		process = process->next;
	return process;
}

static void on_words(void *context, pid_t pid, const struct sonde_pool_thread *thread, const uint64_t *words,
		     size_t count)
{
	struct process *process = find(context, pid);
	if (process && words)
		sonde_wait_process_add(process->waits, thread->id, words, count);
}

/* Ends the oldest lifetime of the pid. */
static void on_closed(void *context, pid_t pid)
{
	struct sonde_source_run *run = context;
	struct process **oldest = NULL;
	for (struct process **link = &run->processes; *link; link = &(*link)->next)
		if ((*link)->pid == pid)
			oldest = link;
	if (!oldest)
		return;
	struct process *process = *oldest;
	*oldest = process->next;
	sonde_wait_process_end(process->waits);
	free(process);
}

static void on_left(void *context, pid_t pid, const struct sonde_link_leave *leave)
{
	struct sonde_source_run *run = context;
	for (struct process *process = run->processes; process; process = process->next)
		process->has_left |= process->pid == pid;
	if (leave->reason == SONDE_LINK_NO_FILES) {
		if (!run->hidden++)
			memcpy(run->hidden_name, leave->name, sizeof leave->name - 1);
	} else if (!run->left++) {
		memcpy(run->left_name, leave->name, sizeof leave->name - 1);
	}
}

/* Called before the maps are read again: addresses in objects unloaded since then are resolved with the old maps. */
static void on_passed(void *context, pid_t pid, const struct sonde_channel_drainer *drainer)
{
	(void)context;
	drainer->drain(drainer->context, pid);
}

static int on_table(void *context, pid_t pid, uint64_t address, struct sonde_link_table *out)
{
	struct sonde_source_run *run = context;
	return sonde_interposed_table(&run->interposed, pid, address, out);
}

static int is_connected(void *context, pid_t pid)
{
	return find(context, pid) != NULL;
}

static int is_unreachable(void *context, uint32_t process)
{
	const struct sonde_source_run *run = context;
	return sonde_unreachable_has(run->cut_off, process);
}

/* True if hooks report the waits of a process. A process that is unreachable now may have reported early, when it ran
 * another program. */
static int covers(void *context, pid_t pid)
{
	const struct sonde_source_run *run = context;
	const struct process *process = find(run, pid);
	if (process)
		return !process->has_left;
	return sonde_wait_early_has(run->early, pid) &&
	       !is_unreachable(context, sonde_recorder_alive(run->recorder, pid));
}

static int covered(void *context, uint32_t process)
{
	const struct sonde_source_run *run = context;
	return process < run->recorded_count && run->recorded[process] && !is_unreachable(context, process);
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static int waits_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (!options->waits)
		return -ECANCELED;
	if (options->no_inject) {
		snprintf(why, why_b, "--no-inject injects nothing into processes");
		return -EOPNOTSUPP;
	}
	if (options->attach) {
		snprintf(why, why_b,
			 "calls are recorded in programs that sonde starts (sonde record --threads -- …); this one is "
			 "sampled from outside");
		return -EOPNOTSUPP;
	}
	return sonde_preload_probe(OBJECT, why, why_b);
}

static void fini(struct sonde_source_run *run)
{
	free(run->recorded);
	sonde_channel_ignore(run->channel, &run->listener);
	while (run->processes)
		on_closed(run, run->processes->pid);
	sonde_wait_early_free(run->early);
	sonde_unreachable_free(run->cut_off);
	sonde_wait_chunks_fini(&run->chunks);
	sonde_interposed_fini(&run->interposed);
}

static int waits_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	run->recorder = context->recorder;
	run->channel = context->channel;
	sonde_wait_chunks_init(&run->chunks, run->recorder);
	int result = sonde_interposed_init(&run->interposed, run->recorder);
	run->listener = (struct sonde_channel_listener){.context = run,
							.source = "waits",
							.opened = on_opened,
							.heap = on_words,
							.closed = on_closed,
							.left = on_left,
							.table = on_table,
							.passed = on_passed,
							.covers = covers,
							.covered = covered,
							.unreachable = is_unreachable};
	result = result < 0 ? result : sonde_channel_listen(run->channel, SONDE_LINK_WAITS, &run->listener);
	if (result < 0)
		fini(run);
	return result;
}

static int waits_prepare(struct sonde_source_run *run, struct sonde_launch *launch)
{
	char wanted[96], place[32] = "";
	struct sonde_wait_early_options early = {.recorder = run->recorder,
						 .interposed = &run->interposed,
						 .chunks = &run->chunks,
						 .channel = run->channel,
						 .context = run,
						 .begun = on_begun};
	run->early = sonde_wait_early_new(&early);
	if (run->early)
		sonde_wait_early_place(run->early, place, sizeof place);
	snprintf(wanted, sizeof wanted, "%u %u %s", sonde_unsampled_filters(getpid()),
		 sonde_recorder_options(run->recorder)->waits, place);
	const struct sonde_unreachable_options cut_off = {.recorder = run->recorder,
							  .channel = run->channel,
							  .source = "waits",
							  .object = OBJECT,
							  .connected = is_connected,
							  .context = run};
	run->cut_off = sonde_unreachable_new(&cut_off);
	int result = sonde_launch_setenv(launch, ENVIRONMENT, wanted);
	return result ? result : sonde_preload_add(launch, OBJECT);
}

static void waits_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	sonde_wait_early_drain(run->early, final);
	sonde_unreachable_poll(run->cut_off, sonde_clock_now_ns());
	for (struct process *process = run->processes; process; process = process->next)
		sonde_wait_process_settle(process->waits);
}

static void waits_flush(struct sonde_source_run *run)
{
	sonde_wait_chunks_flush(&run->chunks);
}

static void waits_stop(struct sonde_source_run *run)
{
	struct sonde_detail detail = {0};
	sonde_wait_early_drain(run->early, 1);
	run->connected += sonde_wait_early_count(run->early);
	uint64_t cut_off = sonde_unreachable_end(run->cut_off);
	if (cut_off)
		sonde_detail_add(&detail, "calls of %llu process%s were not recorded: " SONDE_UNREACHABLE_WHY,
				 (unsigned long long)cut_off, cut_off == 1 ? "" : "es");
	else if (!run->connected)
		sonde_detail_add(&detail,
				 "no process made a blocking call, or only static programs, which do not load " OBJECT
				 " (they are sampled from outside)");
	else if (run->left)
		sonde_detail_add(&detail, "%llu process%s (%s) left: recorded until then",
				 (unsigned long long)run->left, run->left == 1 ? "" : "es", run->left_name);
	if (run->hidden)
		sonde_detail_add(&detail, "%llu process%s (%s) %s not recorded: " SONDE_PRELOAD_HIDDEN,
				 (unsigned long long)run->hidden, run->hidden == 1 ? "" : "es", run->hidden_name,
				 run->hidden == 1 ? "was" : "were");
	struct sonde_recorder_state state = {
	    .state = !run->connected                       ? SONDE_SOURCE_UNAVAILABLE
		     : run->left || run->hidden || cut_off ? SONDE_SOURCE_LIMITED
							   : SONDE_SOURCE_ON,
	    .method =
		sonde_recorder_options(run->recorder)->waits & SONDE_WAIT_WHAT_LOCKS ? METHOD : SONDE_WAIT_METHOD_FILES,
	    .detail = sonde_detail_text(&detail),
	};
	while (run->processes)
		on_closed(run, run->processes->pid);
	sonde_wait_chunks_flush(&run->chunks);
	sonde_recorder_source(run->recorder, "waits", &state);
	fini(run);
}

/* --- options ----------------------------------------------------------------------------------------------------- */

static int set_threads(void *context, const char *value)
{
	struct sonde_record_options *options = context;
	(void)value;
	options->waits |= SONDE_WAIT_WHAT_LOCKS;
	return 0;
}

static int set_io(void *context, const char *value)
{
	struct sonde_record_options *options = context;
	(void)value;
	options->waits |= SONDE_WAIT_WHAT_IO;
	return 0;
}

static const struct sonde_option waits_options[] = {
    {"threads", 0, NULL, "record where threads wait, and lock contention", SONDE_BY(set_threads)},
    {"io", 0, NULL, "record file and socket calls: bytes, time (+100 ns a call)", SONDE_BY(set_io)},
    {0},
};

const struct sonde_source sonde_source_waits = {
    .name = "waits",
    .title = "where threads wait: locks, time, other tasks (--threads), files (--io)",
    .cost = "depends on the number of blocking calls",
    .options = waits_options,
    .run_b = sizeof(struct sonde_source_run),
    .probe = waits_probe,
    .open = waits_open,
    .prepare = waits_prepare,
    .drain = waits_drain,
    .flush = waits_flush,
    .stop = waits_stop,
};
