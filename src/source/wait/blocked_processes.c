/* blocked_processes.c: lists processes and threads, and keeps the results of polls (wait/blocked_processes.h).
 *
 * A process whose waits are reported by hooks is not polled. A process that may still get hooks is polled, but its
 * waits are held back until it is known whether hooks report them; so no wait is reported twice. If a process has not
 * mapped our object 100 ms after its start, it never will. If it has, it may still connect until it exits.
 *
 * New and exited processes and threads are found by listing, which costs as much as several polls. So threads are
 * listed if their number has changed, and otherwise only occasionally.
 */
#include "source/wait/blocked_processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/resource/files.h"
#include "source/resource/proc_stat.h"
#include "source/target/channel.h"
#include "source/wait/waits.h"
#include "util/array.h"

#define SETTLE_NS 100000000u /* by then, a process has mapped our object, and other sources have named a thread */
#define PIECE_NS 1000000000u /* an ongoing wait is reported this often, for live views */
#define LIST_NS 2500000u     /* between listings of threads, per process */
#define RELIST_NS 300000000u /* threads are listed again after this time: equally many may have started and exited */
#define LIST_SHARE 500u      /* a listing may use at most 1/LIST_SHARE of the time between listings */
#define RETRY_ROUNDS 256u    /* a denied process is checked again: it may execute another program */
#define KEPT_MAX 128u        /* threads with open descriptors */
#define PROCESSES_KEPT 128u  /* with an open descriptor between polls */

/* --- processes -------------------------------------------------------------------------------------------------- */

struct sonde_blocked_listed *sonde_blocked_processes_at(const struct sonde_blocked_processes *processes, size_t i)
{
	return (struct sonde_blocked_listed *)processes->list.rows + i;
}

/* Reports the wait of a thread, or the part of it seen so far. */
static void record(struct sonde_blocked_processes *processes, const struct sonde_blocked_listed *listed,
		   struct sonde_blocked_thread *thread)
{
	struct sonde_blocked_seen seen = {
	    .wait = thread->wait, .process = listed->live.id, .pid = listed->live.pid, .tid = thread->tid};
	if (seen.wait.kind && seen.wait.dur_ns)
		sonde_blocked_held_add(&processes->held, &seen);
	thread->wait.dur_ns = thread->wait.amount = 0;
}

static void close_thread(struct sonde_blocked_processes *processes, struct sonde_blocked_thread *thread)
{
	processes->kept -= thread->call_fd >= 0;
	sonde_blocked_close(thread);
}

static void close_process(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed)
{
	if (listed->at.fd < 0)
		return;
	close(listed->at.fd);
	listed->at.fd = -1;
	processes->kept_processes--;
}

static void forget_threads(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed)
{
	for (size_t i = 0; i < listed->count; i++) {
		record(processes, listed, &listed->threads[i]);
		close_thread(processes, &listed->threads[i]);
	}
	listed->count = 0;
	listed->links = 0;
}

static void on_came(void *context, void *row)
{
	struct sonde_blocked_listed *listed = row;
	(void)context;
	listed->at = (struct sonde_blocked_process){.id = listed->live.id, .pid = listed->live.pid, .fd = -1};
	listed->since_ns = sonde_clock_now_ns();
}

static int is_unreachable(const struct sonde_blocked_processes *processes, uint32_t process)
{
	return processes->channel && sonde_channel_unreachable(processes->channel, SONDE_LINK_WAITS, process);
}

static int was_covered(const struct sonde_blocked_processes *processes, uint32_t process)
{
	return processes->channel && sonde_channel_covered(processes->channel, SONDE_LINK_WAITS, process);
}

/* No longer counts a process as denied if hooks have reported its waits. */
static void excuse(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed)
{
	uint32_t id = listed->live.id;
	if (!listed->counted || !was_covered(processes, id) || is_unreachable(processes, id))
		return;
	listed->counted = 0;
	processes->denied--;
	if (processes->denied_process == id) /* the next denied process sets its own texts */
		processes->denied_name[0] = processes->denied_why[0] = '\0';
}

