/* account.h: CPU time as the kernel counts it, to compare with what samples stand for.
 *
 * Of a launched command it is the time of all children that were waited for: its tree, but for processes that it left
 * behind, or, while it runs, what /proc/PID/stat says of it. Of an attached process it is that of the tree below it, in
 * ticks, while it lives.
 */
#ifndef SONDE_SOURCE_CPU_ACCOUNT_H
#define SONDE_SOURCE_CPU_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sonde_cpu_account {
	pid_t pid;
	int attached;                /* else it is our child */
	int coarse;                  /* counted in ticks, of so many processes */
	uint64_t user_ns, system_ns; /* CPU time */
};

/* From now on. */
void sonde_cpu_account_begin(struct sonde_cpu_account *account, pid_t pid, int attached);

/* What went on since; both 0 where it cannot be known. */
struct sonde_cpu_account sonde_cpu_account_since(const struct sonde_cpu_account *account);

/* ns that `seen_ns` lacks of the user and system time of `since`, where that is more than 2 % of them and more than
 * they are off by; else 0. */
uint64_t sonde_cpu_account_missing(const struct sonde_cpu_account *since, uint64_t seen_ns);

/* Writes "0.05 of 0.52 s of CPU time were not sampled", cut at out_b. */
void sonde_cpu_account_say(const struct sonde_cpu_account *since, uint64_t missing_ns, char *out, size_t out_b);

#endif
