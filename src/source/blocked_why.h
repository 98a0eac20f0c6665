/* blocked_why.h: why a process may not be looked at from outside, and the least change that helps. */
#ifndef SONDE_SOURCE_BLOCKED_WHY_H
#define SONDE_SOURCE_BLOCKED_WHY_H

#include <stddef.h>
#include <sys/types.h>

/* What stands in /proc of a process, and of us. */
struct sonde_blocked_facts {
	uid_t own, real, effective, saved; /* users: ours, and the process's */
	uid_t owner;                       /* of /proc/PID: root's where the process is not dumpable */
	int hidden;                        /* /proc does not show it: nothing of the above is known but `own` */
	int yama;                          /* kernel.yama.ptrace_scope; 0 also without Yama */
};

/* "it belongs to another user (uid 0): as that user or as root". Static or in `out`. */
const char *sonde_blocked_why(const struct sonde_blocked_facts *facts, char *out, size_t out_b);

/* Of a process that there is. */
void sonde_blocked_facts_read(struct sonde_blocked_facts *out, pid_t pid);

#endif