static void on_left(void *context, void *row)
{
	struct sonde_blocked_processes *processes = context;
	struct sonde_blocked_listed *listed = row;
	excuse(processes, listed);
	forget_threads(processes, listed);
	close_process(processes, listed);
	sonde_spaces_exit(processes->looker.code.spaces, listed->live.pid);
	sonde_lock_names_free(listed->at.locks);
	free(listed->threads);
}

static const struct sonde_live_kind kind = {
    .row_b = sizeof(struct sonde_blocked_listed), .came = on_came, .left = on_left};

int sonde_blocked_processes_init(struct sonde_blocked_processes *processes, struct sonde_recorder *recorder,
				 const struct sonde_channel *channel)
{
	*processes = (struct sonde_blocked_processes){.recorder = recorder,
						      .channel = channel,
						      .kept_max = sonde_files_share(KEPT_MAX, 32),
						      .kept_processes_max = sonde_files_share(PROCESSES_KEPT, 16)};
	sonde_blocked_held_init(&processes->held, recorder);
	return sonde_blocked_looker_init(&processes->looker, recorder);
}

void sonde_blocked_processes_fini(struct sonde_blocked_processes *processes)
{
	sonde_live_list_fini(&processes->list, &kind, processes);
	sonde_blocked_held_fini(&processes->held);
	sonde_blocked_looker_fini(&processes->looker);
}

/* --- what reports waits ----------------------------------------------------------------------------------------- */

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

static void turn(struct sonde_blocked_listed *listed, enum sonde_blocked_telling telling, uint64_t now_ns)
{
	listed->telling = telling;
	listed->since_ns = now_ns;
}

/* Decides which source reports the waits of a process. */
static void decide(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed, uint64_t now_ns)
{
	if (!processes->channel || is_unreachable(processes, listed->live.id)) {
		listed->telling = SONDE_BLOCKED_FROM_OUTSIDE;
	} else if (sonde_channel_covers(processes->channel, SONDE_LINK_WAITS, listed->live.pid)) {
		if (listed->telling == SONDE_BLOCKED_INTERPOSED)
			return;
		turn(listed, SONDE_BLOCKED_INTERPOSED, now_ns);
		for (size_t i = 0; i < listed->count; i++)
			listed->threads[i].wait.kind = 0;
		forget_threads(processes, listed);
	} else if (listed->telling == SONDE_BLOCKED_INTERPOSED) {
		turn(listed, SONDE_BLOCKED_UNDECIDED, now_ns);
	} else if (listed->telling == SONDE_BLOCKED_UNDECIDED && now_ns >= listed->since_ns + SETTLE_NS) {
		turn(listed, has_mapped(listed->live.pid) ? SONDE_BLOCKED_MAY_CONNECT : SONDE_BLOCKED_FROM_OUTSIDE,
		     now_ns);
	}
}

struct judging {
	const struct sonde_blocked_processes *processes;
	uint64_t now_ns; /* UINT64_MAX: settle everything */
};

/* The waits of a process that has exited, or is alive as the recording ends, are discarded if hooks reported them, even
 * if the process was not known to have hooks. */
static enum sonde_blocked_verdict evaluate(const void *context, const struct sonde_blocked_seen *seen)
{
	const struct judging *judging = context;
	const struct sonde_live_list *all = &judging->processes->list;
	const struct sonde_blocked_listed *listed = sonde_live_list_find(all, &kind, seen->process);
	int is_last = !listed || judging->now_ns == UINT64_MAX;
	int is_outside = listed && listed->telling == SONDE_BLOCKED_FROM_OUTSIDE;
	if (is_last)
		return !is_outside && was_covered(judging->processes, seen->process) ? SONDE_BLOCKED_FORGET
										     : SONDE_BLOCKED_WRITE;
	if (listed->telling == SONDE_BLOCKED_INTERPOSED)
		return SONDE_BLOCKED_FORGET;
	int is_ready = judging->now_ns >= seen->wait.start_ns + SETTLE_NS;
	return is_outside && is_ready ? SONDE_BLOCKED_WRITE : SONDE_BLOCKED_WAIT;
}

