/* cpu_account.c: CPU time as the kernel counts it: getrusage() and /proc/PID/stat. */
#include "source/cpu_account.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOTABLE_PART 50u    /* of the CPU time: less than one part is not worth a word */
#define NOTABLE_NS 5000000u /* nor is this */
#define TICKS 4u            /* by which a figure from /proc may be off */

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static uint64_t tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);
	return 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
}

int sonde_cpu_account_read(pid_t pid, struct sonde_cpu_times *out)
{
	char path[64], text[1024];
	unsigned long long user, system, child_user, child_system;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t got_b = read(fd, text, sizeof text - 1);
	close(fd);
	text[got_b > 0 ? got_b : 0] = '\0';
	const char *fields = strrchr(text, ')'); /* behind the name, which may hold anything */
	if (!fields || sscanf(fields, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &user,
			      &system, &child_user, &child_system) != 4)
		return -1;
	uint64_t tick = tick_ns();
	*out = (struct sonde_cpu_times){user * tick, system * tick, child_user * tick, child_system * tick};
	return 0;
}

static void read_ticks(struct sonde_cpu_account *account)
{
	struct sonde_cpu_times times;
	if (sonde_cpu_account_read(account->pid, &times) < 0)
		return;
	account->user_ns = times.user_ns + (account->attached ? 0 : times.child_user_ns);
	account->system_ns = times.system_ns + (account->attached ? 0 : times.child_system_ns);
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
		least_ns = TICKS * tick_ns();
	if (least_ns < all_ns / NOTABLE_PART)
		least_ns = all_ns / NOTABLE_PART;
	return all_ns > seen_ns && all_ns - seen_ns > least_ns ? all_ns - seen_ns : 0;
}

void sonde_cpu_account_say(const struct sonde_cpu_account *since, uint64_t missing_ns, char *out, size_t out_b)
{
	snprintf(out, out_b, "%.2f of %.2f s of CPU time were not sampled", (double)missing_ns / 1e9,
		 (double)(since->user_ns + since->system_ns) / 1e9);
}
