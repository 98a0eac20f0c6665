/* threads.c: the threads source: run time and runnable time of each thread, polled from /proc.
 *
 * Context-switch records only distinguish time on a CPU from time off it; these readings show for how much of its time
 * off CPU a thread was runnable after a wakeup. Without such records, the readings are the only data, and the counts of
 * switches are read, too.
 *
 * A round starts whenever the recorder is awake and 100 ms have passed (10 ms at first). It lists the threads again of
 * each process whose number of threads has changed. Then it reads all threads one after another, for at most a
 * millisecond per drain. A pause of 500 times the CPU time used follows. So the source takes 0.2 % of a CPU for any
 * number of threads, and a round over 10,000 threads takes some 20 s. Readers subtract the time that threads used
 * before the recording: the first value of an older thread is its total when it was found; a thread that starts later
 * has a first value of 0 at its start.
 *
 * A thread is registered in the recording only after a while: by then a source that knows its exact start or end has
 * reported it. When attaching, the existing threads are registered at once, with a reading.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/resource/files.h"
#include "source/resource/live_list.h"
#include "source/resource/proc_stat.h"
#include "source/sched/schedstat.h"
#include "source/record/detail.h"
#include "source/record/recorder.h"
#include "source/source.h"
#include "source/sched/thread_rows.h"
#include "util/file.h"

#define FIRST_NS 10000000u /* first interval between rounds, then doubled up to LEAST_NS */
#define LEAST_NS 100000000u
#define SLICE_NS 1000000u
#define START_NS 20000000u /* time limit for listing at the start; the rest comes with the first round */
#define COST_SHARE 500u
/* Delay from the first sight of a thread until it is named, and, if context switches are recorded, registered. */
#define SETTLE_NS 100000000u
#define SOON_NS 1000000000u /* a longer pause is due to the limit on CPU time */
#define END_NS 1000000000u  /* from when a thread is found missing until it counts as ended, if no source reports it */
#define LIST_ROUNDS 16u     /* how often a round lists all threads: as many may have started as ended */
#define COUNTED_MAX 16u     /* maximum of processes whose threads are counted between rounds */
#define METHOD "/proc/PID/task/TID/schedstat"

static const enum sonde_metric metrics[SONDE_THREAD_NUMBERS] = {
    [SONDE_THREAD_TIME] = SONDE_METRIC_CPU_TIME,
    [SONDE_THREAD_RUNNABLE] = SONDE_METRIC_CPU_RUNNABLE,
    [SONDE_THREAD_VOLUNTARY] = SONDE_METRIC_SWITCHES_VOLUNTARY,
    [SONDE_THREAD_INVOLUNTARY] = SONDE_METRIC_SWITCHES_INVOLUNTARY,
};

struct process {
	struct sonde_recorder_live live;
	uint64_t threads; /* number of threads when they were listed */
	uint8_t stale;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	pid_t pid;
	int pid_fd;
	int counts_switches; /* no other source counts switches */
	struct sonde_thread_rows threads;
	size_t at;                        /* position in the round */
	struct sonde_live_list processes; /* of struct process */
	uint64_t start_ns, rounds, began_ns, next_ns, least_ns, longest_ns, points;
	size_t most;
	uint64_t listed, met, brief;  /* numbers of threads: listed; read; too short-lived to be read */
	uint64_t peak, next_count_ns; /* peak: most threads seen at once; next_count_ns: time of the next count */
	int missing_files;            /* a reading failed for lack of descriptors */
	int failed;                   /* out of memory: nothing is read any more */
};

/* --- rows -------------------------------------------------------------------------------------------------------- */

static void miss(struct sonde_source_run *run, struct sonde_thread_row *row, uint64_t now_ns)
{
	if (!row->gone_ns && !row->met && now_ns < row->seen_ns + SOON_NS)
		run->brief++;
	row->gone_ns = row->gone_ns ? row->gone_ns : now_ns;
	sonde_thread_rows_close(&run->threads, row);
}

