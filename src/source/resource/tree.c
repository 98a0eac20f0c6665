/* tree.c: numbers are given in turn, and /proc/loadavg has the last one: what lies between it and the last
 * one of the look before is new. A few are tried one by one, for many /proc is listed. Parents come before their
 * children, as their numbers do.
 */
#include "source/resource/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "source/resource/files.h"
#include "source/resource/proc_stat.h"
#include "util/file.h"

#define TRIED_MAX 256
#define EXIT_SIGNAL 38 /* field of stat; −1 of a thread that is not its process's first */

/* Field `number` (3 …) of what stands behind the name. */
static const char *field_of(const char *behind_name, int number)
{
	const char *at = behind_name;
	for (int i = 3; at && i <= number; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

/* Ticks count from the machine's start, with the time that it slept, which the recording's clock leaves out. */
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
	tree->lacks_files |= sonde_files_lack(errno);
}

/* Threads can be read under their number, too. One that cannot be read is none. */
static int is_process(struct sonde_resources_tree *tree, pid_t pid)
{
	char text[1024];
	errno = 0;
	if (!sonde_file_read(text, sizeof text, "/proc/%d/stat", (int)pid))
		see_files(tree);
	const char *end = strrchr(text, ')'), *field = end ? field_of(end, EXIT_SIGNAL) : NULL;
	return field && *field != '-';
}

/* A process that said its last words may be there still; if it is at the next look, its number is another's. */
static int is_leaving(struct sonde_resources_tree *tree, pid_t pid, uint64_t start_ns)
{
	if (!sonde_recorder_known(tree->recorder, pid, pid, start_ns) ||
	    tree->leaving_count == sizeof tree->leaving / sizeof *tree->leaving)
		return 0;
	tree->leaving[tree->leaving_count++] = pid;
	return 1;
}

/* `again`: it has been put off once. */
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
	tree->may_have_missed |= stat.parent == 1; /* to which it may have gone from its own */
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

/* Those of /proc whose number is above `after`, up to `last`; numbers begin again at their end. */
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
	tree->lacks_files = 0;
	for (size_t i = 0; i < leaving; i++)
		consider(tree, tree->leaving[i], now_ns, 1);
	tree->leaving_count = 0;
	if (last_pid && last_pid == before) { /* none, or one whose number was chosen (ns_last_pid) */
		int may_have_missed = tree->may_have_missed;
		consider(tree, last_pid, now_ns, 0);
		tree->may_have_missed = may_have_missed;
		return;
	}
	if (!before || last_pid < before || /* as 0 is, where it cannot be read */ last_pid - before > TRIED_MAX)
		list(tree, before, last_pid, now_ns);
	else
		for (pid_t pid = before + 1; pid <= last_pid; pid++)
			consider(tree, pid, now_ns, 0);
	tree->was_unread |= tree->lacks_files;
	tree->last_pid = tree->lacks_files || !last_pid ? before : last_pid; /* it is looked again */
}