void sonde_blocked_processes_settle(struct sonde_blocked_processes *processes, uint64_t now_ns)
{
	const struct judging judging = {processes, now_ns};
	sonde_blocked_held_settle(&processes->held, evaluate, &judging);
}

void sonde_blocked_processes_end(struct sonde_blocked_processes *processes, uint64_t now_ns)
{
	for (size_t i = 0; i < processes->list.count; i++) {
		struct sonde_blocked_listed *listed = sonde_blocked_processes_at(processes, i);
		decide(processes, listed, now_ns);
		forget_threads(processes, listed);
		excuse(processes, listed);
	}
	sonde_blocked_processes_settle(processes, UINT64_MAX);
}

/* --- threads ---------------------------------------------------------------------------------------------------- */

static void deny(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed)
{
	struct sonde_blocked_facts facts;
	struct sonde_proc_stat stat;
	listed->denied = 1;
	processes->denied += !listed->counted;
	listed->counted = 1;
	if (*processes->denied_why)
		return;
	sonde_blocked_facts_read(&facts, listed->live.pid);
	processes->denied_process = listed->live.id;
	char text[sizeof processes->denied_why];
	snprintf(processes->denied_why, sizeof processes->denied_why, "%s",
		 sonde_blocked_why(&facts, text, sizeof text));
	if (!sonde_proc_stat_read(&stat, listed->live.pid, 0))
		snprintf(processes->denied_name, sizeof processes->denied_name, "%s", stat.name);
}

static void add_thread(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed, pid_t tid)
{
	if (SONDE_ARRAY_RESERVE(listed->threads, listed->cap, listed->count + 1)) {
		processes->failed = 1;
		return;
	}
	struct sonde_blocked_thread *thread = &listed->threads[listed->count++];
	*thread = (struct sonde_blocked_thread){.tid = tid, .call_fd = -1, .schedstat_fd = -1};
	if (processes->kept < processes->kept_max)
		sonde_blocked_keep(&listed->at, thread);
	processes->kept += thread->call_fd >= 0;
}

/* Handles the exit of a thread. */
static void lose_thread(struct sonde_blocked_processes *processes, const struct sonde_blocked_listed *listed,
			size_t index)
{
	record(processes, listed, &listed->threads[index]);
	close_thread(processes, &listed->threads[index]);
}

/* Lists a process whose number of threads has changed. Kernels list threads in order of creation, so known threads
 * appear in the stored order. */