static struct sonde_thread_row *add(struct sonde_source_run *run, const struct process *process, pid_t tid)
{
	struct sonde_thread_row *row =
	    sonde_thread_rows_add(&run->threads, process->live.id, process->live.pid, tid, sonde_clock_now_ns());
	run->failed |= !row;
	run->listed += row != NULL;
	return row;
}

/* --- readings ---------------------------------------------------------------------------------------------------- */

/* When a thread started. The start that the kernel reports in ticks may be up to 10 ms too late here. The first reading
 * gives an upper limit: the thread started at least as long before the reading as it ran and waited. If the result is
 * before the recording, the thread existed at the recording's start, unless it was created in that very tick. */
static uint64_t birth_ns(const struct sonde_source_run *run, const struct sonde_thread_row *row)
{
	struct sonde_proc_stat stat;
	uint64_t tick_ns = sonde_proc_tick_ns(), now_ns = sonde_clock_now_ns(), read_ns = row->read_ns;
	uint64_t counted_ns = (uint64_t)row->now[SONDE_THREAD_TIME] + (uint64_t)row->now[SONDE_THREAD_RUNNABLE];
	uint64_t most_ns = read_ns && counted_ns < read_ns ? read_ns - counted_ns : row->seen_ns;
	if (most_ns > row->seen_ns)
		most_ns = row->seen_ns;
	if (most_ns < run->start_ns || sonde_proc_stat_read(&stat, row->pid, row->tid) < 0)
		return most_ns;
	uint64_t up_ns = sonde_clock_read_ns(CLOCK_BOOTTIME), begun_ns = (stat.start_ticks + 1) * tick_ns;
	uint64_t age_ns = up_ns > begun_ns ? up_ns - begun_ns : 0;
	uint64_t born_ns = age_ns < now_ns ? now_ns - age_ns : 0;
	return born_ns < most_ns ? born_ns : most_ns;
}

/* Handles the first reading of a thread. */
static void meet(struct sonde_source_run *run, struct sonde_thread_row *row, int is_old)
{
	row->met = 1;
	run->met++;
	row->born_ns = row->first_ns = birth_ns(run, row);
	row->is_old = is_old || row->born_ns < run->start_ns;
	if (!row->is_old)
		return;
	row->born_ns = run->start_ns;
	row->first_ns = row->read_ns;
	memcpy(row->first, row->now, sizeof row->first);
}

/* Reads a thread's totals into its row, to be written later. */
static void look(struct sonde_source_run *run, struct sonde_thread_row *row)
{
	struct sonde_schedstat stat;
	int rc = sonde_schedstat_read(&stat, row->fd, row->pid, row->tid);
	uint64_t now_ns = sonde_clock_now_ns(), voluntary, involuntary;
	if (rc == -ESRCH)
		miss(run, row, now_ns);
	run->missing_files |= sonde_files_lack(-rc);
	if (rc)
		return;
	row->read_ns = now_ns;
	row->now[SONDE_THREAD_TIME] = (int64_t)stat.ran_ns;
	row->now[SONDE_THREAD_RUNNABLE] = (int64_t)stat.waited_ns;
	if (!run->counts_switches || stat.slices == row->slices ||
	    sonde_schedstat_switches(&voluntary, &involuntary, row->pid, row->tid))
		return;
	row->slices = stat.slices;
	row->now[SONDE_THREAD_VOLUNTARY] = (int64_t)voluntary;
	row->now[SONDE_THREAD_INVOLUNTARY] = (int64_t)involuntary;
}

static void put(struct sonde_source_run *run, const struct sonde_thread_row *row, uint64_t time_ns,
		const int64_t *values)
{
	for (size_t i = 0; i < SONDE_THREAD_NUMBERS; i++)
		sonde_recorder_point(run->recorder, time_ns, row->series[i], values[i]);
	run->points++;
}

/* True if the thread's process is alive. If another source has seen the process end meanwhile, using the pid would
 * create a new process in the recording. */
static int is_alive(const struct sonde_source_run *run, const struct sonde_thread_row *row)
{
	return sonde_recorder_alive(run->recorder, row->pid) == row->process;
}

