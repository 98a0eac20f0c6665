/* resources.c: the resources source: periodically reads the resource usage of processes and the machine, as series.
 *
 * A round reads all processes of the tree (resource/rows.h) and the machine (resource/machine.h): at multiples of
 * --interval since the start, first when the command starts and last when the recording ends. The command is also read
 * when it has died and has not been waited for: then its CPU time and faults are final. All rounds together take at
 * most 0.2 % of a CPU: a round that would exceed this share is delayed, and the SOURCE record states the rate that was
 * achieved. Details and most data of the machine are read only every half second, because readings are expensive:
 * caches are cold, so each costs three times as much as in a loop.
 *
 * Without perf events, processes are found here (resource/tree.h), and end when they are found to have exited.
 * Processes that start and exit between two rounds appear only in their parents' counts of waited-for children.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/resource/budget.h"
#include "source/resource/machine.h"
#include "source/resource/rows.h"
#include "source/resource/tree.h"
#include "source/record/detail.h"
#include "source/record/snapshots.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "util/array.h"

#define DEFAULT_EVERY_NS 100000000u
#define DETAIL_EVERY_NS 500000000u
#define SHARE 500u         /* 1/SHARE of a CPU */
#define FILES_A_PROCESS 8u /* descriptors needed per process, including those of other sources */
#define FILES_STEP 64u
#define LEFT_NS 4000000 /* unused budget that may be saved up */
#define METHOD "/proc/PID/stat, status, io and CPU clocks; /proc and cgroups of the machine"

/* A number of the machine. */
struct machine_row {
	enum sonde_metric metric;
	char object[256];
	uint32_t series;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_resources_machine *machine;
	struct sonde_resources_rows rows;
	struct machine_row *numbers; /* in reading order */
	size_t number_count, number_cap, number_at;
	struct sonde_resources_tree tree;
	int command_fd; /* the command's pidfd; −1 = none */
	struct sonde_budget budget;
	uint64_t every_ns, start_ns, last_ns, next_ns, next_detail_ns, point_ns;
	uint64_t first_ns, rounds, held_back, spent_ns;
};

/* --- points ------------------------------------------------------------------------------------------------------- */

static struct machine_row *number_of(struct sonde_source_run *run, enum sonde_metric metric, const char *object)
{
	for (size_t i = 0; i < run->number_count; i++) { /* usually the next one */
		size_t at = (run->number_at + i) % run->number_count;
		struct machine_row *row = &run->numbers[at];
		if (row->metric == metric && !strcmp(row->object, object)) {
			run->number_at = at + 1;
			return row;
		}
	}
	if (SONDE_ARRAY_RESERVE(run->numbers, run->number_cap, run->number_count + 1))
		return NULL;
	struct machine_row *row = &run->numbers[run->number_count++];
	*row = (struct machine_row){.metric = metric};
	snprintf(row->object, sizeof row->object, "%s", object);
	row->series = sonde_recorder_series(run->recorder, metric, 0, 0, *object ? object : NULL);
	return row;
}

static void put_number(void *context, enum sonde_metric metric, const char *object, int64_t value)
{
	struct sonde_source_run *run = context;
	const struct machine_row *row = number_of(run, metric, object ? object : "");
	if (row)
		sonde_recorder_point(run->recorder, run->point_ns, row->series, value);
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static uint64_t after(const struct sonde_source_run *run, uint64_t time_ns)
{
	return run->start_ns + ((time_ns - run->start_ns) / run->every_ns + 1) * run->every_ns;
}

static void read_all(struct sonde_source_run *run, uint64_t now_ns, int is_final)
{
	int is_detailed = is_final || now_ns >= run->next_detail_ns;
	run->point_ns = now_ns;
	sonde_resources_machine_read(run->machine, is_detailed, put_number, run);
	if (run->rows.finds_processes)
		sonde_resources_tree_look(&run->tree, sonde_resources_machine_last_pid(run->machine), now_ns);
	sonde_resources_rows_read(&run->rows, is_detailed, is_final);
	sonde_resources_rows_end_gone(&run->rows, now_ns, is_final);
	if (is_detailed)
		run->next_detail_ns = after(run, now_ns + DETAIL_EVERY_NS - run->every_ns);
}

static void round_of(struct sonde_source_run *run, int is_final)
{
	uint64_t before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID), now_ns = sonde_clock_now_ns();
	read_all(run, now_ns, is_final);
	run->first_ns = run->rounds++ ? run->first_ns : now_ns;
	run->last_ns = now_ns;
	now_ns = sonde_clock_now_ns();
	uint64_t spent_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	run->spent_ns += spent_ns;
	sonde_budget_spend(&run->budget, spent_ns, now_ns);
	run->next_ns = after(run, now_ns);
	uint64_t due_ns = sonde_budget_due_ns(&run->budget);
	if (due_ns <= run->next_ns)
		return;
	run->held_back++;
	run->next_ns = after(run, due_ns);
}

