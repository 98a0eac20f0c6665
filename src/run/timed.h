/* timed.h: runs a command once and returns the kernel's figures for it. */
#ifndef SONDE_RUN_TIMED_H
#define SONDE_RUN_TIMED_H

#include <stdint.h>

struct sonde_timed {
	int status;                  /* as from wait(2) */
	uint64_t wall_ns;            /* from just before its exec until it was reaped */
	uint64_t user_ns, system_ns; /* of the command and the children that it waited for */
	/* of the largest of these processes; 0 = unknown, because it was below the RSS before exec */
	uint64_t peak_rss_b;
	uint64_t faults; /* minor and major */
};

/* Runs with standard input from `in_fd` and standard output to `out_fd`. 0, or a negative errno with a message. Signals
 * that ask us to exit are counted in the meantime (run/signals.h). */
int sonde_timed_run(struct sonde_timed *out, char **argv, int in_fd, int out_fd);

#endif