static void place(struct sonde_source_run *run, struct sonde_thread_row *row)
{
	row->thread = is_alive(run, row) ? sonde_recorder_thread(run->recorder, row->pid, row->tid, row->born_ns)
					 : sonde_recorder_known(run->recorder, row->pid, row->tid, row->read_ns);
	if (!row->thread)
		return;
	if (run->counts_switches)
		sonde_recorder_born(run->recorder, row->thread, row->born_ns);
	for (size_t i = 0; i < SONDE_THREAD_NUMBERS; i++)
		if (i < SONDE_THREAD_VOLUNTARY || run->counts_switches)
			row->series[i] =
			    sonde_recorder_series(run->recorder, metrics[i], row->process, row->thread, NULL);
	put(run, row, row->first_ns, row->first);
}

/* Names a thread if no other source does. This is done some time after its start, since programs name their threads
 * only after they have started. */
static void name(struct sonde_source_run *run, struct sonde_thread_row *row)
{
	char text[64];
	size_t text_b = sonde_file_read(text, sizeof text, "/proc/%d/task/%d/comm", (int)row->pid, (int)row->tid);
	if (text_b && text[text_b - 1] == '\n')
		text[text_b - 1] = '\0';
	if (text_b)
		sonde_recorder_comm(run->recorder, row->pid, row->tid, text, 0, row->read_ns);
	row->named = 1;
}

/* Writes the latest reading, in time order. `last`: this reading is the final one. If another source registers threads,
 * a thread that has ended is not registered here, because that source may have forgotten it. */
static void record(struct sonde_source_run *run, struct sonde_thread_row *row, int last)
{
	int settled = sonde_clock_now_ns() >= row->seen_ns + SETTLE_NS;
	if (!row->read_ns || (!run->counts_switches && !settled && !last && !row->thread))
		return;
	if (!row->thread)
		place(run, row);
	if (!row->thread)
		return;
	if (run->counts_switches && !row->named && (settled || last) && is_alive(run, row))
		name(run, row);
	put(run, row, row->read_ns, row->now);
}

/* Reads a thread and writes the reading. */
static void take(struct sonde_source_run *run, struct sonde_thread_row *row, int last)
{
	row->read_ns = 0;
	if (!row->gone_ns)
		look(run, row);
	if (row->read_ns && !row->met)
		meet(run, row, 0);
	record(run, row, last);
}

/* --- listing ----------------------------------------------------------------------------------------------------- */

static void list(struct sonde_source_run *run, struct process *process, int is_old)
{
	char path[64];
	uint64_t threads = sonde_proc_threads(process->live.pid);
	if (threads && threads == process->threads && !process->stale && run->rounds % LIST_ROUNDS)
		return;
	snprintf(path, sizeof path, "/proc/%d/task", (int)process->live.pid);
	size_t begin = sonde_thread_rows_bound(&run->threads, process->live.id, 0);
	size_t end = sonde_thread_rows_bound(&run->threads, process->live.id + 1, 0);
	for (size_t i = begin; i < end; i++)
		run->threads.row[i].listed = 0;
	DIR *directory = opendir(path);
	if (!directory && sonde_files_lack(errno)) { /* lack of descriptors: it will be listed again */
		run->missing_files = 1;
		return;
	}
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t tid = entry->d_name[0] == '.' ? 0 : atoi(entry->d_name);
		size_t at = sonde_thread_rows_bound(&run->threads, process->live.id, tid);
		int is_known = at < end && run->threads.row[at].tid == tid && !run->threads.row[at].gone_ns;
		if (tid <= 0)
			continue;
		if (is_known) {
			run->threads.row[at].listed = 1;
			continue;
		}
		struct sonde_thread_row *row = add(run, process, tid);
		if (!row)
			break;
		if (!is_old)
			continue;
		look(run, row);
		if (row->read_ns)
			meet(run, row, 1);
	}
	for (size_t i = begin; i < end; i++)
		if (!run->threads.row[i].listed && !run->failed)
			miss(run, &run->threads.row[i], sonde_clock_now_ns());
	process->threads = threads;
	process->stale = 0;
	if (directory)
		closedir(directory);
}