/* Reads the command when it has died: it exists until we wait for it, and its values are final. Its children are read
 * as well, since it may have waited for some of them. */
static void read_dead(struct sonde_source_run *run)
{
	struct pollfd dead = {.fd = run->command_fd, .events = POLLIN};
	if (run->command_fd < 0 || poll(&dead, 1, 0) <= 0)
		return;
	close(run->command_fd);
	run->command_fd = -1;
	sonde_resources_rows_read(&run->rows, 1, 1);
}

/* --- the source's record ----------------------------------------------------------------------------------------- */

/* Suggests a limit with the descriptors that each process needs and a few more, rounded up. */
static void append_unread(const struct sonde_source_run *run, struct sonde_detail *detail)
{
	uint64_t limit = run->rows.files_max, least = limit + FILES_A_PROCESS * (run->rows.unread + 1);
	least += FILES_STEP - least % FILES_STEP;
	if (!run->rows.unread && !run->tree.was_unread)
		return;
	char who[64] = "processes may have been missed";
	if (run->rows.unread)
		snprintf(who, sizeof who, "%llu process%s not always read", (unsigned long long)run->rows.unread,
			 run->rows.unread == 1 ? " was" : "es were");
	sonde_detail_add(detail,
			 "%s: the hard limit of %llu open files was reached: raise it to ulimit -Hn %llu or more", who,
			 (unsigned long long)limit, (unsigned long long)least);
}

static void append_source(const struct sonde_source_run *run)
{
	struct sonde_recorder_state state = {
	    .state = SONDE_SOURCE_ON, .method = METHOD, .rate_hz = 1e9 / (double)run->every_ns};
	struct sonde_detail detail = {0};
	char missing[512];
	double every_ns = run->rounds > 1 ? (double)(run->last_ns - run->first_ns) / (double)(run->rounds - 1) : 0;
	state.effective_hz = every_ns > (double)run->every_ns ? 1e9 / every_ns : state.rate_hz; /* the last is early */
	if (run->held_back && every_ns > 1.2 * (double)run->every_ns)
		sonde_detail_add(
		    &detail,
		    "read every %.3g ms instead of %.3g ms: so many processes and threads would take more than %.1f %% "
		    "of a core",
		    every_ns / 1e6, (double)run->every_ns / 1e6, 100.0 / SHARE);
	append_unread(run, &detail);
	if (run->rows.hidden)
		sonde_detail_add(&detail, "%llu process%s not shown by /proc (hidepid): record as root",
				 (unsigned long long)run->rows.hidden, run->rows.hidden == 1 ? " is" : "es are");
	if (run->rows.closed)
		sonde_detail_add(&detail,
				 "I/O of %llu process%s of other users (read%s, write%s) is unknown: record as root",
				 (unsigned long long)run->rows.closed, run->rows.closed == 1 ? "" : "es",
				 run->rows.closed == 1 ? "s" : "", run->rows.closed == 1 ? "s" : "");
	if (detail.used)
		state.state = SONDE_SOURCE_LIMITED;
	if (run->rows.crowded)
		sonde_detail_add(&detail, "context switches of processes with more than %d threads are not read",
				 SONDE_RESOURCES_TASKS_MAX);
	if (run->rows.finds_processes && run->tree.may_have_missed && run->rows.had_children)
		sonde_detail_add(&detail, "processes are found in /proc: those living between two readings are missed");
	if (run->rows.finds_processes && (run->tree.may_have_missed || run->tree.was_unread))
		sonde_recorder_info(run->recorder, "run.processes_missed", "1");
	if (sonde_resources_machine_missing(run->machine, missing, sizeof missing))
		sonde_detail_add(&detail, "%s", missing);
	state.detail = sonde_detail_text(&detail);
	sonde_recorder_source(run->recorder, "resources", &state);
	sonde_recorder_cost(run->recorder, "resources.cpu_ns", run->spent_ns);
	sonde_recorder_cost(run->recorder, "resources.rounds", run->rounds);
}

