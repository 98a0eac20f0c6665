/* blocked.c: the blocked source: what threads wait for, with their stacks, where nothing is preloaded.
 *
 * Static programs, Go, programs that refuse our object and processes that are attached to are looked at from outside,
 * 50 times a second or, where there are more than a few threads, 10 times: /proc says which call each thread is in
 * (blocked_look.h). A look that finds a thread blocked stands for the time since the threads were looked at before. A
 * thread is in a wait for as many ns as looks that stand for so many find it there, on average, however short waits or
 * lives are: sums are estimates without bias, and single waits are not known. The time between looks is drawn from half
 * to one and a half times the period, so that a program with the same period is not looked at in the same moment again
 * and again.
 *
 * All of it takes 0.5 % of a CPU, and 10 ms at once where there is much to read for the first time (tables of a
 * program). Where there are too many threads for that one in k is looked at, those of one in k places in the list from
 * a place that is drawn each time, and stands for k times as long. So sums stay without bias; looking at all, one after
 * the other, would leave out most of them in a short recording.
 *
 * A process whose waits hooks tell is not looked at. Who may become one is looked at, but what was seen is kept until
 * that is known: 100 ms after it began a process has mapped our object or never will; who has mapped it and never
 * connects is known when it ends. So no wait is told twice.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "source/blocked_held.h"
#include "source/blocked_look.h"
#include "source/blocked_why.h"
#include "source/live_list.h"
#include "source/proc_stat.h"
#include "source/schedstat.h"
#include "source/source.h"
#include "source/waits.h"
#include "util/error.h"

#define PERIOD_NS 20000000u       /* where that can be afforded, else up to: */
#define PERIOD_MOST_NS 100000000u /* then not all threads are looked at at once */
#define SLICE_NS 1000000u         /* the most CPU time at once, but for what is read for the first time */
#define COST_SHARE 200u
#define CREDIT_NS 10000000u
#define CREDIT_PARTS 10u     /* of what is left of it is spent at once */
#define WAKE_NS 100000u      /* CPU time that it takes to wake up, with what other sources do then */
#define LOOK_NS 15000u       /* what one costs, until that is known */
#define SETTLE_NS 100000000u /* by then a process has mapped our object, and others have named a thread */
#define PIECE_NS 1000000000u /* a wait that goes on is told so often: a live view sees it */
#define LIST_NS 2500000u     /* between lists of threads, for each process */
#define RELIST_NS 300000000u /* threads are listed again: as many may have come as went */
#define LIST_SHARE 500u      /* of the time from one list of a process to the next it took at most one part */
#define RETRY_ROUNDS 256u    /* who denied it is asked again: it may execute another program */
#define KEPT_MAX 128u        /* threads with descriptors */
#define PROCESSES_KEPT 128u  /* with a descriptor between looks */
#define METHOD "/proc/PID/task/TID/syscall and process_vm_readv, looked at again and again"

enum telling { UNDECIDED = 0, MAY_CONNECT, HOOKED, FROM_OUTSIDE };

struct process {
	struct sonde_recorder_live live;
	struct sonde_blocked_process at;
	enum telling telling;
	uint64_t since_ns;  /* as which it is, undecided or not */
	uint64_t listed_ns; /* its threads were */
	uint64_t list_ns;   /* CPU time that this took */
	nlink_t links;      /* of /proc/PID/task then: threads + 2 */
	size_t alive;       /* threads now, listed or not */
	size_t gone;        /* of the listed ones */
	uint8_t denied, counted;
	struct sonde_blocked_thread *threads;
	size_t count, cap;
};

struct sonde_source_run {
	struct sonde_recorder *recorder;
	struct sonde_blocked_looker looker;
	struct sonde_blocked_held held;
	int hooks; /* processes may be hooked */
	int timer_fd, is_armed;
	struct sonde_live_list processes; /* struct process */
	size_t kept, kept_processes;
	uint64_t start_ns, looked_ns, listed_ns, next_ns;
	uint64_t random, lists, rounds, strides; /* the last: of all rounds */
	uint64_t look_ns;                        /* CPU time of one, on average */
	uint64_t debt_ns, owed_ns;               /* CPU time that was taken and not waited for yet, as of a moment */
	uint64_t denied, narrow;
	char denied_why[192], denied_name[32];
	int failed; /* no memory: from then on nothing is read */
};

/* --- waits that are told ----------------------------------------------------------------------------------------- */

static struct process *row_at(const struct sonde_source_run *run, size_t i)
{
	return (struct process *)run->processes.rows + i;
}

