/* threads.c: the threads source: how long each thread ran and waited for a CPU, read again and again from /proc.
 *
 * Beside context-switch records, which tell on a CPU from off it, the readings say how much of the time off it a thread
 * waited for a CPU after it was woken; without them they are all there is, and the counts of switches are read too.
 *
 * Whenever the recorder is awake and 100 ms have passed (at first 10) a round begins: threads are listed where their
 * number changed, and read one after the other, for a millisecond at most; then comes a rest 500 times as long as that
 * took, so that it takes 0.2 % of a CPU however many threads there are, and a round of 10,000 some 20 s. What threads
 * were before the recording is taken off by whoever reads it: the first value of such a thread is what it came to then;
 * one that begins later has a first value of 0, as of its start.
 *
 * A thread gets its place in the recording only when it has been there for a while: by then whoever knows exactly when
 * it began, or ended, has said so.
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
#include "source/live_list.h"
#include "source/perf_event.h"
#include "source/proc_stat.h"
#include "source/schedstat.h"
#include "source/source.h"
#include "util/error.h"
#include "util/file.h"

#define FIRST_NS 10000000u /* between rounds, doubled up to this: */
#define LEAST_NS 100000000u
#define SLICE_NS 1000000u
#define COST_SHARE 500u
/* From when a thread is seen until it has its name, and beside context switches its place. */
#define SETTLE_NS 100000000u
#define END_NS 1000000000u /* from when it is missed until it ends, where nobody else says so */
#define LIST_ROUNDS 16u    /* one in so many lists all: as many may have come as went */
#define KEPT_MAX 128u      /* descriptors */
#define COUNTED_MAX 16u    /* processes, beyond which threads are only counted as they are listed */
#define METHOD "/proc/PID/task/TID/schedstat"

enum { TIME, RUNNABLE, VOLUNTARY, INVOLUNTARY, NUMBERS };

static const enum sonde_metric metrics[NUMBERS] = {
    [TIME] = SONDE_METRIC_CPU_TIME,
    [RUNNABLE] = SONDE_METRIC_CPU_RUNNABLE,
    [VOLUNTARY] = SONDE_METRIC_SWITCHES_VOLUNTARY,
    [INVOLUNTARY] = SONDE_METRIC_SWITCHES_INVOLUNTARY,
};

struct thread {
	uint32_t process, thread; /* of the recording; thread 0 = it has no place yet */
	pid_t pid, tid;
	int fd;                             /* −1 = none is kept */
	uint8_t is_old, listed, met, named; /* old: it was there before the recording; met: it has been read */
	uint64_t seen_ns, born_ns;          /* born: about */
	uint64_t gone_ns;                   /* it was missed; 0 = it is there */
	uint64_t read_ns, slices;           /* as of the latest reading; 0 = it failed */
	int64_t first[NUMBERS], now[NUMBERS];
	uint32_t series[NUMBERS];
};

struct process {
	struct sonde_recorder_live live;
	uint64_t threads; /* when they were listed */
	uint8_t stale;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	pid_t pid;
	int pid_fd;
	int counts_switches;    /* nobody else does */
	struct thread *threads; /* by process and number, the first `known` of them */
	size_t count, known, cap, at, kept;
	struct sonde_live_list processes; /* of struct process */
	uint64_t start_ns, rounds, began_ns, next_ns, least_ns, longest_ns, points;
	size_t most;
	uint64_t listed, met;         /* threads; and of them those that were read */
	uint64_t peak, next_count_ns; /* that were there at once, as far as it was looked */
	int failed;                   /* no memory: from then on nothing is read */
};

