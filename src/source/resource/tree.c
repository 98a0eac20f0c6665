/* tree.c: pids are assigned sequentially, and /proc/loadavg has the last one. So the pids after the last one of the
 * previous poll, up to the last one now, are new. If they are few, they are checked one by one; if they are many, /proc
 * is listed. Parents come before their children, as their pids do.
 */
#include "source/resource/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/resource/files.h"
#include "source/resource/proc_stat.h"
#include "util/file.h"

#define TRIED_MAX 256
#define EXIT_SIGNAL 38 /* field of stat; −1 for a thread other than the process's first */

/* The start of field `number` (3 …) in the text after the name. */
static const char *field_of(const char *behind_name, int number)
{
	const char *at = behind_name;
	for (int i = 3; at && i <= number; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

/* Ticks count from boot and include suspend, which the recording's clock excludes. */
static uint64_t start_of(uint64_t ticks, uint64_t now_ns)
{
	uint64_t boot_ns = ticks * sonde_proc_tick_ns(), slept_ns = 0;
	uint64_t now_boot_ns = sonde_clock_read_ns(CLOCK_BOOTTIME);
	if (now_boot_ns > now_ns)
		slept_ns = now_boot_ns - now_ns;
	uint64_t start_ns = boot_ns > slept_ns ? boot_ns - slept_ns : 0;
	return start_ns < now_ns ? start_ns : now_ns;
}

static void see_files(struct sonde_resources_tree *tree)
{
	tree->missing_files |= sonde_files_lack(errno);
}

/* True for a process. A thread can be read under its tid, too, but is not a process; neither is a pid that cannot be
 * read. */
static int is_process(struct sonde_resources_tree *tree, pid_t pid)
{
	char text[1024];
	errno = 0;
	if (!sonde_file_read(text, sizeof text, "/proc/%d/stat", (int)pid))
		see_files(tree);
	const char *end = strrchr(text, ')'), *field = end ? field_of(end, EXIT_SIGNAL) : NULL;
	return field && *field != '-';
}

/* True if the pid is that of a process which has reported its exit but still exists. If the pid exists at the next
 * poll, too, it belongs to another process. */
static int is_leaving(struct sonde_resources_tree *tree, pid_t pid, uint64_t start_ns)
{
	if (!sonde_recorder_known(tree->recorder, pid, pid, start_ns) ||
	    tree->leaving_count == sizeof tree->leaving / sizeof *tree->leaving)
		return 0;
	tree->leaving[tree->leaving_count++] = pid;
	return 1;
}

/* `again`: the pid has been deferred once. */
static void consider(struct sonde_resources_tree *tree, pid_t pid, uint64_t now_ns, int again)
{
	struct sonde_proc_stat stat;
	if (sonde_recorder_alive(tree->recorder, pid))
		return;
	errno = 0;
	if (sonde_proc_stat_read(&stat, pid, 0)) {
		see_files(tree);
		tree->may_have_missed = 1;
		return;
	}
	tree->may_have_missed |= stat.parent == 1; /* its own parent may have exited, so that init adopted it */
	if (stat.state == 'Z' || !sonde_recorder_alive(tree->recorder, stat.parent) || !is_process(tree, pid))
		return;
	uint64_t start_ns = start_of(stat.start_ticks, now_ns);
	if (start_ns < tree->began_ns) /* a tick is 10 ms */
		start_ns = tree->began_ns;
	if (!again && is_leaving(tree, pid, start_ns))
		return;
	sonde_recorder_fork(tree->recorder, stat.parent, pid, pid, start_ns);
	sonde_recorder_comm(tree->recorder, pid, pid, stat.name, 1, start_ns);
}

/* Considers the processes in /proc with pids above `after`, up to `last`; pids wrap around. */
static void list(struct sonde_resources_tree *tree, pid_t after, pid_t last, uint64_t now_ns)
{
	errno = 0;
	DIR *directory = opendir("/proc");
	if (!directory)
		see_files(tree);
	tree->may_have_missed |= after != 0;
	for (const struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		int is_new = after < last ? pid > after && pid <= last : pid > after || pid <= last;
		if (pid > 0 && is_new)
			consider(tree, pid, now_ns, 0);
	}
	if (directory)
		closedir(directory);
}

void sonde_resources_tree_start(struct sonde_resources_tree *tree, struct sonde_recorder *recorder, pid_t pid,
				int is_new)
{
	uint64_t now_ns = sonde_clock_now_ns();
	*tree = (struct sonde_resources_tree){
	    .recorder = recorder, .began_ns = is_new ? now_ns : 0, .last_pid = is_new ? pid : 0};
	sonde_recorder_thread(recorder, pid, pid, now_ns);
}

void sonde_resources_tree_look(struct sonde_resources_tree *tree, pid_t last_pid, uint64_t now_ns)
{
	pid_t before = tree->last_pid;
	size_t leaving = tree->leaving_count;
	tree->missing_files = 0;
	for (size_t i = 0; i < leaving; i++)
		consider(tree, tree->leaving[i], now_ns, 1);
	tree->leaving_count = 0;
	if (last_pid && last_pid == before) { /* no new process, or one with a chosen pid (ns_last_pid) */
		int may_have_missed = tree->may_have_missed;
		consider(tree, last_pid, now_ns, 0);
		tree->may_have_missed = may_have_missed;
		return;
	}
	if (!before || last_pid < before || /* also if it is 0: not readable */ last_pid - before > TRIED_MAX)
		list(tree, before, last_pid, now_ns);
	else
		for (pid_t pid = before + 1; pid <= last_pid; pid++)
			consider(tree, pid, now_ns, 0);
	tree->was_unread |= tree->missing_files;
	tree->last_pid = tree->missing_files || !last_pid ? before : last_pid; /* polled again */
}