static const struct process *process_of(const struct sonde_source_run *run, uint32_t id)
{
	size_t from = 0, to = run->processes.count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (row_at(run, middle)->live.id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from < run->processes.count && row_at(run, from)->live.id == id ? row_at(run, from) : NULL;
}

/* Ends the wait of a thread, or the part of it that was seen until now. */
static void tell(struct sonde_source_run *run, const struct process *process, struct sonde_blocked_thread *thread)
{
	struct sonde_blocked_seen seen = {
	    .wait = thread->wait, .process = process->live.id, .pid = process->live.pid, .tid = thread->tid};
	if (seen.wait.kind && seen.wait.dur_ns)
		sonde_blocked_held_add(&run->held, &seen);
	thread->wait.dur_ns = thread->wait.amount = 0;
}

/* A process that is gone, or that is as the recording ends, and that was not known to be hooked: hooks may have told of
 * it meanwhile. */
static enum sonde_blocked_verdict judge_last(const void *context, const struct sonde_blocked_seen *seen)
{
	const struct process *process = process_of(context, seen->process);
	int is_outside = process && process->telling == FROM_OUTSIDE;
	return !is_outside && sonde_waits_told(seen->process) ? SONDE_BLOCKED_FORGET : SONDE_BLOCKED_WRITE;
}

static enum sonde_blocked_verdict judge(const void *context, const struct sonde_blocked_seen *seen)
{
	const struct sonde_source_run *run = context;
	const struct process *process = process_of(run, seen->process);
	if (!process)
		return judge_last(context, seen);
	enum telling telling = process->telling;
	if (telling == HOOKED)
		return SONDE_BLOCKED_FORGET;
	int is_ready = run->looked_ns >= seen->wait.start_ns + SETTLE_NS;
	return telling == FROM_OUTSIDE && is_ready ? SONDE_BLOCKED_WRITE : SONDE_BLOCKED_WAIT;
}

/* --- processes --------------------------------------------------------------------------------------------------- */

static void close_thread(struct sonde_source_run *run, struct sonde_blocked_thread *thread)
{
	run->kept -= thread->call_fd >= 0;
	sonde_blocked_close(thread);
}

static void close_process(struct sonde_source_run *run, struct process *process)
{
	if (process->at.fd < 0)
		return;
	close(process->at.fd);
	process->at.fd = -1;
	run->kept_processes--;
}

static void forget_threads(struct sonde_source_run *run, struct process *process)
{
	for (size_t i = 0; i < process->count; i++) {
		tell(run, process, &process->threads[i]);
		close_thread(run, &process->threads[i]);
	}
	process->count = 0;
	process->links = 0;
}

static void on_came(void *context, void *row)
{
	struct process *process = row;
	(void)context;
	process->at = (struct sonde_blocked_process){.id = process->live.id, .pid = process->live.pid, .fd = -1};
	process->since_ns = sonde_clock_now_ns();
}

static void on_left(void *context, void *row)
{
	struct sonde_source_run *run = context;
	struct process *process = row;
	forget_threads(run, process);
	close_process(run, process);
	sonde_spaces_exit(run->looker.code.spaces, process->live.pid);
	sonde_lock_names_free(process->at.locks);
	free(process->threads);
}

static const struct sonde_live_kind kind = {.row_b = sizeof(struct process), .came = on_came, .left = on_left};

static int has_mapped(pid_t pid)
{
	char path[32], line[4096 + 128];
	int found = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof line, file))
		found = strstr(line, "/" SONDE_WAITS_OBJECT) != NULL;
	if (file)
		fclose(file);
	return found;
}

static void turn(struct process *process, enum telling telling, uint64_t now_ns)
{
	process->telling = telling;
	process->since_ns = now_ns;
}

/* Who tells of its waits. */
static void decide(struct sonde_source_run *run, struct process *process, uint64_t now_ns)
{
	if (!run->hooks) {
		process->telling = FROM_OUTSIDE;
	} else if (sonde_waits_tells(process->live.pid)) {
		if (process->telling == HOOKED)
			return;
		turn(process, HOOKED, now_ns);
		for (size_t i = 0; i < process->count; i++)
			process->threads[i].wait.kind = 0;
		forget_threads(run, process);
	} else if (process->telling == HOOKED) {
		turn(process, UNDECIDED, now_ns);
	} else if (process->telling == UNDECIDED && now_ns >= process->since_ns + SETTLE_NS) {
		turn(process, has_mapped(process->live.pid) ? MAY_CONNECT : FROM_OUTSIDE, now_ns);
	}
}