/* --- rows -------------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	const struct thread *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static void close_row(struct sonde_source_run *run, struct thread *row)
{
	if (row->fd < 0)
		return;
	close(row->fd);
	row->fd = -1;
	run->kept--;
}

static void miss(struct sonde_source_run *run, struct thread *row, uint64_t now_ns)
{
	row->gone_ns = row->gone_ns ? row->gone_ns : now_ns;
	close_row(run, row);
}

static struct thread *add(struct sonde_source_run *run, const struct process *process, pid_t tid, uint64_t now_ns)
{
	if (run->count == run->cap) {
		size_t cap = run->cap ? 2 * run->cap : 64;
		struct thread *rows = realloc(run->threads, cap * sizeof *rows);
		if (!rows) {
			run->failed = 1;
			return NULL;
		}
		run->threads = rows;
		run->cap = cap;
	}
	struct thread *row = &run->threads[run->count++];
	run->listed++;
	*row = (struct thread){.process = process->live.id,
			       .pid = process->live.pid,
			       .tid = tid,
			       .fd = -1,
			       .listed = 1,
			       .seen_ns = now_ns,
			       .born_ns = now_ns};
	if (run->kept < KEPT_MAX)
		row->fd = sonde_schedstat_open(process->live.pid, tid);
	run->kept += row->fd >= 0;
	return row;
}

static void sort(struct sonde_source_run *run)
{
	if (run->count > run->known)
		qsort(run->threads, run->count, sizeof *run->threads, compare);
	run->known = run->count;
}

/* The first row that is not below. */
static size_t bound(const struct sonde_source_run *run, uint32_t process, pid_t tid)
{
	struct thread wanted = {.process = process, .tid = tid};
	size_t from = 0, to = run->known;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (compare(&run->threads[middle], &wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* --- readings ---------------------------------------------------------------------------------------------------- */

/* A start in ticks says when a thread was born, up to 10 ms late here: what it ran and waited since then was before its
 * first reading, and it was after the recording began. */
static uint64_t birth_ns(const struct sonde_source_run *run, const struct thread *row)
{
	struct sonde_proc_stat stat;
	uint64_t tick_ns = sonde_proc_tick_ns(), now_ns = sonde_clock_now_ns(), read_ns = row->read_ns;
	uint64_t counted_ns = (uint64_t)row->now[TIME] + (uint64_t)row->now[RUNNABLE];
	uint64_t most_ns = read_ns && counted_ns < read_ns ? read_ns - counted_ns : row->seen_ns;
	if (most_ns > row->seen_ns)
		most_ns = row->seen_ns;
	if (most_ns < run->start_ns || sonde_proc_stat_read(&stat, row->pid, row->tid) < 0)
		return most_ns;
	uint64_t age_ns = sonde_clock_read_ns(CLOCK_BOOTTIME) - (stat.start_ticks + 1) * tick_ns;
	uint64_t born_ns = age_ns < now_ns ? now_ns - age_ns : 0;
	born_ns = born_ns > run->start_ns ? born_ns : run->start_ns;
	return born_ns < most_ns ? born_ns : most_ns;
}

/* What the thread has come to: kept in its row until it is written. */
static void look(struct sonde_source_run *run, struct thread *row)
{
	struct sonde_schedstat stat;
	int error = sonde_schedstat_read(&stat, row->fd, row->pid, row->tid);
	uint64_t now_ns = sonde_clock_now_ns(), voluntary, involuntary;
	if (error == -ESRCH)
		miss(run, row, now_ns);
	if (error)
		return;
	row->read_ns = now_ns;
	row->now[TIME] = (int64_t)stat.ran_ns;
	row->now[RUNNABLE] = (int64_t)stat.waited_ns;
	if (!run->counts_switches || stat.slices == row->slices ||
	    sonde_schedstat_switches(&voluntary, &involuntary, row->pid, row->tid))
		return;
	row->slices = stat.slices;
	row->now[VOLUNTARY] = (int64_t)voluntary;
	row->now[INVOLUNTARY] = (int64_t)involuntary;
}

static void put(struct sonde_source_run *run, const struct thread *row, uint64_t time_ns, const int64_t *values)
{
	for (size_t i = 0; i < NUMBERS; i++)
		sonde_recorder_point(run->recorder, time_ns, row->series[i], values[i]);
	run->points++;
}

/* Others may have seen its process end meanwhile: what would be made of the number then were another life of it. */
static int is_alive(const struct sonde_source_run *run, const struct thread *row)
{
	return sonde_recorder_alive(run->recorder, row->pid) == row->process;
}

static void place(struct sonde_source_run *run, struct thread *row)
{
	row->thread = is_alive(run, row) ? sonde_recorder_thread(run->recorder, row->pid, row->tid, row->born_ns)
					 : sonde_recorder_known(run->recorder, row->pid, row->tid, row->read_ns);
	if (!row->thread)
		return;
	if (run->counts_switches && !row->is_old)
		sonde_recorder_born(run->recorder, row->thread, row->born_ns);
	for (size_t i = 0; i < NUMBERS; i++)
		if (i < VOLUNTARY || run->counts_switches)
			row->series[i] =
			    sonde_recorder_series(run->recorder, metrics[i], row->process, row->thread, NULL);
	put(run, row, row->born_ns, row->first);
}

/* Where nobody else says what a thread is called: a program names its threads when they have begun. */
static void name(struct sonde_source_run *run, struct thread *row)
{
	char text[64];
	size_t text_b = sonde_file_read(text, sizeof text, "/proc/%d/task/%d/comm", (int)row->pid, (int)row->tid);
	if (text_b && text[text_b - 1] == '\n')
		text[text_b - 1] = '\0';
	if (text_b)
		sonde_recorder_comm(run->recorder, row->pid, row->tid, text, 0, row->read_ns);
	row->named = 1;
}

/* Tells of a reading that was just made: points come in order of time. `last`: there will be no other. Where a source
 * of switches knows threads, one that has ended is not given a place: it may be forgotten there. */
static void tell(struct sonde_source_run *run, struct thread *row, int last)
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

/* Reads and tells of a thread. */
static void take(struct sonde_source_run *run, struct thread *row, int last)
{
	row->read_ns = 0;
	if (!row->gone_ns)
		look(run, row);
	if (row->read_ns && !row->met)
		row->born_ns = birth_ns(run, row);
	run->met += row->read_ns && !row->met;
	row->met |= row->read_ns != 0;
	tell(run, row, last);
}

/* --- who is there ------------------------------------------------------------------------------------------------ */

static void list(struct sonde_source_run *run, struct process *process, int is_old)
{
	char path[64];
	uint64_t threads = sonde_proc_threads(process->live.pid);
	if (threads && threads == process->threads && !process->stale && run->rounds % LIST_ROUNDS)
		return;
	snprintf(path, sizeof path, "/proc/%d/task", (int)process->live.pid);
	size_t begin = bound(run, process->live.id, 0), end = bound(run, process->live.id + 1, 0);
	for (size_t i = begin; i < end; i++)
		run->threads[i].listed = 0;
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t tid = entry->d_name[0] == '.' ? 0 : atoi(entry->d_name);
		size_t at = bound(run, process->live.id, tid);
		int is_known = at < end && run->threads[at].tid == tid && !run->threads[at].gone_ns;
		if (tid <= 0)
			continue;
		if (is_known) {
			run->threads[at].listed = 1;
			continue;
		}
		struct thread *row = add(run, process, tid, sonde_clock_now_ns());
		if (!row)
			break;
		if (!is_old)
			continue;
		row->is_old = row->met = 1;
		run->met++;
		look(run, row);
		memcpy(row->first, row->now, sizeof row->first);
	}
	for (size_t i = begin; i < end; i++)
		if (!run->threads[i].listed && !run->failed)
			miss(run, &run->threads[i], sonde_clock_now_ns());
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

/* Threads that have been gone for a while: they end, unless somebody has said so before, and lose their rows. With its
 * first thread a process ends, of which other sources may still have something to say. */
static void forget(struct sonde_source_run *run, uint64_t now_ns, int final)
{
	struct process *process = run->processes.rows, *end = process + run->processes.count;
	size_t kept = 0;
	for (size_t i = 0; i < run->count; i++) {
		struct thread *row = &run->threads[i];
		while (process < end && process->live.id < row->process)
			process++;
		int is_alive = process < end && process->live.id == row->process;
		if (!is_alive)
			miss(run, row, now_ns);
		int is_over = now_ns >= row->gone_ns + END_NS || (final && row->tid != row->pid);
		if (row->gone_ns && is_over) {
			close_row(run, row);
			sonde_recorder_exit(run->recorder, row->pid, row->tid, 0, row->gone_ns);
		} else {
			if (is_alive && row->gone_ns >= run->began_ns) /* as many may have come */
				process->stale = 1;
			run->threads[kept++] = *row;
		}
	}
	run->count = run->known = kept;
}

static void begin_round(struct sonde_source_run *run, uint64_t now_ns)
{
	if (run->began_ns && now_ns - run->began_ns > run->longest_ns)
		run->longest_ns = now_ns - run->began_ns;
	refresh(run);
	forget(run, now_ns, 0);
	for (size_t i = 0; i < run->processes.count && !run->failed; i++)
		list(run, (struct process *)run->processes.rows + i, 0);
	sort(run);
	run->most = run->count > run->most ? run->count : run->most;
	run->rounds++;
	run->began_ns = now_ns;
	run->at = 0;
}

/* Goes on with the round, or begins one. */
static void go_on(struct sonde_source_run *run, uint64_t now_ns)
{
	uint64_t from_ns = now_ns, before_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	if (run->at == run->count)
		begin_round(run, now_ns);
	while (run->at < run->count && now_ns - from_ns < SLICE_NS) {
		take(run, &run->threads[run->at++], 0);
		now_ns = sonde_clock_now_ns();
	}
	run->next_ns = now_ns + (sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) * COST_SHARE;
	if (run->at < run->count)
		return;
	if (run->next_ns < run->began_ns + run->least_ns)
		run->next_ns = run->began_ns + run->least_ns;
	run->least_ns = 2 * run->least_ns < LEAST_NS ? 2 * run->least_ns : LEAST_NS;
}

/* Threads that come while a rest takes long are not listed: how many there are at least. */
static void count(struct sonde_source_run *run, uint64_t now_ns)
{
	uint64_t threads = 0;
	if (now_ns < run->next_count_ns || run->processes.count > COUNTED_MAX)
		return;
	run->next_count_ns = now_ns + LEAST_NS;
	for (size_t i = 0; i < run->processes.count; i++)
		threads += sonde_proc_threads(((struct process *)run->processes.rows + i)->live.pid);
	run->peak = threads > run->peak ? threads : run->peak;
}

/* The command has ended, and nobody has waited for it: its first thread still says what it came to. */
static void look_at_end(struct sonde_source_run *run)
{
	struct pollfd gone = {.fd = run->pid_fd, .events = POLLIN};
	if (run->pid_fd < 0 || poll(&gone, 1, 0) <= 0)
		return;
	for (size_t i = 0; i < run->count; i++)
		if (run->threads[i].pid == run->pid && run->threads[i].tid == run->pid)
			take(run, &run->threads[i], 1);
	close(run->pid_fd);
	run->pid_fd = -1;
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static int threads_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	(void)options;
	return sonde_schedstat_probe(why, why_b);
}

static int threads_open(struct sonde_source_run **out, struct sonde_recorder *recorder)
{
	struct sonde_source_run *run = calloc(1, sizeof *run);
	if (!run)
		return sonde_error(ENOMEM, "out of memory for the threads source");
	run->recorder = recorder;
	run->pid_fd = -1;
	run->counts_switches = sonde_recorder_options(recorder)->no_perf || sonde_perf_events_probe() < 0;
	*out = run;
	return 0;
}

static int threads_start(struct sonde_source_run *run, pid_t pid)
{
	struct process root = {{sonde_recorder_process(run->recorder, pid, sonde_clock_now_ns()), pid}, 0, 0};
	run->pid = pid;
	run->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	run->start_ns = run->began_ns = sonde_clock_now_ns();
	list(run, &root, 1);
	sort(run);
	run->at = run->count;
	run->least_ns = FIRST_NS;
	run->next_ns = run->began_ns + FIRST_NS;
	return 0;
}

static int threads_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	uint64_t now_ns = sonde_clock_now_ns();
	(void)horizon_ns;
	if (run->failed)
		return 0;
	look_at_end(run);
	if (!final && now_ns >= run->next_ns)
		go_on(run, now_ns);
	else if (!final)
		count(run, now_ns);
	if (!final)
		return sonde_recorder_error(run->recorder);
	for (size_t i = 0; i < run->count; i++)
		take(run, &run->threads[i], 1);
	refresh(run);
	forget(run, now_ns, 1);
	return sonde_recorder_error(run->recorder);
}

/* What was missed for want of time: a share of a CPU is kept, however many there are. */
static size_t say_missed(const struct sonde_source_run *run, char *out, size_t out_b)
{
	int used = 0;
	if (run->longest_ns > 10 * (uint64_t)LEAST_NS)
		used = snprintf(out, out_b, "%zu threads were read up to %.1f s apart", run->most,
				(double)run->longest_ns / 1e9);
	uint64_t all = run->peak > run->listed ? run->peak : run->listed;
	if (run->met < all - all / 100)
		used += snprintf(out + used, out_b - (size_t)used, "%sof at least %llu threads %llu were read",
				 used ? "; " : "", (unsigned long long)all, (unsigned long long)run->met);
	if (used)
		snprintf(out + used, out_b - (size_t)used, ", so that it takes no more than 0.2 %% of a CPU");
	return (size_t)used;
}

static void threads_stop(struct sonde_source_run *run)
{
	char detail[256];
	struct sonde_recorder_state state = {.state = SONDE_SOURCE_ON, .method = METHOD};
	if (run->counts_switches)
		state.method = METHOD ", and status";
	if (run->failed) {
		state.state = SONDE_SOURCE_LIMITED;
		state.detail = "out of memory for threads: they were not read any more";
	} else if (say_missed(run, detail, sizeof detail)) {
		state.state = SONDE_SOURCE_LIMITED;
		state.detail = detail;
	}
	if (run->points)
		sonde_recorder_source(run->recorder, "threads", &state);
	for (size_t i = 0; i < run->count; i++)
		close_row(run, &run->threads[i]);
	if (run->pid_fd >= 0)
		close(run->pid_fd);
	free(run->threads);
	sonde_live_list_fini(&run->processes, &kind, run);
	free(run);
}

const struct sonde_source sonde_source_threads = {
    .name = "threads",
    .title = "how long threads ran, waited for a CPU and were blocked",
    .cost = "at most 0.2 % of a CPU in the recorder",
    .probe = threads_probe,
    .open = threads_open,
    .start = threads_start,
    .drain = threads_drain,
    .stop = threads_stop,
};