static const struct sonde_live_kind kind = {.row_b = sizeof(struct process)};

static void refresh(struct sonde_source_run *run)
{
	if (sonde_live_list_refresh(&run->processes, &kind, run->recorder, run))
		run->failed = 1;
}

/* Ends threads that have been gone for a while, unless another source has reported their end, and drops their rows. The
 * main thread's end is the end of the process, about which other sources may still have something to report. */
static void forget(struct sonde_source_run *run, uint64_t now_ns, int final)
{
	struct process *process = run->processes.rows, *end = process + run->processes.count;
	size_t kept = 0;
	for (size_t i = 0; i < run->threads.count; i++) {
		struct sonde_thread_row *row = &run->threads.row[i];
		while (process < end && process->live.id < row->process)
			process++;
		int is_alive = process < end && process->live.id == row->process;
		if (!is_alive)
			miss(run, row, now_ns);
		int is_over = now_ns >= row->gone_ns + END_NS || (final && row->tid != row->pid);
		if (row->gone_ns && is_over) {
			sonde_thread_rows_close(&run->threads, row);
			sonde_recorder_exit(run->recorder, row->pid, row->tid, 0, row->gone_ns);
		} else {
			if (is_alive && row->gone_ns >= run->began_ns) /* as many others may have started */
				process->stale = 1;
			run->threads.row[kept++] = *row;
		}
	}
	run->threads.count = run->threads.sorted = kept;
}

static void begin_round(struct sonde_source_run *run, uint64_t now_ns)
{
	if (run->began_ns && now_ns - run->began_ns > run->longest_ns)
		run->longest_ns = now_ns - run->began_ns;
	refresh(run);
	forget(run, now_ns, 0);
	for (size_t i = 0; i < run->processes.count && !run->failed; i++)
		list(run, (struct process *)run->processes.rows + i, 0);
	sonde_thread_rows_sort(&run->threads);
	run->most = run->threads.count > run->most ? run->threads.count : run->most;
	run->rounds++;
	run->began_ns = now_ns;
	run->at = 0;
}

/* Continues the round, or starts one. */
static void go_on(struct sonde_source_run *run, uint64_t now_ns)
{
	uint64_t from_ns = now_ns, before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	if (run->at == run->threads.count)
		begin_round(run, now_ns);
	while (run->at < run->threads.count && now_ns - from_ns < SLICE_NS) {
		take(run, &run->threads.row[run->at++], 0);
		now_ns = sonde_clock_now_ns();
	}
	run->next_ns = now_ns + (sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * COST_SHARE;
	if (run->at < run->threads.count)
		return;
	if (run->next_ns < run->began_ns + run->least_ns)
		run->next_ns = run->began_ns + run->least_ns;
	run->least_ns = 2 * run->least_ns < LEAST_NS ? 2 * run->least_ns : LEAST_NS;
}

/* Counts threads during a long pause. Threads that start then are not listed, so the count gives a lower limit of their
 * number. */
static void count(struct sonde_source_run *run, uint64_t now_ns)
{
	uint64_t threads = 0;
	if (now_ns < run->next_count_ns || run->next_ns < run->began_ns + SOON_NS || run->processes.count > COUNTED_MAX)
		return;
	run->next_count_ns = now_ns + LEAST_NS;
	for (size_t i = 0; i < run->processes.count; i++)
		threads += sonde_proc_threads(((struct process *)run->processes.rows + i)->live.pid);
	run->peak = threads > run->peak ? threads : run->peak;
}

/* The command has exited but is not reaped yet: its main thread still shows its totals. */
static void look_at_end(struct sonde_source_run *run)
{
	struct pollfd gone = {.fd = run->pid_fd, .events = POLLIN};
	if (run->pid_fd < 0 || poll(&gone, 1, 0) <= 0)
		return;
	for (size_t i = 0; i < run->threads.count; i++)
		if (run->threads.row[i].pid == run->pid && run->threads.row[i].tid == run->pid)
			take(run, &run->threads.row[i], 1);
	close(run->pid_fd);
	run->pid_fd = -1;
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static int threads_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	(void)options;
	return sonde_schedstat_probe(why, why_b);
}

static int threads_open(struct sonde_source_run *run, const struct sonde_source_context *context)
{
	run->recorder = context->recorder;
	run->pid_fd = -1;
	sonde_thread_rows_init(&run->threads);
	return 0;
}

static int threads_start(struct sonde_source_run *run, pid_t pid)
{
	run->pid = pid;
	run->counts_switches = !sonde_recorder_is_recorded(run->recorder);
	sonde_recorder_process(run->recorder, pid, sonde_clock_now_ns());
	run->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	run->start_ns = run->began_ns = sonde_clock_now_ns();
	refresh(run);
	for (size_t i = 0; i < run->processes.count && sonde_clock_now_ns() < run->start_ns + START_NS; i++)
		list(run, (struct process *)run->processes.rows + i, 1);
	sonde_thread_rows_sort(&run->threads);
	for (size_t i = 0; i < run->threads.count && sonde_recorder_options(run->recorder)->attach; i++)
		if (run->threads.row[i].read_ns)
			place(run, &run->threads.row[i]);
	run->at = run->threads.count;
	run->least_ns = FIRST_NS;
	run->next_ns = run->began_ns + FIRST_NS;
	return 0;
}

static void threads_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	uint64_t now_ns = sonde_clock_now_ns();
	(void)horizon_ns;
	if (run->failed)
		return;
	look_at_end(run);
	if (!final && now_ns >= run->next_ns)
		go_on(run, now_ns);
	else if (!final)
		count(run, now_ns);
	if (!final)
		return;
	for (size_t i = 0; i < run->threads.count; i++)
		take(run, &run->threads.row[i], 1);
	refresh(run);
	forget(run, now_ns, 1);
}

