/* blocked_why.c: the kernel says no more than EPERM; what it goes by is in /proc (ptrace(2), PTRACE_MODE_ATTACH). */
#include "source/blocked_why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"

const char *sonde_blocked_why(const struct sonde_blocked_facts *facts, char *out, size_t out_b)
{
	const uid_t users[] = {facts->real, facts->effective, facts->saved};
	if (facts->hidden)
		return "is not shown by /proc (hidepid): record it as root";
	for (size_t i = 0; i < sizeof users / sizeof *users; i++)
		if (users[i] != facts->own) {
			snprintf(out, out_b, "runs as another user (uid %u): record it as that user, or as root",
				 (unsigned)users[i]);
			return out;
		}
	if (facts->owner != facts->own)
		return "does not let itself be read (file capabilities, or PR_SET_DUMPABLE 0): record it as root";
	if (facts->yama >= 3)
		return "may be read by nobody until the machine starts anew (kernel.yama.ptrace_scope is 3)";
	if (facts->yama == 2)
		return "may be read by root alone (kernel.yama.ptrace_scope is 2)";
	if (facts->yama == 1)
		return "was not started by sonde (kernel.yama.ptrace_scope is 1): sonde record --threads -- COMMAND, "
		       "or: sudo sysctl kernel.yama.ptrace_scope=0";
	return "may not be read here: a container or security module forbids it (CAP_SYS_PTRACE)";
}

void sonde_blocked_facts_read(struct sonde_blocked_facts *out, pid_t pid)
{
	char text[4096], path[32];
	unsigned real, effective, saved;
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	const char *line = sonde_file_read(text, sizeof text, "%s/status", path) ? strstr(text, "\nUid:") : NULL;
	if (!line || stat(path, &status) || sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) != 3) {
		*out = (struct sonde_blocked_facts){.own = geteuid(), .hidden = 1};
		return;
	}
	*out = (struct sonde_blocked_facts){
	    .own = geteuid(), .real = real, .effective = effective, .saved = saved, .owner = status.st_uid};
	if (sonde_file_read(text, sizeof text, "/proc/sys/kernel/yama/ptrace_scope"))
		out->yama = atoi(text);
}
