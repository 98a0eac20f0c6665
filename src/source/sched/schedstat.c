/* schedstat.c: parses the three numbers of schedstat, and two of the sixty lines of status. */
#include "source/sched/schedstat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"

int sonde_schedstat_open(pid_t pid, pid_t tid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int sonde_schedstat_read(struct sonde_schedstat *out, int fd, pid_t pid, pid_t tid)
{
	char text[96];
	unsigned long long ran, waited, slices;
	int own_fd = fd >= 0 ? -1 : sonde_schedstat_open(pid, tid);
	if (fd < 0 && own_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ssize_t got = pread(fd >= 0 ? fd : own_fd, text, sizeof text - 1, 0);
	int rc = got < 0 ? errno : 0;
	if (own_fd >= 0)
		close(own_fd);
	if (rc)
		return -rc;
	text[got] = '\0';
	if (sscanf(text, "%llu %llu %llu", &ran, &waited, &slices) != 3)
		return -EBADMSG;
	*out = (struct sonde_schedstat){ran, waited, slices};
	return 0;
}

int sonde_schedstat_switches(uint64_t *out_voluntary, uint64_t *out_involuntary, pid_t pid, pid_t tid)
{
	static const char name[] = "\nvoluntary_ctxt_switches:";
	unsigned long long voluntary, involuntary;
	/* the list of groups precedes it: 700 KB at most */
	char *text = sonde_file_read_whole(NULL, "/proc/%d/task/%d/status", (int)pid, (int)tid);
	const char *line = text ? strstr(text, name) : NULL;
	int fields = line ? sscanf(line, "\nvoluntary_ctxt_switches: %llu nonvoluntary_ctxt_switches: %llu", &voluntary,
				   &involuntary)
			  : 0;
	free(text);
	if (fields != 2)
		return -ENOENT;
	*out_voluntary = voluntary;
	*out_involuntary = involuntary;
	return 0;
}

/* Tests our own number of slices: if the kernel keeps no counts, all values are zero although we have run. The run time
 * is no test, since it is updated a tick late. */
int sonde_schedstat_probe(char *why, size_t why_b)
{
	struct sonde_schedstat own;
	pid_t pid = getpid();
	int rc = sonde_schedstat_read(&own, -1, pid, pid);
	if (!rc && own.slices)
		return 0;
	if (!rc)
		snprintf(why, why_b, "this kernel does not count scheduler times (CONFIG_SCHEDSTATS)");
	else if (access("/proc/self/stat", R_OK))
		snprintf(why, why_b, "/proc is not mounted: scheduler times are unknown");
	else
		snprintf(why, why_b,
			 "this kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO): scheduler times are unknown");
	return -ENOTSUP;
}