static void list(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed, uint64_t now_ns)
{
	struct stat status;
	size_t known = listed->count, at = 0, kept = 0;
	if (fstatat(listed->at.fd, "task", &status, 0) || status.st_nlink < 3)
		status.st_nlink = 2;
	listed->alive = status.st_nlink - 2;
	uint64_t since_ns = now_ns - listed->listed_ns;
	int is_changed = status.st_nlink != listed->links || listed->gone || since_ns > RELIST_NS;
	if (!is_changed || since_ns < LIST_SHARE * listed->list_ns)
		return;
	uint64_t cpu_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	int fd = openat(listed->at.fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (!directory && fd >= 0)
		close(fd);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t tid = entry->d_name[0] == '.' ? 0 : atoi(entry->d_name);
		size_t same = at;
		while (same < known && listed->threads[same].tid != tid)
			same++;
		if (tid <= 0)
			continue;
		if (same == known) {
			add_thread(processes, listed, tid);
			continue;
		}
		for (; at < same; at++)
			lose_thread(processes, listed, at);
		listed->threads[kept++] = listed->threads[at++];
	}
	for (; at < known; at++)
		lose_thread(processes, listed, at);
	size_t added = listed->count - known;
	if (added && kept < known)
		memmove(&listed->threads[kept], &listed->threads[known], added * sizeof *listed->threads);
	listed->count = kept + added;
	listed->links = status.st_nlink;
	listed->gone = 0;
	listed->listed_ns = now_ns;
	if (directory)
		closedir(directory);
	listed->list_ns = sonde_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

/* Lists the threads of a process that is to be polled. */
static void enter(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed, uint64_t now_ns)
{
	char path[32];
	decide(processes, listed, now_ns);
	if (listed->telling == SONDE_BLOCKED_INTERPOSED || (listed->denied && processes->lists % RETRY_ROUNDS))
		return;
	listed->denied = 0;
	if (listed->at.fd < 0) {
		snprintf(path, sizeof path, "/proc/%d", (int)listed->live.pid);
		listed->at.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (listed->at.fd < 0) {
			if (errno == ENOENT && (!kill(listed->live.pid, 0) || errno == EPERM))
				deny(processes, listed);
			return;
		}
		processes->kept_processes++;
		if (sonde_blocked_executes(&processes->looker, &listed->at))
			processes->narrow += listed->at.is_narrow;
	}
	if (!listed->at.is_narrow)
		list(processes, listed, now_ns);
}

int sonde_blocked_processes_is_waited_for(const struct sonde_blocked_listed *listed)
{
	return listed->telling != SONDE_BLOCKED_INTERPOSED && !listed->denied;
}

int sonde_blocked_processes_is_looked_at(const struct sonde_blocked_listed *listed)
{
	return sonde_blocked_processes_is_waited_for(listed) && listed->at.fd >= 0 && !listed->at.is_narrow;
}

size_t sonde_blocked_processes_find(struct sonde_blocked_processes *processes, uint64_t now_ns)
{
	size_t count = 0;
	int is_due = now_ns >= processes->listed_ns + processes->list.count * (uint64_t)LIST_NS;
	if (is_due) {
		processes->failed |=
		    sonde_live_list_refresh(&processes->list, &kind, processes->recorder, processes) < 0;
		processes->listed_ns = now_ns;
		processes->lists++;
	}
	for (size_t i = 0; i < processes->list.count; i++) {
		struct sonde_blocked_listed *listed = sonde_blocked_processes_at(processes, i);
		if (is_due)
			enter(processes, listed, now_ns);
		count += sonde_blocked_processes_is_looked_at(listed) ? listed->count : 0;
	}
	return count;
}

/* --- polls ------------------------------------------------------------------------------------------------------ */

/* Takes a new wait; the program is checked before the stack, so that mappings and names belong to the same program. */
static void take_new(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed,
		     struct sonde_blocked_thread *thread, uint64_t now_ns)
{
	if (sonde_blocked_executes(&processes->looker, &listed->at)) {
		processes->narrow += listed->at.is_narrow;
		if (listed->telling != SONDE_BLOCKED_MAY_CONNECT)
			turn(listed, SONDE_BLOCKED_UNDECIDED, now_ns);
		decide(processes, listed, now_ns);
	}
	sonde_blocked_take(&processes->looker, &listed->at, thread);
}

void sonde_blocked_processes_look(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed,
				  struct sonde_blocked_thread *thread, uint64_t stands_ns)
{
	uint64_t now_ns = sonde_clock_now_ns();
	enum sonde_blocked_found found = sonde_blocked_look(&processes->looker, &listed->at, thread);
	struct sonde_waits_row *wait = &thread->wait;
	if (found != SONDE_BLOCKED_GOES_ON) {
		record(processes, listed, thread);
		wait->kind = 0;
	}
	if (found == SONDE_BLOCKED_GONE) {
		close_thread(processes, thread);
		thread->tid = 0;
		listed->gone++;
	}
	if (found == SONDE_BLOCKED_DENIED)
		deny(processes, listed);
	if (found == SONDE_BLOCKED_IN_ANOTHER)
		take_new(processes, listed, thread, now_ns);
	if (!wait->kind)
		return;
	if (!wait->dur_ns) /* if only every k-th thread is polled, stands_ns may exceed the time since the start */
		wait->start_ns = now_ns > processes->start_ns + stands_ns ? now_ns - stands_ns : processes->start_ns;
	wait->dur_ns += stands_ns;
	wait->amount++;
	if (wait->dur_ns >= PIECE_NS)
		record(processes, listed, thread);
}

void sonde_blocked_processes_looked(struct sonde_blocked_processes *processes, struct sonde_blocked_listed *listed)
{
	if (processes->kept_processes > processes->kept_processes_max)
		close_process(processes, listed);
}
