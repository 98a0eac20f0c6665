/* timed.h: runs a command once and says what the kernel counted of it. */
#ifndef SONDE_RUN_TIMED_H
#define SONDE_RUN_TIMED_H

#include <stdint.h>

struct sonde_timed {
	int status;                  /* as wait(2) */
	uint64_t wall_ns;            /* from before its exec until it was waited for */
	uint64_t user_ns, system_ns; /* of it and of those that it waited for */
	uint64_t peak_rss_b; /* of the largest of them; 0 = not known, lower than what was resident before its exec */
	uint64_t faults;     /* minor and major */
};

/* Reads the standard input from `in_fd` and writes the standard output to `out_fd`. 0, or a negative errno with a
 * sentence. Signals that ask to end are counted meanwhile (run/signals.h). */
int sonde_timed_run(struct sonde_timed *out, char **argv, int in_fd, int out_fd);

#endif
