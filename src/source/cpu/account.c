/* account.c: CPU time as counted by the kernel: getrusage() and /proc/PID/stat.
 *
 * For an attached process, it sums, over the processes of the tree, each process's own time and the time of the
 * children that it waited for. A process that ends passes its time to the process that waits for it, so the sum only
 * grows. A process whose parent ends first leaves the tree, and its time is no longer in the sum.
 */
#include "source/cpu/account.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "source/resource/proc_stat.h"
#include "util/array.h"

#define NOTABLE_PART 50u    /* less than 1 / NOTABLE_PART of the CPU time is not reported */
#define NOTABLE_NS 5000000u /* less than this is not reported either */
#define TICKS 4u            /* possible error of a figure from /proc */

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static int add_ticks(struct sonde_cpu_account *account, const struct sonde_proc_stat *stat)
{
	account->user_ns += stat->user_ns + stat->child_user_ns;
	account->system_ns += stat->system_ns + stat->child_system_ns;
	account->coarse++;
	return 1;
}

static void read_ticks(struct sonde_cpu_account *account)
{
	struct sonde_proc_stat stat;
	if (!sonde_proc_stat_read(&stat, account->pid, 0))
		add_ticks(account, &stat);
}

struct member {
	pid_t pid;
	int is_in;
	struct sonde_proc_stat stat;
};

/* All visible processes; NULL when out of memory or without /proc. */
static struct member *list(size_t *count)
{
	DIR *directory = opendir("/proc");
	struct member *members = NULL;
	size_t cap = 0;
	*count = 0;
	for (const struct dirent *entry; directory && (entry = readdir(directory));) {
		struct member member = {.pid = (pid_t)atoi(entry->d_name)};
		if (member.pid <= 0 || sonde_proc_stat_read(&member.stat, member.pid, 0))
			continue;
		if (SONDE_ARRAY_RESERVE(members, cap, *count + 1))
			break;
		members[(*count)++] = member;
	}
	if (directory)
		closedir(directory);
	return members;
}

static int compare(const void *left, const void *right)
{
	pid_t a = ((const struct member *)left)->pid, b = ((const struct member *)right)->pid;
	return (a > b) - (a < b);
}

static int has(const struct member *members, size_t count, pid_t pid)
{
	const struct member wanted = {.pid = pid};
	const struct member *found = count ? bsearch(&wanted, members, count, sizeof *members, compare) : NULL;
	return found && found->is_in;
}

/* Processes are sorted by pid, so children mostly follow their parents, and one or two rounds find the whole tree. */
static void read_tree(struct sonde_cpu_account *account)
{
	size_t count;
	struct member *members = list(&count);
	if (count)
		qsort(members, count, sizeof *members, compare);
	for (int is_growing = 1; is_growing;) {
		is_growing = 0;
		for (size_t i = 0; i < count; i++) {
			int is_root = members[i].pid == account->pid;
			if (members[i].is_in || !(is_root || has(members, count, members[i].stat.parent)))
				continue;
			members[i].is_in = is_growing = add_ticks(account, &members[i].stat);
		}
	}
	free(members);
}

static void read_children(struct sonde_cpu_account *account)
{
	struct rusage use;
	if (getrusage(RUSAGE_CHILDREN, &use))
		return;
	account->user_ns = time_ns(&use.ru_utime);
	account->system_ns = time_ns(&use.ru_stime);
}

void sonde_cpu_account_begin(struct sonde_cpu_account *account, pid_t pid, int attached)
{
	*account = (struct sonde_cpu_account){.pid = pid, .attached = attached};
	if (attached)
		read_tree(account);
	else
		read_children(account);
}

struct sonde_cpu_account sonde_cpu_account_since(const struct sonde_cpu_account *account)
{
	struct sonde_cpu_account since = {.pid = account->pid, .attached = account->attached};
	if (account->attached)
		read_tree(&since);
	else
		read_children(&since);
	since.user_ns -= since.user_ns < account->user_ns ? since.user_ns : account->user_ns;
	since.system_ns -= since.system_ns < account->system_ns ? since.system_ns : account->system_ns;
	if (!since.user_ns && !since.system_ns && !since.attached) /* not waited for yet */
		read_ticks(&since);
	return since;
}

uint64_t sonde_cpu_account_missing(const struct sonde_cpu_account *since, uint64_t seen_ns)
{
	uint64_t all_ns = since->user_ns + since->system_ns, least_ns = NOTABLE_NS;
	if (since->coarse)
		least_ns = (TICKS + (uint64_t)since->coarse - 1) * sonde_proc_tick_ns();
	if (least_ns < all_ns / NOTABLE_PART)
		least_ns = all_ns / NOTABLE_PART;
	return all_ns > seen_ns && all_ns - seen_ns > least_ns ? all_ns - seen_ns : 0;
}

void sonde_cpu_account_say(const struct sonde_cpu_account *since, uint64_t missing_ns, struct sonde_detail *out)
{
	sonde_detail_add(out, "%.2f of %.2f s of CPU time were not sampled", (double)missing_ns / 1e9,
			 (double)(since->user_ns + since->system_ns) / 1e9);
}
