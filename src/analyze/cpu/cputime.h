/* cputime.h: the CPU time of the whole run.
 *
 * The kernel's figure for the command takes in its children only as far as they were waited for. Where the clocks of
 * the threads seen add up to more, that sum is used: a lower bound, since what still runs has no clock yet. The kernel
 * leaves out what a hypervisor took while a thread was on a CPU (steal); clocks of threads and samples have it.
 */
#ifndef SONDE_ANALYZE_CPU_CPUTIME_H
#define SONDE_ANALYZE_CPU_CPUTIME_H

#include <stdint.h>

#include "session/session.h"

struct sonde_cpu_time {
	uint64_t ns;
	uint64_t user_ns, system_ns; /* of the command and what it waited for: parts of `ns` unless at_least */
	int known;
	int at_least;
	uint64_t stolen_ns; /* from all CPUs of the machine */
	int stolen_known;
};

/* `sampled_ns`: CPU time of all samples of the run, 0 when only some were read. */
struct sonde_cpu_time sonde_cpu_time_of(const struct sonde_session *session, uint64_t sampled_ns);

#endif
