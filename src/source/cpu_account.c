/* cpu_account.c: CPU time as the kernel counts it: getrusage() and /proc/PID/stat. */
#include "source/cpu_account.h"

#include <stdio.h>
#include <sys/resource.h>

#include "source/proc_stat.h"

#define NOTABLE_PART 50u    /* of the CPU time: less than one part is not worth a word */
#define NOTABLE_NS 5000000u /* nor is this */
#define TICKS 4u            /* by which a figure from /proc may be off */

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static void read_ticks(struct sonde_cpu_account *account)
{
	struct sonde_proc_stat stat;
	if (sonde_proc_stat_read(&stat, account->pid, 0) < 0)
		return;
	account->user_ns = stat.user_ns + (account->attached ? 0 : stat.child_user_ns);
	account->system_ns = stat.system_ns + (account->attached ? 0 : stat.child_system_ns);
	account->coarse = 1;
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
		read_ticks(account);
	else
		read_children(account);
}

struct sonde_cpu_account sonde_cpu_account_since(const struct sonde_cpu_account *account)
{
	struct sonde_cpu_account since = {.pid = account->pid, .attached = account->attached};
	if (account->attached)
		read_ticks(&since);
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
		least_ns = TICKS * sonde_proc_tick_ns();
	if (least_ns < all_ns / NOTABLE_PART)
		least_ns = all_ns / NOTABLE_PART;
	return all_ns > seen_ns && all_ns - seen_ns > least_ns ? all_ns - seen_ns : 0;
}

void sonde_cpu_account_say(const struct sonde_cpu_account *since, uint64_t missing_ns, char *out, size_t out_b)
{
	snprintf(out, out_b, "%.2f of %.2f s of CPU time were not sampled", (double)missing_ns / 1e9,
		 (double)(since->user_ns + since->system_ns) / 1e9);
}