/* Describes the readings that were missed: because of the limit on CPU time, or because threads had exited. */
static void say_missed(const struct sonde_source_run *run, struct sonde_detail *out)
{
	static const char why_late[] = ", to stay below 0.2 % of a CPU";
	static const char why_unread[] = ": the hard limit on open files (ulimit -Hn) was reached";
	const char *share = run->missing_files ? why_unread : why_late;
	uint64_t all = run->peak > run->listed ? run->peak : run->listed, in_time = run->met + run->brief;
	int is_late = in_time < all - all / 100;
	if (run->longest_ns > SOON_NS)
		sonde_detail_add(out, "%zu threads were read up to %.1f s apart%s", run->most,
				 (double)run->longest_ns / 1e9, is_late ? "" : share);
	if (run->met < all - all / 100)
		sonde_detail_add(out, "of at least %llu threads, %llu were read%s", (unsigned long long)all,
				 (unsigned long long)run->met,
				 is_late ? share : ": the others exited before they were polled");
}

static void threads_stop(struct sonde_source_run *run)
{
	struct sonde_detail detail = {0};
	struct sonde_recorder_state state = {.state = SONDE_SOURCE_ON, .method = METHOD};
	if (run->counts_switches)
		state.method = METHOD ", and status";
	if (run->failed)
		sonde_detail_add(&detail, "out of memory for threads: they were not read any more");
	else
		say_missed(run, &detail);
	if (detail.used)
		state.state = SONDE_SOURCE_LIMITED;
	state.detail = sonde_detail_text(&detail);
	if (run->points)
		sonde_recorder_source(run->recorder, "threads", &state);
	if (run->pid_fd >= 0)
		close(run->pid_fd);
	sonde_thread_rows_fini(&run->threads);
	sonde_live_list_fini(&run->processes, &kind, run);
}

const struct sonde_source sonde_source_threads = {
    .name = "threads",
    .title = "time that threads ran, waited for a CPU and were blocked",
    .cost = "at most 0.2 % of a CPU, in the recorder",
    .reads_counters = 1,
    .run_b = sizeof(struct sonde_source_run),
    .probe = threads_probe,
    .open = threads_open,
    .start = threads_start,
    .drain = threads_drain,
    .stop = threads_stop,
};
