/* proc_stat.c: fields by position, as listed in proc(5). The name is in parentheses and may contain parentheses. */
#include "source/resource/proc_stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"

uint64_t sonde_proc_tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);
	return 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
}

int sonde_proc_stat_read(struct sonde_proc_stat *out, pid_t pid, pid_t tid)
{
	char text[1024];
	unsigned long long user, system, child_user, child_system, start;
	int parent;
	size_t text_b = tid ? sonde_file_read(text, sizeof text, "/proc/%d/task/%d/stat", (int)pid, (int)tid)
			    : sonde_file_read(text, sizeof text, "/proc/%d/stat", (int)pid);
	char *begin = text_b ? strchr(text, '(') : NULL, *end = begin ? strrchr(begin, ')') : NULL;
	if (!end || sscanf(end, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %*d %*d %llu",
			   &out->state, &parent, &user, &system, &child_user, &child_system, &start) != 7)
		return -1;
	*end = '\0';
	snprintf(out->name, sizeof out->name, "%s", begin + 1);
	uint64_t tick_ns = sonde_proc_tick_ns();
	out->parent = (pid_t)parent;
	out->user_ns = user * tick_ns;
	out->system_ns = system * tick_ns;
	out->child_user_ns = child_user * tick_ns;
	out->child_system_ns = child_system * tick_ns;
	out->start_ticks = start;
	return 0;
}

uint64_t sonde_proc_threads(pid_t pid)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return !stat(path, &status) && status.st_nlink > 2 ? status.st_nlink - 2 : 0; /* one directory per thread */
}

uint64_t sonde_proc_stolen_ns(void)
{
	char text[512];
	unsigned long long stolen = 0;
	sonde_file_read(text, sizeof text, "/proc/stat");
	int is_read = sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &stolen) == 1;
	return is_read ? stolen * sonde_proc_tick_ns() : UINT64_MAX;
}

size_t sonde_proc_cpu_numbers(void)
{
	char text[1024]; /* "0-3,8-11" */
	size_t text_b = sonde_file_read(text, sizeof text, "/sys/devices/system/cpu/present");
	long counted = sysconf(_SC_NPROCESSORS_CONF);
	size_t numbers = counted > 0 ? (size_t)counted : 1, last = text_b ? strspn(text, "0123456789-,") : 0;
	while (last && text[last - 1] >= '0' && text[last - 1] <= '9')
		last--;
	size_t highest = text_b ? strtoul(text + last, NULL, 10) : 0;
	return highest + 1 > numbers ? highest + 1 : numbers;
}