static void deny(struct sonde_source_run *run, struct process *process)
{
	struct sonde_blocked_facts facts;
	struct sonde_proc_stat stat;
	process->denied = 1;
	if (process->counted)
		return;
	sonde_blocked_facts_read(&facts, process->live.pid);
	process->counted = 1;
	if (run->denied++)
		return;
	char text[sizeof run->denied_why];
	snprintf(run->denied_why, sizeof run->denied_why, "%s", sonde_blocked_why(&facts, text, sizeof text));
	if (!sonde_proc_stat_read(&stat, process->live.pid, 0))
		snprintf(run->denied_name, sizeof run->denied_name, "%s", stat.name);
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static void add_thread(struct sonde_source_run *run, struct process *process, pid_t tid)
{
	if (process->count == process->cap) {
		size_t cap = process->cap ? 2 * process->cap : 8;
		struct sonde_blocked_thread *threads = realloc(process->threads, cap * sizeof *threads);
		run->failed |= !threads;
		if (!threads)
			return;
		process->threads = threads;
		process->cap = cap;
	}
	struct sonde_blocked_thread *thread = &process->threads[process->count++];
	*thread = (struct sonde_blocked_thread){.tid = tid, .call_fd = -1, .schedstat_fd = -1};
	if (run->kept < KEPT_MAX)
		sonde_blocked_keep(&process->at, thread);
	run->kept += thread->call_fd >= 0;
}

/* A thread that is not there any more. */
static void lose_thread(struct sonde_source_run *run, const struct process *process, size_t index)
{
	tell(run, process, &process->threads[index]);
	close_thread(run, &process->threads[index]);
}

/* Lists a process whose number of threads has changed. Kernels list threads in the order in which they began: those
 * that are known come in the order in which they are kept. */
static void list(struct sonde_source_run *run, struct process *process, uint64_t now_ns)
{
	struct stat status;
	size_t known = process->count, at = 0, kept = 0;
	if (fstatat(process->at.fd, "task", &status, 0) || status.st_nlink < 3)
		status.st_nlink = 2;
	process->alive = status.st_nlink - 2;
	uint64_t since_ns = now_ns - process->listed_ns;
	int is_changed = status.st_nlink != process->links || process->gone || since_ns > RELIST_NS;
	if (!is_changed || since_ns < LIST_SHARE * process->list_ns)
		return;
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	int fd = openat(process->at.fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (!directory && fd >= 0)
		close(fd);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t tid = entry->d_name[0] == '.' ? 0 : atoi(entry->d_name);
		size_t same = at;
		while (same < known && process->threads[same].tid != tid)
			same++;
		if (tid <= 0)
			continue;
		if (same == known) {
			add_thread(run, process, tid);
			continue;
		}
		for (; at < same; at++)
			lose_thread(run, process, at);
		process->threads[kept++] = process->threads[at++];
	}
	for (; at < known; at++)
		lose_thread(run, process, at);
	size_t added = process->count - known;
	if (added && kept < known)
		memmove(&process->threads[kept], &process->threads[known], added * sizeof *process->threads);
	process->count = kept + added;
	process->links = status.st_nlink;
	process->gone = 0;
	process->listed_ns = now_ns;
	if (directory)
		closedir(directory);
	process->list_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

/* Lists the threads of a process that is to be looked at. */
static void enter(struct sonde_source_run *run, struct process *process, uint64_t now_ns)
{
	char path[32];
	decide(run, process, now_ns);
	if (process->telling == HOOKED || (process->denied && run->lists % RETRY_ROUNDS))
		return;
	process->denied = 0;
	if (process->at.fd < 0) {
		snprintf(path, sizeof path, "/proc/%d", (int)process->live.pid);
		process->at.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process->at.fd < 0) {
			if (errno == ENOENT && (!kill(process->live.pid, 0) || errno == EPERM))
				deny(run, process);
			return;
		}
		run->kept_processes++;
		if (sonde_blocked_executes(&run->looker, &process->at))
			run->narrow += process->at.is_narrow;
	}
	if (!process->at.is_narrow)
		list(run, process, now_ns);
}

static int is_looked_at(const struct process *process)
{
	return process->telling != HOOKED && !process->denied && process->at.fd >= 0 && !process->at.is_narrow;
}

/* What a look found; the program is looked at before the stack: mappings and names are those of one program. */
static void take_new(struct sonde_source_run *run, struct process *process, struct sonde_blocked_thread *thread,
		     uint64_t now_ns)
{
	if (sonde_blocked_executes(&run->looker, &process->at)) {
		run->narrow += process->at.is_narrow;
		if (process->telling != MAY_CONNECT)
			turn(process, UNDECIDED, now_ns);
		decide(run, process, now_ns);
	}
	sonde_blocked_take(&run->looker, &process->at, thread);
}

static void look_at(struct sonde_source_run *run, struct process *process, struct sonde_blocked_thread *thread,
		    uint64_t stands_ns)
{
	uint64_t now_ns = sonde_clock_now_ns();
	enum sonde_blocked_found found = sonde_blocked_look(&run->looker, &process->at, thread);
	struct sonde_wait *wait = &thread->wait;
	if (found != SONDE_BLOCKED_GOES_ON) {
		tell(run, process, thread);
		wait->kind = 0;
	}
	if (found == SONDE_BLOCKED_GONE) {
		close_thread(run, thread);
		thread->tid = 0;
		process->gone++;
	}
	if (found == SONDE_BLOCKED_DENIED)
		deny(run, process);
	if (found == SONDE_BLOCKED_IN_ANOTHER)
		take_new(run, process, thread, now_ns);
	if (!wait->kind)
		return;
	if (!wait->dur_ns) /* of one thread in k it may stand for more time than there was */
		wait->start_ns = now_ns > run->start_ns + stands_ns ? now_ns - stands_ns : run->start_ns;
	wait->dur_ns += stands_ns;
	wait->amount++;
	if (wait->dur_ns >= PIECE_NS)
		tell(run, process, thread);
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

/* Who is there; the number of threads to look at. */
static size_t find_threads(struct sonde_source_run *run, uint64_t now_ns)
{
	size_t count = 0;
	int is_due = now_ns >= run->listed_ns + run->processes.count * (uint64_t)LIST_NS;
	if (is_due) {
		run->failed |= sonde_live_list_refresh(&run->processes, &kind, run->recorder, run) < 0;
		run->listed_ns = now_ns;
		run->lists++;
	}
	for (size_t i = 0; i < run->processes.count; i++) {
		struct process *process = row_at(run, i);
		if (is_due)
			enter(run, process, now_ns);
		count += is_looked_at(process) ? process->count : 0;
	}
	return count;
}

/* How long to wait from now, on average, so that all threads can be looked at then: up to a point. */
static uint64_t period_of(const struct sonde_source_run *run, size_t threads)
{
	uint64_t period_ns = (WAKE_NS + threads * run->look_ns) * COST_SHARE;
	return period_ns < PERIOD_NS ? PERIOD_NS : period_ns > PERIOD_MOST_NS ? PERIOD_MOST_NS : period_ns;
}

/* What may be spent on looks now: what the period earns and a part of the credit, less what was spent on lists. */
static uint64_t afford_ns(const struct sonde_source_run *run, uint64_t period_ns, uint64_t spent_ns)
{
	uint64_t credit_ns = run->debt_ns < CREDIT_NS ? CREDIT_NS - run->debt_ns : 0;
	uint64_t sum_ns = period_ns / COST_SHARE + credit_ns / CREDIT_PARTS;
	uint64_t rest_ns = sum_ns > spent_ns + WAKE_NS ? sum_ns - spent_ns - WAKE_NS : 0;
	return rest_ns < SLICE_NS ? rest_ns : SLICE_NS;
}

static uint64_t draw(struct sonde_source_run *run, uint64_t below)
{
	run->random = sonde_hash_mix(run->random + 0x9e3779b97f4a7c15u);
	return run->random % below;
}

/* What a look stands for in a process that has threads which are not listed yet: for these, too. */
static uint64_t stands_for(const struct process *process, uint64_t stands_ns)
{
	size_t listed = process->count - process->gone;
	return listed && process->alive > listed ? stands_ns * process->alive / listed : stands_ns;
}

/* Looks at one thread in `stride`; how many. */
static size_t look_at_all(struct sonde_source_run *run, uint64_t stride, uint64_t stands_ns)
{
	size_t looks = 0, skip = stride > 1 ? draw(run, stride) : 0;
	for (size_t i = 0; i < run->processes.count; i++) {
		struct process *process = row_at(run, i);
		size_t at = skip, count = process->count;
		if (!is_looked_at(process))
			continue;
		for (; at < count && is_looked_at(process); at += stride, looks++)
			if (process->threads[at].tid)
				look_at(run, process, &process->threads[at], stands_for(process, stride * stands_ns));
		skip = at < count ? 0 : at - count;
		if (run->kept_processes > PROCESSES_KEPT)
			close_process(run, process);
	}
	return looks;
}

/* Wakes the recorder, as long as there is somebody to look at. */
static void arm(struct sonde_source_run *run, uint64_t now_ns)
{
	int wanted = 0;
	for (size_t i = 0; i < run->processes.count && !wanted; i++)
		wanted = row_at(run, i)->telling != HOOKED && !row_at(run, i)->denied;
	struct itimerspec at = {0};
	uint64_t wait_ns = run->next_ns > now_ns ? run->next_ns - now_ns : 1;
	if (wanted)
		at.it_value = (struct timespec){(time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u)};
	if (wanted || run->is_armed)
		timerfd_settime(run->timer_fd, 0, &at, NULL); /* what has expired is forgotten */
	run->is_armed = wanted;
}

/* Until when to wait after a part that took so much CPU time. */
static uint64_t pay(struct sonde_source_run *run, uint64_t cpu_ns, uint64_t now_ns)
{
	uint64_t paid_ns = (now_ns - run->owed_ns) / COST_SHARE;
	run->owed_ns = now_ns;
	run->debt_ns = cpu_ns + (run->debt_ns > paid_ns ? run->debt_ns - paid_ns : 0);
	return now_ns + (run->debt_ns > CREDIT_NS ? (run->debt_ns - CREDIT_NS) * COST_SHARE : 0);
}

/* A stack that lies in a program for the first time may cost a hundred times as much. */
static void learn(struct sonde_source_run *run, uint64_t look_ns)
{
	look_ns = look_ns < 2 * run->look_ns ? look_ns : 2 * run->look_ns;
	run->look_ns = (7 * run->look_ns + look_ns) / 8 + 1;
}

static void look(struct sonde_source_run *run, uint64_t now_ns)
{
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID), stands_ns = now_ns - run->looked_ns;
	size_t count = find_threads(run, now_ns);
	uint64_t found_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t period_ns = period_of(run, count);
	uint64_t most = afford_ns(run, period_ns, found_ns - cpu_ns) / run->look_ns + 1,
		 stride = (count + most - 1) / most;
	stride = stride ? stride : 1;
	run->strides += count ? stride : 0;
	size_t looks = look_at_all(run, stride, stands_ns);
	run->looked_ns = now_ns;
	run->rounds += count > 0;
	if (looks)
		learn(run, (sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - found_ns) / looks);
	sonde_blocked_held_settle(&run->held, judge, run);
	cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	uint64_t paid_ns = pay(run, cpu_ns + WAKE_NS, now_ns);
	run->next_ns = now_ns + period_ns / 2 + draw(run, period_ns);
	if (run->next_ns < paid_ns)
		run->next_ns = paid_ns;
	arm(run, sonde_clock_now_ns());
}

/* --- the source -------------------------------------------------------------------------------------------------- */

static int blocked_probe(const struct sonde_record_options *options, char *why, size_t why_b)
{
	if (options && (!(options->waits & SONDE_WAIT_WHAT_LOCKS) || options->only_resources))
		return -ECANCELED;
	if (access("/proc/self/syscall", R_OK)) {
		snprintf(why, why_b,
			 "this kernel has no /proc/PID/syscall (CONFIG_HAVE_ARCH_TRACEHOOK): nothing says from outside "
			 "what threads wait in");
		return -ENOTSUP;
	}
	return sonde_schedstat_probe(why, why_b);
}

static int blocked_open(struct sonde_source_run **out, struct sonde_recorder *recorder)
{
	const struct sonde_record_options *options = sonde_recorder_options(recorder);
	struct sonde_source_run *run = calloc(1, sizeof *run);
	int result = run ? sonde_blocked_looker_init(&run->looker, recorder) : -ENOMEM;
	if (run)
		run->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (!run || result < 0 || run->timer_fd < 0) {
		if (run)
			sonde_blocked_looker_fini(&run->looker);
		free(run);
		return sonde_error(ENOMEM, "no memory or descriptor for the blocked source");
	}
	run->recorder = recorder;
	run->hooks = !options->attach && !options->no_inject;
	run->look_ns = LOOK_NS;
	sonde_blocked_held_init(&run->held, recorder);
	*out = run;
	return 0;
}

static int blocked_start(struct sonde_source_run *run, pid_t pid)
{
	uint64_t now_ns = sonde_clock_now_ns();
	run->start_ns = run->looked_ns = run->owed_ns = run->random = now_ns;
	sonde_recorder_process(run->recorder, pid, now_ns);
	run->next_ns = now_ns + PERIOD_NS / 2 + draw(run, PERIOD_NS);
	find_threads(run, now_ns);
	arm(run, now_ns);
	return 0;
}

static int blocked_drain(struct sonde_source_run *run, uint64_t horizon_ns, int final)
{
	uint64_t now_ns = sonde_clock_now_ns();
	(void)horizon_ns;
	if (run->failed)
		return sonde_recorder_error(run->recorder);
	if (!final && now_ns >= run->next_ns)
		look(run, now_ns);
	for (size_t i = 0; final && i < run->processes.count; i++) {
		decide(run, row_at(run, i), now_ns);
		forget_threads(run, row_at(run, i));
	}
	if (final)
		sonde_blocked_held_settle(&run->held, judge_last, run);
	return sonde_recorder_error(run->recorder);
}

static size_t blocked_poll_fds(struct sonde_source_run *run, int *fds, size_t max)
{
	if (!max)
		return 0;
	fds[0] = run->timer_fd;
	return 1;
}

static void lose(struct sonde_source_run *run, const char *cause, uint64_t count)
{
	struct sonde_recorder_loss loss = {
	    .source = "blocked", .cause = cause, .count = count, .time_ns = sonde_clock_now_ns()};
	if (count)
		sonde_recorder_lost(run->recorder, &loss);
}

/* What was not seen; the number of bytes. */
static size_t say_limits(const struct sonde_source_run *run, char *out, size_t out_b)
{
	size_t at = 0;
#define SAY(...) \
	at += (size_t)snprintf(out + at, at < out_b ? out_b - at : 0, __VA_ARGS__), at = at < out_b ? at : out_b - 1
	if (run->failed)
		SAY("out of memory for threads: they were not looked at any more");
	if (run->denied)
		SAY("%s%llu process%s could not be looked at: %s %s", at ? "; " : "", (unsigned long long)run->denied,
		    run->denied == 1 ? "" : "es", run->denied_name, run->denied_why);
	if (run->narrow)
		SAY("%s%llu program%s of 32 bits",
		    at ? "; not looked at: " : "not looked at: ", (unsigned long long)run->narrow,
		    run->narrow == 1 ? "" : "s");
	if (run->looker.unreadable)
		SAY("%sstacks could not be read: %s", at ? "; " : "", strerror(run->looker.error));
	if (run->rounds && run->strides / run->rounds >= 2)
		SAY("%sof so many threads one in %llu was looked at at a time, and stood for the others, so that it "
		    "takes no "
		    "more than 0.5 %% of a CPU",
		    at ? "; " : "", (unsigned long long)(run->strides / run->rounds));
#undef SAY
	return at;
}

static void blocked_stop(struct sonde_source_run *run)
{
	char detail[512] = "";
	uint64_t ran_ns = sonde_clock_now_ns() - run->start_ns;
	size_t limits_b = say_limits(run, detail, sizeof detail);
	struct sonde_recorder_state state = {.state = limits_b ? SONDE_SOURCE_LIMITED : SONDE_SOURCE_ON,
					     .method = METHOD,
					     .detail = limits_b ? detail : NULL,
					     .rate_hz = 1e9 / PERIOD_NS};
	state.effective_hz = ran_ns ? (double)run->rounds * 1e9 / (double)ran_ns : 0;
	if (run->denied && !run->held.looks)
		state.state = SONDE_SOURCE_UNAVAILABLE;
	if (run->held.looks || limits_b)
		sonde_recorder_source(run->recorder, "blocked", &state);
	lose(run, "too many that wait until it is known whether hooks tell them", run->held.unheld);
	lose(run, "the thread ended before it was known", run->held.unknown);
	sonde_live_list_fini(&run->processes, &kind, run);
	sonde_blocked_held_fini(&run->held);
	sonde_blocked_looker_fini(&run->looker);
	close(run->timer_fd);
	free(run);
}

const struct sonde_source sonde_source_blocked = {
    .name = "blocked",
    .title = "what threads wait for, looked at from outside where nothing is preloaded (--threads)",
    .cost = "at most 0.5 % of a CPU in the recorder",
    .probe = blocked_probe,
    .open = blocked_open,
    .start = blocked_start,
    .drain = blocked_drain,
    .poll_fds = blocked_poll_fds,
    .stop = blocked_stop,
};