/* --- the source --------------------------------------------------------------------------------------------------- */

static int resources_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	(void)options;
	if (sonde_snapshots_resident_b(getpid()))
		return 0;
	snprintf(why, why_b, "/proc is not mounted: process use is unknown; mount -t proc proc /proc");
	return -ENOENT;
}

static int resources_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	struct sonde_recorder *recorder = context->recorder;
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	char text[32];
	run->recorder = recorder;
	run->command_fd = -1;
	run->every_ns = options->resources_every_ns ? options->resources_every_ns : DEFAULT_EVERY_NS;
	sonde_resources_rows_init(&run->rows, recorder);
	run->rows.reads_rss = options->only_resources || (!options->heap && !options->memory_every_ns);
	snprintf(text, sizeof text, "%llu", (unsigned long long)run->every_ns);
	sonde_recorder_info(recorder, "option.interval_ns", text);
	return 0;
}

static int resources_start(struct sonde_source_run *run, pid_t pid)
{
	int rc = sonde_resources_machine_new(&run->machine, "", pid);
	if (rc)
		return rc;
	uint64_t now_ns = sonde_clock_now_ns();
	/* The first round comes after the command is released; before that, the command is a copy of us. */
	run->start_ns = run->next_ns = run->next_detail_ns = now_ns;
	run->command_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	sonde_budget_init(&run->budget, SHARE, LEFT_NS, now_ns);
	sonde_resources_rows_start(&run->rows, sonde_recorder_options(run->recorder)->command ? pid : 0, now_ns);
	run->rows.finds_processes = !sonde_recorder_is_recorded(run->recorder);
	if (run->rows.finds_processes)
		sonde_resources_tree_start(&run->tree, run->recorder, pid,
					   sonde_recorder_options(run->recorder)->command != NULL);
	return 0;
}

static void resources_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	(void)horizon_ns;
	if (final || sonde_clock_now_ns() >= run->next_ns)
		round_of(run, final);
	read_dead(run);
}

static uint64_t resources_due_ns(const struct sonde_source_run *run)
{
	return run->next_ns;
}

static void resources_stop(struct sonde_source_run *run)
{
	if (run->rounds)
		append_source(run);
	sonde_resources_rows_fini(&run->rows);
	sonde_resources_machine_free(run->machine);
	if (run->command_fd >= 0)
		close(run->command_fd);
	free(run->numbers);
}

static const struct sonde_option resources_options[] = {
    {"interval", 0, "TIME", "poll process and system usage every TIME (100ms; min. 10ms)",
     SONDE_TIME(offsetof(struct sonde_record_options, resources_every_ns), SONDE_RESOURCES_LEAST_INTERVAL_NS)},
    {0},
};

const struct sonde_source sonde_source_resources = {
    .name = "resources",
    .title = "CPU time, memory and I/O of processes and the system, polled",
    .cost = "at most 0.2 % of a CPU, in the recorder",
    .options = resources_options,
    .reads_counters = 1,
    .run_b = sizeof(struct sonde_source_run),
    .probe = resources_probe,
    .open = resources_open,
    .start = resources_start,
    .drain = resources_drain,
    .due_ns = resources_due_ns,
    .stop = resources_stop,
};
